// Typed environment variables: the embedder's prefix first, then DJ.
//
//   Env env("MYLIB");
//   env.get<bool>("JIT_DEBUG");                  // MYLIB_JIT_DEBUG, else DJ_JIT_DEBUG, else
//   nullopt env.get_or<int>("JIT_THREADS", 4); env.get<std::filesystem::path>("JIT_CACHE_DIR");
//
// Read at every call, never kept. An empty variable counts as unset. A value that does not parse is
// an InvalidArgument that names variable, value and rule. Leaves defaults to their features.
#pragma once

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {

class Env {
 public:
  explicit Env(std::string prefix) : prefix_(std::move(prefix)) {}

  // T: std::string, std::filesystem::path, bool, an integer or a floating-point type.
  template <class T>
  std::optional<T> get(std::string_view name) const {
    const auto found = find(name);
    if (!found) return std::nullopt;
    return parse<T>(found->first, found->second);
  }

  template <class T>
  T get_or(std::string_view name, T fallback) const {
    auto value = get<T>(name);
    return value ? std::move(*value) : std::move(fallback);
  }
  std::string get_or(std::string_view name, const char* fallback) const {
    return get_or<std::string>(name, fallback);
  }

  bool has(std::string_view name) const { return find(name).has_value(); }
  const std::string& prefix() const { return prefix_; }
  // "MYLIB_JIT_DEBUG": what to tell a user to set.
  std::string variable(std::string_view name) const { return str::format("{}_{}", prefix_, name); }

 private:
  std::optional<std::pair<std::string, std::string>> find(std::string_view name) const {
    for (const std::string_view prefix : {std::string_view(prefix_), std::string_view("DJ")}) {
      if (prefix.empty()) continue;
      std::string variable = str::format("{}_{}", prefix, name);
      const char* value = std::getenv(variable.c_str());
      if (value != nullptr && *value != '\0')
        return std::pair(std::move(variable), std::string(value));
    }
    return std::nullopt;
  }

  template <class T>
  static T parse(const std::string& variable, const std::string& value) {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path>) {
      return T(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      return parse_bool(variable, value);
    } else {
      static_assert(std::is_arithmetic_v<T>, "Env reads text, paths, booleans and numbers");
      T number{};
      std::string_view text = str::trim(value);
      if (str::starts_with(text, "+")) text.remove_prefix(1);
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || end != text.data() + text.size())
        fail(variable, value, "a number within range", "4");
      return number;
    }
  }

  static bool parse_bool(const std::string& variable, const std::string& value) {
    std::string text(str::trim(value));
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (text == "true" || text == "yes") return true;
    if (text == "false" || text == "no") return false;
    long long number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || text.empty())
      fail(variable, value, "true, false, yes, no or an integer, in any case", "1");
    return number != 0;
  }

  [[noreturn]] static void fail(const std::string& variable, const std::string& value,
                                std::string_view rule, std::string_view example) {
    DJ_FAIL(kInvalidArgument,
            "environment: {}: given \"{}\".\n"
            "  Rule ENV_VALUE: {}.\n"
            "  Fix: set {}={}, or unset it.",
            variable, value, rule, variable, example);
  }

  std::string prefix_;
};

}  // namespace DJ_HIDDEN deep_jit
