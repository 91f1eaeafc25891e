// The build id of an ELF file, or what stands in for it: the name of a compiler binary's content
// without hashing its hundred megabytes.
//
//   elf_build_id("/usr/lib/libnvrtc.so.13")   // "65be0db3..." or nullopt for a file without one
//   file_identity(path)                       // build id, else size and hash of both ends
//
// Leaves memoising to callers: one call reads two pages. Knows 64-bit little-endian ELF, which is
// what every supported machine loads.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

namespace detail {

inline bool read_at(std::ifstream& file, std::uint64_t offset, void* out, std::size_t size) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(static_cast<char*>(out), static_cast<std::streamsize>(size));
  return static_cast<std::size_t>(file.gcount()) == size;
}

// Notes are {name size, content size, type} and both texts padded to 4 bytes.
inline std::optional<std::string> find_build_id(const std::vector<char>& notes) {
  const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t content = name + padded(note.n_namesz);
    const std::size_t end = content + padded(note.n_descsz);
    if (end > notes.size() || end <= at) return std::nullopt;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes.data() + name, "GNU", 4) == 0) {
      static constexpr char kHex[] = "0123456789abcdef";
      std::string text;
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        const auto byte = static_cast<unsigned char>(notes[content + i]);
        text += kHex[byte >> 4];
        text += kHex[byte & 15];
      }
      return text;
    }
    at = end;
  }
  return std::nullopt;
}

}  // namespace detail

inline bool is_elf64(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  unsigned char magic[5] = {};
  return file && detail::read_at(file, 0, magic, sizeof magic) &&
         std::memcmp(magic, ELFMAG, SELFMAG) == 0 && magic[EI_CLASS] == ELFCLASS64;
}

inline std::optional<std::string> elf_build_id(const std::filesystem::path& path) {
  if (!is_elf64(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!detail::read_at(file, 0, &header, sizeof header)) return std::nullopt;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const std::uint64_t at = header.e_phoff + static_cast<std::uint64_t>(i) * header.e_phentsize;
    if (!detail::read_at(file, at, &segment, sizeof segment)) return std::nullopt;
    // Why the bound: a note segment is a page at most; a damaged header must not ask for more.
    if (segment.p_type != PT_NOTE || segment.p_filesz > 65536) continue;
    std::vector<char> notes(segment.p_filesz);
    if (!detail::read_at(file, segment.p_offset, notes.data(), notes.size())) continue;
    if (auto id = detail::find_build_id(notes)) return id;
  }
  return std::nullopt;
}

// Empty for a file that cannot be read.
inline std::string file_identity(const std::filesystem::path& path) {
  if (const auto id = elf_build_id(path)) return "build-id " + *id;
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return {};
  constexpr std::uint64_t kEnd = 4096;  // a page: headers in front, section table behind
  std::string ends(static_cast<std::size_t>(std::min(size, kEnd)), '\0');
  detail::read_at(file, 0, ends.data(), ends.size());
  std::string tail(ends.size(), '\0');
  detail::read_at(file, size - tail.size(), tail.data(), tail.size());
  return str::format("size {} ends {}", size, sha256_hex(ends + tail));
}

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
