// Which C++ compiler the machine has, why that one, and what tells it from another.
//
//   host::Toolchain found = host::find_compiler(env);   // throws Toolchain where there is none
//   found.command;            // {"/usr/bin/g++"}, or {"/usr/bin/ccache", "/usr/bin/g++"}
//   found.verdict();          // one line a place: what was looked for and what was there
//   host::toolchain_identity(found);   // digest of the programs' contents
//
// Order: <PREFIX>_JIT_HOST_COMPILER, CXX, then g++, c++, clang++ on PATH. Nothing is spawned here.
// Leaves flags and running to compiler.hpp.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/filesystem.hpp>
#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace host {

struct Toolchain {
  std::vector<std::string> command;    // argv up to the flags; programs as absolute paths
  std::vector<std::string> looked_at;  // "CXX: not set", "g++ on PATH: /usr/bin/g++"

  bool is_found() const { return !command.empty(); }
  std::string verdict() const { return str::join(looked_at, "\n"); }
};

namespace detail {

inline bool is_program(const std::filesystem::path& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

// Every program of this name on PATH, in its order.
inline std::vector<std::string> programs_on_path(std::string_view name) {
  std::vector<std::string> found;
  const char* value = std::getenv("PATH");
  const std::string_view list = value == nullptr ? "/usr/local/bin:/usr/bin:/bin" : value;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    const std::filesystem::path dir(list.substr(at, end - at));
    if (dir.is_absolute() && is_program(dir / name)) found.push_back((dir / name).string());
    at = end + 1;
  }
  return found;
}

inline std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    std::error_code ignored;
    return is_program(name) ? std::filesystem::absolute(name, ignored).string() : std::string();
  }
  const auto found = programs_on_path(name);
  return found.empty() ? std::string() : found.front();
}

inline std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// A path as it stands (spaces and all), else words as make and cmake read CXX: "ccache g++ -m64".
inline std::vector<std::string> resolve_command(const std::string& value) {
  if (const std::string whole = find_program(value); !whole.empty()) return {whole};
  auto words = split_words(value);
  if (words.empty()) return {};
  words.front() = find_program(words.front());
  if (words.front().empty()) return {};
  for (std::size_t i = 1; i < words.size() && words[i].front() != '-'; ++i) {
    if (const std::string program = find_program(words[i]); !program.empty()) words[i] = program;
  }
  return words;
}

// ccache and its kin stand in for a compiler under its name: the one meant comes later on PATH.
inline std::string behind_masquerade(const std::string& program) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(program, error);
  const std::string name = std::filesystem::path(program).filename().string();
  const std::string real_name = real.filename().string();
  if (error || real_name == name) return {};
  if (real_name != "ccache" && real_name != "sccache" && real_name != "distcc" &&
      real_name != "icecc")
    return {};
  for (const std::string& other : programs_on_path(name)) {
    if (std::filesystem::canonical(other, error) != real && !error) return other;
  }
  return {};
}

// Digest of a file's contents, remembered while its path, size and time stay the same.
inline std::string program_digest(const std::string& program) {
  struct stat status{};
  if (stat(program.c_str(), &status) != 0) return "unreadable";
  using Key = std::tuple<std::string, ino_t, off_t, time_t, long>;
  static auto* mutex = new std::mutex;
  static auto* known = new std::map<Key, std::string>;
  const Key key{program, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                status.st_mtim.tv_nsec};
  {
    const std::lock_guard<std::mutex> guard(*mutex);
    if (const auto found = known->find(key); found != known->end()) return found->second;
  }
  std::error_code error;
  const auto content = filesystem::read_file(std::filesystem::canonical(program, error));
  // A program that may be run but not read is known by what can be seen of it.
  std::string digest =
      content ? sha256_hex(*content) : str::format("{}/{}", status.st_size, status.st_mtim.tv_sec);
  const std::lock_guard<std::mutex> guard(*mutex);
  return known->emplace(key, std::move(digest)).first->second;
}

}  // namespace detail

// Never throws: an empty command and the verdict say that there is none.
inline Toolchain search_compiler(const Env& env) {
  Toolchain found;
  const auto take = [&](const std::string& place, const std::string& value) {
    found.command = detail::resolve_command(value);
    found.looked_at.push_back(found.is_found()
                                  ? str::format("{}: {}", place, str::join(found.command, " "))
                                  : str::format("{}: no program \"{}\"", place, value));
    return found.is_found();
  };
  // A compiler that was asked for by name is used or missed, never replaced.
  if (const auto own = env.get<std::string>("JIT_HOST_COMPILER"); own && !own->empty()) {
    take(env.variable("JIT_HOST_COMPILER"), *own);
    return found;
  }
  found.looked_at.push_back(env.variable("JIT_HOST_COMPILER") + ": not set");
  const char* cxx = std::getenv("CXX");
  if (cxx == nullptr || *cxx == '\0') {
    found.looked_at.push_back("CXX: not set");
  } else if (take("CXX", cxx)) {
    return found;
  }
  for (const char* name : {"g++", "c++", "clang++"}) {
    if (take(str::format("{} on PATH", name), name)) return found;
  }
  return found;
}

inline Toolchain find_compiler(const Env& env) {
  Toolchain found = search_compiler(env);
  if (found.is_found()) return found;
  DJ_FAIL(
      kToolchain,
      "host: compile: compiler: given a machine without one; looked at\n    {}\n"
      "  Rule HOST_COMPILER: a kernel that is in no cache needs a C++20 compiler.\n"
      "  Fix: install g++ 11 or newer, name one in {}, or bring a cache that was filled elsewhere.",
      str::join(found.looked_at, "\n    "), env.variable("JIT_HOST_COMPILER"));
}

// Contents, not places: the same package in another folder is the same compiler. Why no --version:
// a warm start would have to spawn it.
inline std::string toolchain_identity(const Toolchain& toolchain) {
  Sha256 hash;
  for (std::size_t i = 0; i < toolchain.command.size(); ++i) {
    const std::string& word = toolchain.command[i];
    const bool is_path = !word.empty() && word.front() == '/';
    hash.update_field(is_path ? detail::program_digest(word) : word);
    if (!is_path) continue;
    if (const std::string behind = detail::behind_masquerade(word); !behind.empty())
      hash.update_field(detail::program_digest(behind));
  }
  return hash.hex_digest();
}

}  // namespace host
}  // namespace DJ_HIDDEN deep_jit
