// How many parameters each kernel of a cubin has, read off its ELF.
//
//   cuda::count_parameters(cubin, "vector_add")   // 4; nullopt where the file does not say
//
// Why not the driver: it tells the size of one parameter, but their number only by failing past the
// last, which compute-sanitizer reports as an error of the program. Leaves sizes to the driver.
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

}  // namespace detail

inline std::optional<int> count_parameters(std::string_view cubin, std::string_view kernel) {
  Elf64_Ehdr header;
  Elf64_Shdr names;
  if (!detail::read_record(cubin, 0, header)) return std::nullopt;
  const auto section_at = [&](std::uint64_t index) {
    return header.e_shoff + index * header.e_shentsize;
  };
  if (!detail::read_record(cubin, section_at(header.e_shstrndx), names)) return std::nullopt;
  const std::string wanted = ".nv.info." + std::string(kernel);
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!detail::read_record(cubin, section_at(static_cast<std::uint64_t>(i)), section)) break;
    const std::uint64_t name = names.sh_offset + section.sh_name;
    if (name > cubin.size() || cubin.substr(name, wanted.size() + 1) != wanted + '\0') continue;
    if (section.sh_offset > cubin.size() || section.sh_size > cubin.size() - section.sh_offset)
      return std::nullopt;
    return detail::count_parameter_records(cubin.substr(section.sh_offset, section.sh_size));
  }
  return std::nullopt;
}

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
