// A program in the place of CANN's ld.lld: takes the flags that CANN's documents have, and refuses
// what the real one of another system would be asked without them.
#include <iostream>

#include "tests/backends_ascend/simulator/stand_in.hpp"

namespace {

int refuse(const std::string& why) {
  std::cerr << "ld.lld: error: " << why << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* log = std::getenv("SIM_TOOL_LOG"))
    std::ofstream(log, std::ios::app) << "ld.lld\n";
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::string input, output;
  bool is_emulation = false, is_text_at_zero = false, is_static = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_next = i + 1 < words.size();
    if (words[i] == "-m" && has_next) {
      if (words[++i] != "aicorelinux") return refuse("unknown emulation: " + words[i]);
      is_emulation = true;
    } else if (words[i] == "-Ttext" && has_next) {
      is_text_at_zero = words[++i] == "0";
    } else if (words[i] == "-o" && has_next) {
      output = words[++i];
    } else if (words[i] == "-static") {
      is_static = true;
    } else if (words[i].front() != '-' && input.empty()) {
      input = words[i];
    } else if (words[i] != "--no-mmap-output-file") {
      return refuse("unknown argument '" + words[i] + "'");
    }
  }
  if (!is_emulation) return refuse("no emulation: the target emulation is unknown");
  if (!is_text_at_zero || !is_static) return refuse("a device binary is static, its text at 0");
  const sim::ElfFile object = sim::read_elf(sim::read_file(input));
  if (object.machine != sim::kMachine || object.type != ET_REL)
    return refuse(input + " is incompatible with aicorelinux");
  std::ofstream(output, std::ios::binary) << sim::link(object);
  return 0;
}
