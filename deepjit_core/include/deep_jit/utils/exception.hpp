// One exception with a kind, and the macros that throw it.
//
//   DJ_HOST_ASSERT(n > 0, "n is {}", n);                        // Internal: a fault of ours
//   DJ_FAIL(kToolchain, "no compiler: looked for {}", names);   // any Kind
//   DJ_PANIC("unreachable: {}", state);                         // Internal
//   catch (const deep_jit::exception::Exception& error) { error.kind(); error.message(); }
//
// Leaves stack text to backtrace.hpp and the wording of rules to their owners.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace exception {

enum class Kind { kUnsupported, kInvalidArgument, kToolchain, kCache, kDevice, kInternal };

// The name that Python turns into a class.
inline std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kUnsupported:
      return "Unsupported";
    case Kind::kInvalidArgument:
      return "InvalidArgument";
    case Kind::kToolchain:
      return "Toolchain";
    case Kind::kCache:
      return "Cache";
    case Kind::kDevice:
      return "Device";
    case Kind::kInternal:
      return "Internal";
  }
  return "Internal";
}

class Exception : public std::exception {
 public:
  Exception(Kind kind, std::string_view file, int line, std::string_view condition,
            std::string message)
      : kind_(kind), file_(file), line_(line), condition_(condition), message_(std::move(message)) {
    what_ = str::format("[{}] {}", kind_name(kind_), message_);
    // Only our own faults name our own lines: a user can do nothing with them.
    if (kind_ == Kind::kInternal) {
      what_ += str::format(" ({}:{}", file_, line_);
      if (!condition_.empty()) what_ += str::format(": {}", condition_);
      what_ += ")";
    }
  }

  const char* what() const noexcept override { return what_.c_str(); }
  Kind kind() const noexcept { return kind_; }
  const std::string& file() const noexcept { return file_; }
  int line() const noexcept { return line_; }
  const std::string& condition() const noexcept { return condition_; }
  const std::string& message() const noexcept { return message_; }

 private:
  Kind kind_;
  std::string file_;
  int line_;
  std::string condition_;
  std::string message_;
  std::string what_;
};

namespace detail {

[[noreturn]] inline void raise(Kind kind, std::string_view file, int line,
                               std::string_view condition, std::string message) {
  throw Exception(kind, file, line, condition, std::move(message));
}

inline std::string message_of() { return "assertion failed"; }

template <class... Args>
std::string message_of(std::string_view fmt, const Args&... args) {
  return str::format(fmt, args...);
}

}  // namespace detail
}  // namespace exception
}  // namespace DJ_HIDDEN deep_jit

#define DJ_FAIL(kind, ...)                                                                        \
  ::deep_jit::exception::detail::raise(::deep_jit::exception::Kind::kind, __FILE__, __LINE__, {}, \
                                       ::deep_jit::exception::detail::message_of(__VA_ARGS__))

#define DJ_PANIC(...) DJ_FAIL(kInternal, __VA_ARGS__)

#define DJ_HOST_ASSERT(condition, ...)                                            \
  do {                                                                            \
    if (!(condition)) [[unlikely]]                                                \
      ::deep_jit::exception::detail::raise(                                       \
          ::deep_jit::exception::Kind::kInternal, __FILE__, __LINE__, #condition, \
          ::deep_jit::exception::detail::message_of(__VA_ARGS__));                \
  } while (0)
