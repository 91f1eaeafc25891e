// libacl_rtc.so in the simulated toolkit: the interface of CANN 9's in-process compiler, as its
// documentation has it, over the stand-in compiler.
#include <dlfcn.h>

#include "tests/backends_ascend/simulator/stand_in.hpp"

namespace {

struct Program {
  std::string source, log, binary;
};

std::string own_root() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&own_root), &info);
  return std::filesystem::path(info.dli_fname).parent_path().parent_path().string();
}

}  // namespace

#define SIM_API extern "C" __attribute__((visibility("default"))) int

SIM_API aclrtcCreateProg(Program** program, const char* source, const char*, int,
                         const char* const*, const char* const*) {
  *program = new Program{source, {}, {}};
  return 0;
}

SIM_API aclrtcDestroyProg(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}

SIM_API aclrtcCompileProg(Program* program, int num_options, const char* const* options) {
  if (const char* log = std::getenv("SIM_TOOL_LOG"))
    std::ofstream(log, std::ios::app) << "aclrtc\n";
  const std::vector<std::string> words(options, options + num_options);
  std::string pattern = (std::filesystem::temp_directory_path() / "aclrtc_XXXXXX").string();
  const std::filesystem::path dir = mkdtemp(pattern.data());
  std::ofstream(dir / "kernel.asc") << program->source;
  sim::Job job;
  job.root = own_root();
  job.source = (dir / "kernel.asc").string();
  job.host_flags = {"-std=c++17"};
  for (std::size_t i = 0; i < words.size(); ++i)
    if (!sim::take_flag(words, i, job)) job.error = "unknown argument: '" + words[i] + "'";
  sim::check(job);
  program->log = job.error;
  const std::string object = job.error.empty() ? sim::compile(job, program->log) : "";
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  if (object.empty()) return 176000;
  program->binary = sim::link(sim::read_elf(object));
  return 0;
}

SIM_API aclrtcGetBinDataSize(Program* program, std::size_t* size) {
  *size = program->binary.size();
  return 0;
}
SIM_API aclrtcGetBinData(Program* program, char* out) {
  program->binary.copy(out, program->binary.size());
  return 0;
}
SIM_API aclrtcGetCompileLogSize(Program* program, std::size_t* size) {
  *size = program->log.size() + 1;
  return 0;
}
SIM_API aclrtcGetCompileLog(Program* program, char* out) {
  program->log.copy(out, program->log.size());
  out[program->log.size()] = '\0';
  return 0;
}
