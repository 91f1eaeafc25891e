// What a cubin says about its kernels, read off its ELF.
//
//   cuda::count_parameters(cubin, "vector_add")      // 4; nullopt where the file does not say
//   cuda::waits_on_device(cubin, "vector_add", 9)    // whether it may be launched with PDL
//
// Why not the driver: it knows nothing of the second, and of the first it tells the size of one
// parameter, but their number only by failing past the last, which compute-sanitizer reports as an
// error of the program. Leaves sizes to the driver.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

namespace detail {

template <class T>
bool read_record(std::string_view bytes, std::uint64_t at, T& record) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(&record, bytes.data() + at, sizeof(T));
  return true;
}

// Attributes are {format, kind, 16-bit value}; format 4 means that many bytes follow.
inline std::optional<int> count_parameter_records(std::string_view info) {
  constexpr unsigned char kSized = 4, kParameterInfo = 0x17, kParameterInfo2 = 0x45;
  int count = 0;
  for (std::size_t at = 0; at < info.size();) {
    struct {
      unsigned char format, kind;
      std::uint16_t value;
    } attribute;
    if (!read_record(info, at, attribute) || attribute.format == 0 || attribute.format > kSized)
      return std::nullopt;
    at += sizeof attribute;
    if (attribute.format == kSized) {
      if (attribute.kind == kParameterInfo || attribute.kind == kParameterInfo2) ++count;
      at += attribute.value;
    }
  }
  return count;
}

// The bytes of a section.
inline std::optional<std::string_view> find_section(std::string_view elf, const std::string& name) {
  Elf64_Ehdr header;
  Elf64_Shdr names;
  if (!read_record(elf, 0, header)) return std::nullopt;
  const auto section_at = [&](std::uint64_t index) {
    return header.e_shoff + index * header.e_shentsize;
  };
  if (!read_record(elf, section_at(header.e_shstrndx), names)) return std::nullopt;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!read_record(elf, section_at(static_cast<std::uint64_t>(i)), section)) break;
    const std::uint64_t at = names.sh_offset + section.sh_name;
    if (at > elf.size() || elf.substr(at, name.size() + 1) != name + '\0') continue;
    if (section.sh_offset > elf.size() || section.sh_size > elf.size() - section.sh_offset)
      return std::nullopt;
    return elf.substr(section.sh_offset, section.sh_size);
  }
  return std::nullopt;
}

}  // namespace detail

inline std::optional<int> count_parameters(std::string_view cubin, std::string_view kernel) {
  const auto info = detail::find_section(cubin, ".nv.info." + std::string(kernel));
  return info ? detail::count_parameter_records(*info) : std::nullopt;
}

// Whether a kernel ever executes griddepcontrol.wait: it is an instruction of its own (ACQBULK),
// the same from compute 9.0 to 12.x. nullopt where the code is elsewhere or of another machine.
inline std::optional<bool> waits_on_device(std::string_view cubin, std::string_view kernel,
                                           int compute_major) {
  constexpr std::size_t kInstructionBytes = 16;
  constexpr std::uint64_t kOpcodeBits = 0xfff, kWait = 0x82e;
  if (compute_major < 9 || compute_major > 12) return std::nullopt;
  const auto code = detail::find_section(cubin, ".text." + std::string(kernel));
  if (!code) return std::nullopt;
  std::uint64_t word = 0;
  for (std::size_t at = 0; detail::read_record(*code, at, word); at += kInstructionBytes)
    if ((word & kOpcodeBits) == kWait) return true;
  return false;
}

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
