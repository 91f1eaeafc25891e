// The stand-in compiler behind `bisheng` and `aclrtc`: host code for the kernels of a source, in a
// device ELF. Takes the flags that CANN's documentation has and refuses all others, so that a
// command line which is wrong by the documents fails in tests.
//
//   sim::Job job;  sim::parse_flags(words, job);      // job.error says what was refused
//   std::string elf = sim::compile(job, log);         // empty: see the log
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/backends_ascend/simulator/payload.hpp"

namespace sim {

struct Job {
  std::string root;    // of the toolkit: its headers
  std::string source;  // a file
  std::string output;
  std::string arch;
  std::vector<std::string> host_flags;  // for the host's compiler
  bool is_asm = false, is_simt = false;
  std::string error;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// One flag at words[i]; moves i over its value.
inline bool take_flag(const std::vector<std::string>& words, std::size_t& i, Job& job) {
  const std::string& word = words[i];
  const bool has_next = i + 1 < words.size();
  if (starts_with(word, "--npu-arch=")) {
    job.arch = word.substr(11);
    return job.arch == "dav-2201" || job.arch == "dav-3510" || job.arch == "dav-2002";
  }
  if (word == "--enable-simt") return job.is_simt = true;
  if (word == "-mllvm" && has_next) return starts_with(words[++i], "-cce-aicore-stack-size=0x");
  const bool is_language = word == "-std=c++17" || word == "-std=c++20";
  const bool is_level = word.size() == 3 && starts_with(word, "-O") && word[2] <= '3';
  if (is_language || is_level || word == "-g" || starts_with(word, "-I") ||
      starts_with(word, "-D")) {
    job.host_flags.push_back(word);
    return true;
  }
  return false;
}

inline void check(Job& job) {
  if (!job.error.empty()) return;
  if (job.arch.empty()) job.error = "no --npu-arch";
  if (job.is_simt && job.arch != "dav-3510") job.error = "--enable-simt needs dav-3510";
}

struct FoundKernel {
  std::string name;
  std::uint32_t core = 0;  // of the note; 0: not marked
};

// Comments and strings become blanks, so that words in them do not count.
inline std::string without_comments(const std::string& text) {
  std::string out = text;
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to && i < out.size(); ++i)
      if (out[i] != '\n') out[i] = ' ';
    return to;
  };
  for (std::size_t i = 0; i < out.size();) {
    if (out.compare(i, 2, "//") == 0) {
      i = blank(i, std::min(out.find('\n', i), out.size()));
    } else if (out.compare(i, 2, "/*") == 0) {
      const std::size_t end = out.find("*/", i + 2);
      i = blank(i, end == std::string::npos ? out.size() : end + 2);
    } else if (out[i] == '"') {
      std::size_t end = i + 1;
      while (end < out.size() && out[end] != '"' && out[end] != '\n')
        end += out[end] == '\\' ? 2 : 1;
      i = blank(i, end + 1);
    } else {
      ++i;
    }
  }
  return out;
}

inline std::vector<FoundKernel> find_kernels(const std::string& source) {
  const std::string text = without_comments(source);
  constexpr std::string_view kWord =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  std::vector<FoundKernel> found;
  for (std::size_t at = 0; (at = text.find("__global__", at)) != std::string::npos;) {
    at += 10;
    FoundKernel kernel;
    while (true) {
      const std::size_t start = text.find_first_of(kWord, at);
      if (start == std::string::npos) break;
      const std::size_t end = text.find_first_not_of(kWord, start);
      const std::string word = text.substr(start, end - start);
      at = end == std::string::npos ? text.size() : end;
      if (word == "__vector__") kernel.core = 3;
      if (word == "__cube__") kernel.core = 2;
      if (word == "__mix__") {
        kernel.core = 4;
        at = text.find(')', at);
        continue;
      }
      const std::size_t next = text.find_first_not_of(" \n\t", at);
      if (next != std::string::npos && text[next] == '(') {
        kernel.name = word;
        break;
      }
    }
    if (!kernel.name.empty()) found.push_back(kernel);
  }
  return found;
}

inline int run(const std::vector<std::string>& argv, const std::string& log_file) {
  const pid_t child = fork();
  if (child == 0) {
    if (std::FILE* log = std::fopen(log_file.c_str(), "a")) {
      dup2(fileno(log), 1);
      dup2(fileno(log), 2);
    }
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

inline std::string note_of(std::uint32_t core) {
  std::string note;
  append(note, std::uint16_t{1});
  append(note, std::uint16_t{4});
  append(note, core);
  return note;
}

// e_flags as seen in real binaries of each generation, one core type and mix.
inline std::uint32_t flags_of(const std::string& arch, bool is_mix) {
  const std::uint32_t base = arch == "dav-3510" ? 0x990000 : 0x930000;
  return base + (is_mix ? 0x010000 : 0);
}

// The ELF that bisheng writes, a relocatable; `log` gets what the host's compiler says.
inline std::string compile(Job& job, std::string& log) {
  const std::string source = read_file(job.source);
  const std::vector<FoundKernel> kernels = find_kernels(source);
  for (const FoundKernel& kernel : kernels) {
    if (kernel.core == 0 && (job.arch != "dav-2201" || kernels.size() > 1))
      log += "error: kernel '" + kernel.name + "' is not marked __vector__, __cube__ or __mix__\n";
  }
  if (!log.empty()) return {};
  std::string pattern = (std::filesystem::temp_directory_path() / "sim_XXXXXX").string();
  const std::filesystem::path dir = mkdtemp(pattern.data());
  std::ofstream unit(dir / "unit.cpp");
  unit << "#include \"kernel_operator.h\"\n#line 1 \"kernel.asc\"\n" << source << "\n";
  for (const FoundKernel& kernel : kernels) unit << "SIM_ENTRIES(" << kernel.name << ")\n";
  unit.close();
  const char* cxx = std::getenv("CXX");
  std::vector<std::string> argv = {cxx == nullptr ? "g++" : cxx, "-fPIC", "-fvisibility=hidden"};
  argv.insert(argv.end(), job.host_flags.begin(), job.host_flags.end());
  // Of a real toolkit bisheng finds this one by itself.
  argv.push_back("-I" + job.root + "/include");
  argv.push_back("-D__NPU_ARCH__=" + job.arch.substr(4));
  argv.push_back(job.is_asm ? "-S" : "-shared");
  for (const std::string& word :
       {(dir / "unit.cpp").string(), std::string("-o"), (dir / "out").string()})
    argv.push_back(word);
  const int code = run(argv, (dir / "log").string());
  log = read_file(dir / "log");
  const std::string host = code == 0 ? read_file(dir / "out") : "";
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  if (code != 0 || job.is_asm) return host;

  std::vector<Section> sections = {{".text", SHT_PROGBITS, std::string(64, '\0')}};
  bool is_mix = false;
  for (const FoundKernel& kernel : kernels) {
    const std::uint32_t core = kernel.core == 0 ? 3 : kernel.core;
    is_mix = is_mix || core == 4;
    for (const char* half : {"_mix_aic", "_mix_aiv"}) {
      if (core == 4) sections.push_back({kMeta + kernel.name + half, SHT_NOTE, note_of(core)});
    }
    if (core != 4) sections.push_back({kMeta + kernel.name, SHT_NOTE, note_of(core)});
  }
  if (job.arch == "dav-3510") sections.push_back({".ascend.meta", SHT_PROGBITS, "not a kernel"});
  sections.push_back({kHostSection, SHT_PROGBITS, host});
  return write_elf(sections, ET_REL, flags_of(job.arch, is_mix));
}

// What the linker does to it.
inline std::string link(const ElfFile& object) {
  return write_elf({object.sections.begin(), object.sections.end() - 1}, ET_EXEC, object.flags);
}

}  // namespace sim
