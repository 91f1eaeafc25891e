// Text without locale: braces formatter, join, numbers.
//
//   str::format("{} of {:>8} ({:.2f} ms, {:#x})", done, total, ms, flags);
//   str::join(argv, " ");
//   str::number(0.5f);   // "0.5" under every locale, shortest text that reads back the same
//
// Takes std::format's common specs: [[fill]align][sign][#][0][width][.precision][type], {0}, {:{}}.
// A malformed or surplus placeholder stays as it stands: the message of an error must not become
// another error. Leaves paths to filesystem.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>

#include <deep_jit/utils/detail/format_arg.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace str {

template <class... Args>
std::string format(std::string_view fmt, const Args&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return detail::vformat(fmt, nullptr, 0);
  } else {
    const detail::FormatArg list[] = {detail::make_arg(args)...};
    return detail::vformat(fmt, list, sizeof...(Args));
  }
}

// Any range of things that format() takes.
template <class Range>
std::string join(const Range& range, std::string_view separator) {
  std::string text;
  bool is_first = true;
  for (const auto& item : range) {
    if (!is_first) text.append(separator);
    is_first = false;
    text += str::format("{}", item);
  }
  return text;
}

template <class T>
  requires std::is_arithmetic_v<T>
std::string number(T value) {
  return str::format("{}", value);
}

inline bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

inline std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// "a::b" by ':' gives a, "" and b: the caller decides about empty parts.
template <class Visit>
void split(std::string_view text, char separator, Visit&& visit) {
  while (true) {
    const auto end = text.find(separator);
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace str
}  // namespace DJ_HIDDEN deep_jit
