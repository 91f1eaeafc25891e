// Finds what a C++ text includes, without a preprocessor.
//
//   for (const Include& include : scan_includes(text)) use(include.name, include.is_quoted);
//
// Conservative: directives in comments or inactive branches count too, since a header too many can
// only cause a rebuild. Leaves finding the files to parser.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace detail {

struct Include {
  std::string name;
  bool is_quoted = false;
};

inline void skip_blanks(std::string_view& text) {
  while (!text.empty()) {
    if (text[0] == ' ' || text[0] == '\t' || text[0] == '\r' || text[0] == '\f' ||
        text[0] == '\v') {
      text.remove_prefix(1);
    } else if (str::starts_with(text, "/*")) {
      const auto end = text.find("*/", 2);
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 2);
    } else {
      return;
    }
  }
}

inline bool take_word(std::string_view& text, std::string_view word) {
  if (!str::starts_with(text, word)) return false;
  text.remove_prefix(word.size());
  return true;
}

inline void take_name(std::string_view text, std::vector<Include>& found) {
  skip_blanks(text);
  if (text.empty() || (text[0] != '<' && text[0] != '"')) return;
  const bool is_quoted = text[0] == '"';
  text.remove_prefix(1);
  const auto end = text.find(is_quoted ? '"' : '>');
  if (end == std::string_view::npos || end == 0) return;
  found.push_back({std::string(text.substr(0, end)), is_quoted});
}

inline void scan_line(std::string_view line, std::vector<Include>& found) {
  std::string_view rest = line;
  skip_blanks(rest);
  // A comment that began on an earlier line may end before the directive.
  if (const auto end = rest.find("*/"); end != std::string_view::npos && rest[0] != '#') {
    std::string_view after = rest.substr(end + 2);
    skip_blanks(after);
    if (!after.empty() && after[0] == '#') rest = after;
  }
  if (!take_word(rest, "#") && !take_word(rest, "%:")) return;
  skip_blanks(rest);
  if (take_word(rest, "include_next") || take_word(rest, "include") || take_word(rest, "import") ||
      take_word(rest, "embed")) {
    take_name(rest, found);
    return;
  }
  // What a condition asks for by name changes the meaning as well.
  constexpr std::string_view kQuestion = "__has_include";
  for (auto at = rest.find(kQuestion); at != std::string_view::npos; at = rest.find(kQuestion)) {
    rest.remove_prefix(at + kQuestion.size());
    take_word(rest, "_next");
    skip_blanks(rest);
    if (take_word(rest, "(")) take_name(rest, found);
  }
}

inline std::vector<Include> scan_includes(std::string_view text) {
  std::vector<Include> found;
  std::string joined;  // of lines that end in a backslash
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty() && line.back() == '\\') {
      joined.append(line.substr(0, line.size() - 1));
      continue;
    }
    if (joined.empty()) {
      scan_line(line, found);
    } else {
      scan_line(joined.append(line), found);
      joined.clear();
    }
  }
  if (!joined.empty()) scan_line(joined, found);
  return found;
}

}  // namespace detail
}  // namespace DJ_HIDDEN deep_jit
