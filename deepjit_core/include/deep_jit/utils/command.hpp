// Runs a program from an argument vector: no shell, so no quoting and no injection.
//
//   CommandResult result = run_command({"g++", "-c", "a b.cpp"}, {.cwd = dir, .timeout = 5min});
//   if (!result.ok()) DJ_FAIL(kToolchain, "{}: {}", result.describe(), result.output);
//
// Standard output and error arrive merged; standard input is empty. Leaves the choice of program
// and of exceptions to the caller.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <deep_jit/utils/detail/spawn.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {

struct CommandOptions {
  std::filesystem::path cwd = {};                                   // empty: that of this process
  std::vector<std::pair<std::string, std::string>> extra_env = {};  // replaces or adds
  std::chrono::milliseconds timeout{0};                             // 0: none
};

struct CommandResult {
  int exit_code = -1;  // -1: it did not exit by itself
  int signal = 0;      // that ended it
  std::string output;
  int start_error = 0;  // errno when it could not even start
  bool has_timed_out = false;

  bool ok() const { return exit_code == 0 && start_error == 0 && !has_timed_out; }

  std::string describe() const {
    if (start_error != 0)
      return str::format("could not be started: {} (errno {})",
                         std::generic_category().message(start_error), start_error);
    if (has_timed_out) return "timed out and was killed";
    if (signal != 0) return str::format("killed by signal {} ({})", signal, signal_name(signal));
    if (exit_code < 0) return "ended, but its status was taken by someone else (SIGCHLD ignored?)";
    return str::format("exit {}", exit_code);
  }

  static std::string_view signal_name(int number) {
    switch (number) {
      case SIGABRT:
        return "SIGABRT";
      case SIGBUS:
        return "SIGBUS";
      case SIGFPE:
        return "SIGFPE";
      case SIGHUP:
        return "SIGHUP";
      case SIGILL:
        return "SIGILL";
      case SIGINT:
        return "SIGINT";
      case SIGKILL:
        return "SIGKILL, often the kernel's answer to lack of memory";
      case SIGPIPE:
        return "SIGPIPE";
      case SIGSEGV:
        return "SIGSEGV";
      case SIGTERM:
        return "SIGTERM";
      case SIGXCPU:
        return "SIGXCPU";
      case SIGXFSZ:
        return "SIGXFSZ";
      default:
        return "see signal(7)";
    }
  }
};

namespace detail {

// Collects output until the pipe closes, the time is over, or the program has ended and left the
// pipe to a descendant that lives on.
class CommandWatch {
 public:
  CommandWatch(pid_t pid, int pipe, std::chrono::milliseconds timeout)
      : pid_(pid), pipe_(pipe), timeout_(timeout) {}

  void run(CommandResult& result) {
    while (true) {
      const int wait_ms = next_wait();
      pollfd watched{pipe_, POLLIN, 0};
      const int ready = poll(&watched, 1, wait_ms);
      if (ready < 0 && errno != EINTR) break;
      if (ready > 0 && !read_some(result.output)) break;
      if (ready == 0 && reap(WNOHANG)) break;
      if (is_over()) {
        result.has_timed_out = true;
        kill(-pid_, SIGKILL);
        break;
      }
    }
    while (!reap(0)) {
    }
    if (WIFEXITED(status_)) result.exit_code = WEXITSTATUS(status_);
    if (WIFSIGNALED(status_)) result.signal = WTERMSIG(status_);
    if (is_lost_) result.exit_code = -1, result.signal = 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_over() const { return timeout_.count() > 0 && Clock::now() - start_ >= timeout_; }

  int next_wait() const {
    constexpr long kSliceMs = 500;
    if (timeout_.count() <= 0) return static_cast<int>(kSliceMs);
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(start_ + timeout_ - Clock::now());
    return static_cast<int>(left.count() < 0          ? 0
                            : left.count() < kSliceMs ? left.count() + 1
                                                      : kSliceMs);
  }

  bool read_some(std::string& output) const {
    char buffer[16384];
    const ssize_t got = read(pipe_, buffer, sizeof buffer);
    if (got > 0) output.append(buffer, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }

  bool reap(int flags) {
    if (is_reaped_) return true;
    const pid_t got = waitpid(pid_, &status_, flags);
    is_lost_ = got < 0 && errno != EINTR;
    is_reaped_ = got == pid_ || is_lost_;
    return is_reaped_;
  }

  pid_t pid_;
  int pipe_;
  std::chrono::milliseconds timeout_;
  Clock::time_point start_ = Clock::now();
  int status_ = 0;
  bool is_reaped_ = false;
  bool is_lost_ = false;
};

}  // namespace detail

inline CommandResult run_command(const std::vector<std::string>& argv,
                                 const CommandOptions& options = {}) {
  DJ_HOST_ASSERT(!argv.empty() && !argv[0].empty(), "run_command: no program given");
  CommandResult result;
  detail::Spawned child = detail::spawn(argv, options.cwd.string(), options.extra_env);
  result.start_error = child.error;
  if (child.error != 0) return result;
  detail::CommandWatch(child.pid, child.output, options.timeout).run(result);
  close(child.output);
  return result;
}

// For people: each argument in quotes where a shell would need them. Never handed to a shell.
inline std::string printable_command(const std::vector<std::string>& argv) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string text;
  for (const std::string& argument : argv) {
    if (!text.empty()) text.push_back(' ');
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      text += argument;
      continue;
    }
    text.push_back('\'');
    for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text.push_back('\'');
  }
  return text;
}

}  // namespace DJ_HIDDEN deep_jit
