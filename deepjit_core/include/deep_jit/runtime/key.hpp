// The two digests of an entry, made from named parts. Pure: no files, no clock, no environment.
//
//   RequestParts parts{.backend = "host", .content = parser.content_digest(source), ...};
//   parts.to_text();    // one "name=value" a line: what to diff when two keys differ
//   parts.digest();     // 64 hex digits
//
// `request` says what was asked for and needs no compiler; `build` says who would make it and how.
// Leaves collecting the parts to runtime.hpp.
#pragma once

#include <string>
#include <string_view>

#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace key {

// Raised when the meaning of a key changes, so that old entries are not found.
inline constexpr std::string_view kFormat = "1";

namespace detail {

struct Part {
  std::string_view name;
  std::string_view value;
};

template <std::size_t N>
std::string to_text(const Part (&parts)[N]) {
  std::string text;
  for (const Part& part : parts) text.append(part.name).append("=").append(part.value).append("\n");
  return text;
}

// Why: fields carry their length, so that no value can imitate the start of the next part.
template <std::size_t N>
std::string digest(std::string_view kind, const Part (&parts)[N]) {
  Sha256 hash;
  hash.update_field(kind);
  hash.update_field(kFormat);
  for (const Part& part : parts) {
    hash.update_field(part.name);
    hash.update_field(part.value);
  }
  return hash.hex_digest();
}

}  // namespace detail

struct RequestParts {
  std::string backend;          // "host"
  std::string content;          // digest of the source and of every header that it reaches
  std::string target;           // "x86-64-v3"
  std::string options;          // values, one a line
  std::string extra_signature;  // the embedder's

  std::string to_text() const {
    return apply([](const auto& parts) { return detail::to_text(parts); });
  }
  std::string digest() const {
    return apply([](const auto& parts) { return detail::digest("request", parts); });
  }
  friend bool operator==(const RequestParts&, const RequestParts&) = default;

 private:
  template <class F>
  std::string apply(F&& use) const {
    const detail::Part parts[] = {{"backend", backend},
                                  {"content", content},
                                  {"target", target},
                                  {"options", options},
                                  {"extra_signature", extra_signature}};
    return use(parts);
  }
};

struct BuildParts {
  std::string compiler;  // identity
  std::string flags;     // exact, without paths, and the variables that the compiler reads

  std::string to_text() const {
    const detail::Part parts[] = {{"compiler", compiler}, {"flags", flags}};
    return detail::to_text(parts);
  }
  std::string digest() const {
    const detail::Part parts[] = {{"compiler", compiler}, {"flags", flags}};
    return detail::digest("build", parts);
  }
  friend bool operator==(const BuildParts&, const BuildParts&) = default;
};

}  // namespace key
}  // namespace DJ_HIDDEN deep_jit
