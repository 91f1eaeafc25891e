// posix_spawn with a pipe for the output, a folder to start in and changed variables.
//
//   Spawned child = spawn({"ls"}, "/tmp", {{"LC_ALL", "C"}});
//   if (child.error == 0) { read(child.output, ...); waitpid(child.pid, ...); }
//
// The child leads its own process group, so that a timeout ends all it started. Leaves waiting to
// command.hpp.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/utils/macros.hpp>

extern "C" char** environ;

namespace DJ_HIDDEN deep_jit {
namespace detail {

struct Spawned {
  int error = 0;
  pid_t pid = -1;
  int output = -1;  // to be closed by the caller
};

using EnvPairs = std::vector<std::pair<std::string, std::string>>;

inline std::vector<std::string> merged_environment(const EnvPairs& extra) {
  std::vector<std::string> merged;
  for (char** item = environ; item != nullptr && *item != nullptr; ++item) {
    const std::string_view text = *item;
    bool is_replaced = false;
    for (const auto& [name, value] : extra)
      is_replaced = is_replaced || (text.size() > name.size() && text[name.size()] == '=' &&
                                    text.substr(0, name.size()) == name);
    if (!is_replaced) merged.emplace_back(text);
  }
  for (const auto& [name, value] : extra) merged.push_back(name + "=" + value);
  return merged;
}

inline std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Why: glibc has it from 2.29 on, and wheels are built to run on 2.28 as well.
inline int add_chdir(posix_spawn_file_actions_t* actions, const char* dir) {
  using Function = int (*)(posix_spawn_file_actions_t*, const char*);
  for (const char* name :
       {"posix_spawn_file_actions_addchdir", "posix_spawn_file_actions_addchdir_np"}) {
    if (const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name)))
      return function(actions, dir);
  }
  return ENOSYS;
}

inline Spawned spawn(const std::vector<std::string>& argv, const std::string& cwd,
                     const EnvPairs& extra_env) {
  std::vector<std::string> words = argv;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {errno, -1, -1};
  // Why: in a process that closed its standard streams the pipe may sit where the child puts its
  // own, and duplicating a descriptor onto itself keeps it close-on-exec.
  for (int& end : ends) {
    if (end > 2) continue;
    const int moved = fcntl(end, F_DUPFD_CLOEXEC, 3);
    const int error = errno;
    close(end);
    end = moved;
    if (moved < 0) {
      for (const int other : ends)
        if (other > 2) close(other);
      return {error, -1, -1};
    }
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  int error = cwd.empty() ? 0 : add_chdir(&actions, cwd.c_str());
  if (error == ENOSYS) {
    words.insert(words.begin(), {"env", "-C", cwd, "--"});
    error = 0;
  }
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGCHLD})
    sigaddset(&defaults, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const auto environment = merged_environment(extra_env);
  Spawned child{error, -1, ends[0]};
  if (error == 0) {
    child.error = posix_spawnp(&child.pid, words[0].c_str(), &actions, &attributes,
                               pointers_to(words).data(), pointers_to(environment).data());
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (child.error != 0) close(std::exchange(child.output, -1));
  return child;
}

}  // namespace detail
}  // namespace DJ_HIDDEN deep_jit
