// The engine under str::format: one type-erased argument, one parser of specs.
//
//   const FormatArg args[] = {make_arg(1), make_arg("x")};
//   vformat("{} {}", args, 2);
//
// Numbers go through std::to_chars, which knows no locale. Leaves the public names to str.hpp.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>

#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace str::detail {

struct FormatArg {
  enum class Kind {
    kSigned,
    kUnsigned,
    kBool,
    kChar,
    kFloat,
    kDouble,
    kText,
    kOwnedText,
    kPointer
  };
  Kind kind = Kind::kText;
  std::int64_t i = 0;
  std::uint64_t u = 0;
  double d = 0;
  std::string_view text;
  std::string owned;
};

template <class T>
FormatArg make_arg(const T& value) {
  FormatArg arg;
  using Kind = FormatArg::Kind;
  if constexpr (std::is_same_v<T, bool>) {
    arg.kind = Kind::kBool;
    arg.u = value ? 1 : 0;
  } else if constexpr (std::is_same_v<T, char>) {
    arg.kind = Kind::kChar;
    arg.i = value;
  } else if constexpr (std::is_same_v<T, float>) {
    arg.kind = Kind::kFloat;
    arg.d = static_cast<double>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    arg.kind = Kind::kDouble;
    arg.d = static_cast<double>(value);
  } else if constexpr (std::is_enum_v<T>) {
    return make_arg(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    arg.kind = Kind::kSigned;
    arg.i = value;
  } else if constexpr (std::is_integral_v<T>) {
    arg.kind = Kind::kUnsigned;
    arg.u = value;
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    arg.kind = Kind::kOwnedText;
    arg.owned = value.string();
  } else if constexpr (std::is_same_v<std::decay_t<T>, char*> ||
                       std::is_same_v<std::decay_t<T>, const char*>) {
    // Not &value[0] == nullptr tests on arrays: those are never null and the compiler says so.
    const char* pointer = value;
    arg.text = pointer == nullptr ? std::string_view("(null)") : std::string_view(pointer);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    arg.text = std::string_view(value);
  } else if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>) {
    arg.kind = Kind::kPointer;
    arg.u = reinterpret_cast<std::uintptr_t>(static_cast<const void*>(value));
  } else {
    static_assert(std::is_convertible_v<const T&, std::string_view>,
                  "str::format takes numbers, characters, text, paths, enums and pointers");
  }
  return arg;
}

struct FormatSpec {
  char fill = ' ';
  char align = 0;  // < > ^, 0: by kind
  char sign = '-';
  bool is_alternate = false;
  bool is_zero_padded = false;
  int width = 0;
  int precision = -1;
  char type = 0;
};

inline void pad(std::string& out, std::string_view prefix, std::string_view body,
                const FormatSpec& spec, char default_align) {
  const std::size_t length = prefix.size() + body.size();
  const auto width = static_cast<std::size_t>(spec.width);
  const std::size_t gap = width > length ? width - length : 0;
  if (spec.is_zero_padded && spec.align == 0) {
    out.append(prefix).append(gap, '0').append(body);
    return;
  }
  const char align = spec.align != 0 ? spec.align : default_align;
  const std::size_t left = align == '>' ? gap : align == '^' ? gap / 2 : 0;
  out.append(left, spec.fill).append(prefix).append(body).append(gap - left, spec.fill);
}

inline void upper(std::string& text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
}

inline void put_text(std::string& out, std::string_view text, FormatSpec spec) {
  if (spec.precision >= 0) text = text.substr(0, static_cast<std::size_t>(spec.precision));
  spec.is_zero_padded = false;
  pad(out, {}, text, spec, '<');
}

inline void put_integer(std::string& out, bool is_negative, std::uint64_t magnitude,
                        const FormatSpec& spec) {
  char buffer[72];
  const char type = spec.type;
  const int base = type == 'x' || type == 'X'   ? 16
                   : type == 'b' || type == 'B' ? 2
                   : type == 'o'                ? 8
                                                : 10;
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, magnitude, base).ptr;
  std::string body(buffer, end);
  std::string prefix(is_negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign));
  if (spec.is_alternate && base != 10)
    prefix += base == 16  ? (type == 'x' ? "0x" : "0X")
              : base == 2 ? (type == 'b' ? "0b" : "0B")
                          : "0";
  if (type == 'X') upper(body);
  pad(out, prefix, body, spec, '>');
}

inline void put_float(std::string& out, const FormatArg& arg, FormatSpec spec) {
  // Room for 1e308 in fixed notation with the precision below.
  char buffer[512];
  const int precision = spec.precision > 100 ? 100 : spec.precision;
  const bool is_negative = std::signbit(arg.d);
  const double value = is_negative ? -arg.d : arg.d;
  const char type = static_cast<char>(spec.type | 0x20);  // lower case; 0 becomes ' '
  std::to_chars_result result{};
  if (!std::isfinite(value)) {
    std::memcpy(buffer, std::isnan(value) ? "nan" : "inf", 3);
    result.ptr = buffer + 3;
    spec.is_zero_padded = false;
  } else if (type == ' ' && precision < 0) {
    result = arg.kind == FormatArg::Kind::kFloat
                 ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value))
                 : std::to_chars(buffer, buffer + sizeof buffer, value);
  } else {
    const auto notation = type == 'f'   ? std::chars_format::fixed
                          : type == 'e' ? std::chars_format::scientific
                          : type == 'a' ? std::chars_format::hex
                                        : std::chars_format::general;
    result = type == 'a' && precision < 0
                 ? std::to_chars(buffer, buffer + sizeof buffer, value, notation)
                 : std::to_chars(buffer, buffer + sizeof buffer, value, notation,
                                 precision < 0 ? 6 : precision);
  }
  std::string body(buffer, result.ptr);
  if (spec.type >= 'A' && spec.type <= 'Z') upper(body);
  pad(out, is_negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign), body, spec, '>');
}

inline void put_arg(std::string& out, const FormatArg& arg, FormatSpec spec) {
  using Kind = FormatArg::Kind;
  const bool wants_char = spec.type == 'c';
  switch (arg.kind) {
    case Kind::kText:
      return put_text(out, arg.text, spec);
    case Kind::kOwnedText:
      return put_text(out, arg.owned, spec);
    case Kind::kFloat:
    case Kind::kDouble:
      return put_float(out, arg, spec);
    case Kind::kPointer:
      spec.type = 'x';
      spec.is_alternate = true;
      return put_integer(out, false, arg.u, spec);
    case Kind::kBool:
      if (spec.type == 0 || spec.type == 's')
        return put_text(out, arg.u != 0 ? "true" : "false", spec);
      return put_integer(out, false, arg.u, spec);
    case Kind::kChar:
      if (spec.type == 0 || wants_char) {
        const char c = static_cast<char>(arg.i);
        return put_text(out, std::string_view(&c, 1), spec);
      }
      break;
    case Kind::kUnsigned:
      break;
    case Kind::kSigned:
      break;
  }
  if (wants_char) {
    const char c =
        static_cast<char>(arg.kind == Kind::kUnsigned ? arg.u : static_cast<std::uint64_t>(arg.i));
    return put_text(out, std::string_view(&c, 1), spec);
  }
  const std::string_view floats = "eEfFgGaA";
  if (spec.type != 0 && floats.find(spec.type) != std::string_view::npos) {
    FormatArg as_double;
    as_double.kind = Kind::kDouble;
    as_double.d =
        arg.kind == Kind::kUnsigned ? static_cast<double>(arg.u) : static_cast<double>(arg.i);
    return put_float(out, as_double, spec);
  }
  if (arg.kind == Kind::kUnsigned) return put_integer(out, false, arg.u, spec);
  const auto bits = static_cast<std::uint64_t>(arg.i);
  put_integer(out, arg.i < 0, arg.i < 0 ? 0 - bits : bits, spec);
}

std::string vformat(std::string_view fmt, const FormatArg* args, std::size_t num_args);

}  // namespace str::detail
}  // namespace DJ_HIDDEN deep_jit

#include <deep_jit/utils/detail/format_parse.hpp>
