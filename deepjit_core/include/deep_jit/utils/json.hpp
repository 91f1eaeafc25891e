// A json value to write, never to read.
//
//   json object = json::object();
//   object["name"] = "gemm";
//   object["sizes"] = json::array({1, 2.5, true});
//   object.dump();    // {"name":"gemm","sizes":[1,2.5,true]}; members stay in insertion order
//
// Bytes that are not UTF-8 become U+FFFD, non-finite numbers null: the output is always valid.
// Leaves parsing to whoever reads.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <deep_jit/utils/detail/json_text.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {

class json {
 public:
  json() = default;
  json(std::nullptr_t) {}
  json(std::string value) : value_(std::move(value)) {}
  json(std::string_view value) : value_(std::string(value)) {}
  json(const char* value) : value_(std::string(value)) {}
  json(const std::filesystem::path& value) : value_(value.string()) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  json(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      value_ = value;
    } else if constexpr (std::is_floating_point_v<T>) {
      value_ = static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
      value_ = static_cast<std::int64_t>(value);
    } else {
      value_ = static_cast<std::uint64_t>(value);
    }
  }
  template <class T>
  json(const std::vector<T>& items) : value_(Array()) {
    for (const auto& item : items) push_back(json(item));
  }

  static json object() { return json(Object()); }
  static json array(std::initializer_list<json> items = {}) { return json(Array(items)); }

  // Makes an object of a null value; adds the member when it is new.
  json& operator[](std::string_view key) {
    if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Object();
    auto* members = std::get_if<Object>(&value_);
    DJ_HOST_ASSERT(members != nullptr, "json: member \"{}\" of a value that is no object", key);
    for (auto& [name, value] : *members)
      if (name == key) return value;
    return members->emplace_back(std::string(key), json()).second;
  }

  // Makes an array of a null value.
  void push_back(json item) {
    if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Array();
    auto* items = std::get_if<Array>(&value_);
    DJ_HOST_ASSERT(items != nullptr, "json: push_back to a value that is no array");
    items->push_back(std::move(item));
  }

  std::size_t size() const {
    if (const auto* items = std::get_if<Array>(&value_)) return items->size();
    if (const auto* members = std::get_if<Object>(&value_)) return members->size();
    return 0;
  }

  // indent < 0: one line.
  std::string dump(int indent = -1) const {
    std::string out;
    write(out, indent, 0);
    return out;
  }

 private:
  using Array = std::vector<json>;
  using Object = std::vector<std::pair<std::string, json>>;

  explicit json(Array items) : value_(std::move(items)) {}
  explicit json(Object members) : value_(std::move(members)) {}

  static void new_line(std::string& out, int indent, int depth) {
    if (indent < 0) return;
    out.push_back('\n');
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(depth), ' ');
  }

  void write(std::string& out, int indent, int depth) const {
    if (const auto* text = std::get_if<std::string>(&value_)) {
      detail::append_json_string(out, *text);
    } else if (const auto* flag = std::get_if<bool>(&value_)) {
      out += *flag ? "true" : "false";
    } else if (const auto* real = std::get_if<double>(&value_)) {
      out += std::isfinite(*real) ? str::number(*real) : "null";
    } else if (const auto* i = std::get_if<std::int64_t>(&value_)) {
      out += str::number(*i);
    } else if (const auto* u = std::get_if<std::uint64_t>(&value_)) {
      out += str::number(*u);
    } else if (const auto* items = std::get_if<Array>(&value_)) {
      out.push_back('[');
      for (std::size_t n = 0; n < items->size(); ++n) {
        if (n != 0) out.push_back(',');
        new_line(out, indent, depth + 1);
        (*items)[n].write(out, indent, depth + 1);
      }
      if (!items->empty()) new_line(out, indent, depth);
      out.push_back(']');
    } else if (const auto* members = std::get_if<Object>(&value_)) {
      out.push_back('{');
      for (std::size_t n = 0; n < members->size(); ++n) {
        if (n != 0) out.push_back(',');
        new_line(out, indent, depth + 1);
        detail::append_json_string(out, (*members)[n].first);
        out += indent < 0 ? ":" : ": ";
        (*members)[n].second.write(out, indent, depth + 1);
      }
      if (!members->empty()) new_line(out, indent, depth);
      out.push_back('}');
    } else {
      out += "null";
    }
  }

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_ = nullptr;
};

}  // namespace DJ_HIDDEN deep_jit
