// Reads the braces of str::format and hands each placeholder to put_arg().
//
//   vformat("{:>4}|{}", args, 2);
//
// Leaves turning an argument into text to format_arg.hpp, which includes this file at its end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <deep_jit/utils/detail/format_arg.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace str::detail {

class FormatParser {
 public:
  FormatParser(std::string_view fmt, const FormatArg* args, std::size_t num_args)
      : rest_(fmt), args_(args), num_args_(num_args) {}

  std::string run() {
    std::string out;
    out.reserve(rest_.size() + 16 * num_args_);
    while (!rest_.empty()) {
      const auto brace = rest_.find_first_of("{}");
      out.append(rest_.substr(0, brace));
      if (brace == std::string_view::npos) break;
      rest_.remove_prefix(brace);
      if (rest_.size() > 1 && rest_[1] == rest_[0]) {
        out.push_back(rest_[0]);
        rest_.remove_prefix(2);
      } else if (rest_[0] == '}' || !placeholder(out)) {
        out.push_back(rest_[0]);
        rest_.remove_prefix(1);
      }
    }
    return out;
  }

 private:
  // Consumes one placeholder, or nothing at all when it is malformed.
  bool placeholder(std::string& out) {
    const std::string_view before = rest_;
    const std::size_t next_before = next_;
    FormatSpec spec;
    const FormatArg* arg = nullptr;
    rest_.remove_prefix(1);
    const bool is_good = pick(arg) && (!take(':') || parse(spec)) && take('}');
    if (is_good) {
      put_arg(out, *arg, spec);
    } else {
      rest_ = before;
      next_ = next_before;
    }
    return is_good;
  }

  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  bool digits(int& value) {
    if (rest_.empty() || !is_digit(rest_[0])) return false;
    value = 0;
    while (!rest_.empty() && is_digit(rest_[0])) {
      value = value * 10 + (rest_[0] - '0');
      if (value > kMaxWidth) return false;
      rest_.remove_prefix(1);
    }
    return true;
  }

  bool pick(const FormatArg*& arg) {
    int index = 0;
    const std::size_t position = digits(index) ? static_cast<std::size_t>(index) : next_++;
    if (position >= num_args_) return false;
    arg = &args_[position];
    return true;
  }

  // A number, or {} that takes one from the arguments.
  bool count(int& value) {
    if (!take('{')) return digits(value);
    const FormatArg* arg = nullptr;
    if (!pick(arg) || !take('}')) return false;
    const bool is_signed = arg->kind == FormatArg::Kind::kSigned;
    if (!is_signed && arg->kind != FormatArg::Kind::kUnsigned) return false;
    if (is_signed ? arg->i < 0 || arg->i > kMaxWidth : arg->u > kMaxWidth) return false;
    value = is_signed ? static_cast<int>(arg->i) : static_cast<int>(arg->u);
    return true;
  }

  bool parse(FormatSpec& spec) {
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^'; };
    if (rest_.size() > 1 && is_align(rest_[1]) && rest_[0] != '{' && rest_[0] != '}') {
      spec.fill = rest_[0];
      spec.align = rest_[1];
      rest_.remove_prefix(2);
    } else if (!rest_.empty() && is_align(rest_[0])) {
      spec.align = rest_[0];
      rest_.remove_prefix(1);
    }
    if (!rest_.empty() && (rest_[0] == '+' || rest_[0] == '-' || rest_[0] == ' ')) {
      spec.sign = rest_[0];
      rest_.remove_prefix(1);
    }
    spec.is_alternate = take('#');
    spec.is_zero_padded = take('0');
    if (!rest_.empty() && (is_digit(rest_[0]) || rest_[0] == '{') && !count(spec.width))
      return false;
    if (take('.') && !count(spec.precision)) return false;
    constexpr std::string_view kTypes = "dxXbBocsfFeEgGaAp";
    if (!rest_.empty() && kTypes.find(rest_[0]) != std::string_view::npos) {
      spec.type = rest_[0];
      rest_.remove_prefix(1);
    }
    return true;
  }

  static constexpr int kMaxWidth = 4096;
  std::string_view rest_;
  const FormatArg* args_;
  std::size_t num_args_;
  std::size_t next_ = 0;
};

inline std::string vformat(std::string_view fmt, const FormatArg* args, std::size_t num_args) {
  return FormatParser(fmt, args, num_args).run();
}

}  // namespace str::detail
}  // namespace DJ_HIDDEN deep_jit
