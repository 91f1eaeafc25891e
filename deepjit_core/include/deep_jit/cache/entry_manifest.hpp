// What an entry says about itself, and the check that it says it whole.
//
//   Manifest manifest{.request = ..., .build = ..., .name = "gemm", ...};
//   std::string text = manifest.serialize();          // lines; the last one is their checksum
//   std::optional<Manifest> again = Manifest::parse(text);   // nullopt: not one of ours, or
//   damaged
//
// A parsed manifest is safe to use: its file names are plain names. Leaves reading the files to
// detail/layer.hpp and policy to disk.hpp.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {

struct FileRecord {
  std::string name = {};
  std::uint64_t size = 0;
  std::string sha256;
};

struct Manifest {
  static constexpr std::string_view kFileName = "manifest";
  static constexpr std::string_view kMagic = "deep_jit entry 1";

  std::string request = {};  // digests, see runtime/key.hpp
  std::string build = {};
  std::string name = {};
  std::string target = {};
  std::string toolchain = {};
  std::string command = {};
  std::vector<FileRecord> files = {};

  std::string serialize() const {
    std::string text = str::format("{}\n", kMagic);
    for (const auto& [key, value] : fields(*this))
      text += str::format("{} {}\n", key, escape(*value));
    for (const FileRecord& file : files)
      text += str::format("file {} {} {}\n", file.size, file.sha256, escape(file.name));
    return text + str::format("end {}\n", sha256_hex(text));
  }

  static std::optional<Manifest> parse(std::string_view text) {
    constexpr std::size_t kEndLine = 4 + 64 + 1;
    if (text.size() < kEndLine) return std::nullopt;
    const std::string_view body = text.substr(0, text.size() - kEndLine);
    if (text.substr(body.size()) != str::format("end {}\n", sha256_hex(body))) return std::nullopt;
    std::string_view rest = body;
    if (take_line(rest) != kMagic) return std::nullopt;
    Manifest manifest;
    for (const auto& [key, value] : fields(manifest)) {
      std::string_view line = take_line(rest);
      if (take_word(line) != key) return std::nullopt;
      *value = unescape(line);
    }
    while (!rest.empty()) {
      std::string_view line = take_line(rest);
      FileRecord file;
      if (take_word(line) != "file" || !to_number(take_word(line), file.size)) return std::nullopt;
      file.sha256 = take_word(line);
      file.name = unescape(line);
      if (!is_plain_name(file.name) || file.sha256.size() != 64) return std::nullopt;
      manifest.files.push_back(std::move(file));
    }
    return manifest;
  }

  // One component that stays inside its folder.
  static bool is_plain_name(std::string_view name) {
    return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
           name != kFileName && name.find('/') == std::string_view::npos &&
           name.find('\0') == std::string_view::npos;
  }

 private:
  template <class M>
  static std::vector<std::pair<std::string_view, decltype(&std::declval<M&>().request)>> fields(
      M& m) {
    return {{"request", &m.request}, {"build", &m.build},         {"name", &m.name},
            {"target", &m.target},   {"toolchain", &m.toolchain}, {"command", &m.command}};
  }

  static std::string escape(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '\\')
        out += "\\\\";
      else if (c == '\n')
        out += "\\n";
      else
        out.push_back(c);
    }
    return out;
  }

  static std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\' || i + 1 == text.size())
        out.push_back(text[i]);
      else
        out.push_back(text[++i] == 'n' ? '\n' : text[i]);
    }
    return out;
  }

  static std::string_view take_until(std::string_view& rest, char end) {
    const auto at = rest.find(end);
    const std::string_view taken = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
    return taken;
  }
  static std::string_view take_line(std::string_view& rest) { return take_until(rest, '\n'); }
  static std::string_view take_word(std::string_view& rest) { return take_until(rest, ' '); }

  static bool to_number(std::string_view text, std::uint64_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
  }
};

}  // namespace DJ_HIDDEN deep_jit
