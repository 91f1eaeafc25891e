// A program in bisheng's place: `bisheng <flags> -c kernel.asc -o kernel.reloc.o`, see
// stand_in.hpp. SIM_TOOL_LOG is a file that gets a line a run;
// SIM_BISHENG_FAILS=exit|signal|empty|text|hang makes this run go wrong in that way.
#include <signal.h>

#include <cstring>
#include <iostream>

#include "tests/backends_ascend/simulator/stand_in.hpp"

namespace {

void parse(const std::vector<std::string>& words, sim::Job& job) {
  bool is_device_only = false, is_object = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--cce-aicore-only") {
      is_device_only = true;
    } else if (word == "-c" || word == "-S") {
      is_object = true;
      job.is_asm = word == "-S";
    } else if (word == "-o" && i + 1 < words.size()) {
      job.output = words[++i];
    } else if (word.front() != '-' && job.source.empty()) {
      job.source = word;
    } else if (!sim::take_flag(words, i, job)) {
      job.error = "unknown argument: '" + word + "'";
    }
  }
  if (!is_device_only) job.error = "no --cce-aicore-only: a host half would be made";
  if (!is_object || job.output.empty()) job.error = "no -c or -S, or no -o";
  if (std::filesystem::path(job.source).extension() != ".asc")
    job.error = "'" + job.source + "' is no .asc file, and there is no -x asc";
  sim::check(job);
}

// True when the run is over.
bool go_wrong(const char* how, const std::string& output) {
  if (std::strcmp(how, "exit") == 0) std::cerr << "kernel.asc:1:1: error: as asked for\n", exit(1);
  if (std::strcmp(how, "signal") == 0) raise(SIGKILL);
  if (std::strcmp(how, "hang") == 0) sleep(3600);
  std::ofstream file(output);
  if (std::strcmp(how, "text") == 0) file << "text of another kind altogether";
  return std::strcmp(how, "text") == 0 || std::strcmp(how, "empty") == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* log = std::getenv("SIM_TOOL_LOG"))
    std::ofstream(log, std::ios::app) << "bisheng\n";
  sim::Job job;
  job.root = std::filesystem::path(argv[0]).parent_path().parent_path().string();
  parse({argv + 1, argv + argc}, job);
  if (!job.error.empty()) {
    std::cerr << "bisheng: error: " << job.error << "\n";
    return 1;
  }
  if (const char* how = std::getenv("SIM_BISHENG_FAILS"))
    if (go_wrong(how, job.output)) return 0;
  if (const char* time = std::getenv("SIM_BISHENG_MS")) usleep(1000 * std::atoi(time));
  std::string log;
  const std::string product = sim::compile(job, log);
  std::cerr << log;
  if (product.empty()) return 1;
  std::ofstream(job.output, std::ios::binary) << product;
  return 0;
}
