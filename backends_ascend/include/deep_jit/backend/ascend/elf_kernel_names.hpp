// The kernels of a device binary, read from the names of its sections; nothing in the file is
// believed before it is checked against the file's length.
//
//   ascend::DeviceBinary binary = ascend::read_device_binary(bytes);   // throws Toolchain
//   for (auto& kernel : binary.kernels) kernel.name;   // "add"; of add_mix_aic and add_mix_aiv
//   once binary.magic();                                    // what aclrtBinaryLoadFromData is told
//
// A kernel has a note section `.ascend.meta.<name>`, or one or two with _mix_aic and _mix_aiv
// behind the name. The note begins with {type 1, length 4, core type}. The 950's section that is
// called exactly `.ascend.meta` belongs to no kernel. Knows 64-bit little-endian ELF alone.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

inline constexpr std::uint16_t kDeviceMachine = 0x1029;  // e_machine of every device binary seen
inline constexpr std::string_view kMetaPrefix = ".ascend.meta.";
inline constexpr std::string_view kMixCube = "_mix_aic";
inline constexpr std::string_view kMixVector = "_mix_aiv";

// Values of the note: 3, 4 and 5 as read from real binaries, 1 and 2 from documentation.
enum class CoreType : std::uint32_t {
  kUnknown = 0,
  kAiCore = 1,
  kCube = 2,
  kVector = 3,
  kMixCubeFirst = 4,
  kMixVectorFirst = 5,
};

inline std::string_view core_name(CoreType core) {
  switch (core) {
    case CoreType::kAiCore:
      return "aicore";
    case CoreType::kCube:
      return "cube";
    case CoreType::kVector:
      return "vector";
    case CoreType::kMixCubeFirst:
    case CoreType::kMixVectorFirst:
      return "mix";
    default:
      return "unknown";
  }
}

struct DeviceKernel {
  std::string name;  // without _mix_aic and _mix_aiv
  CoreType core = CoreType::kUnknown;
  bool has_cube = false, has_vector = false;  // which halves of a mix kernel are there

  bool is_mix() const { return has_cube || has_vector; }
};

// As acl_rt.h spells them; here, so that reading needs no ACL header.
inline constexpr std::uint32_t kMagicAiCore = 0x43554245;
inline constexpr std::uint32_t kMagicVector = 0x41415246;
inline constexpr std::uint32_t kMagicCube = 0x41494343;

struct DeviceBinary {
  std::vector<DeviceKernel> kernels;  // in the order of the file
  std::uint32_t flags = 0;            // e_flags

  // One core type for all: that core's. Anything else is for the AI core as a whole.
  std::uint32_t magic() const {
    const auto all = [&](CoreType core) {
      return std::all_of(kernels.begin(), kernels.end(),
                         [core](const DeviceKernel& kernel) { return kernel.core == core; });
    };
    if (kernels.empty()) return kMagicAiCore;
    return all(CoreType::kVector) ? kMagicVector : all(CoreType::kCube) ? kMagicCube : kMagicAiCore;
  }
  std::string names() const {
    std::string text;
    for (const DeviceKernel& kernel : kernels) text += (text.empty() ? "" : ", ") + kernel.name;
    return text;
  }
};

namespace detail {

[[noreturn]] inline void refuse_binary(std::string_view what) {
  DJ_FAIL(kToolchain,
          "ascend: load: binary: given {}.\n"
          "  Rule DEVICE_ELF: a device binary is a whole 64-bit little-endian ELF of machine "
          "0x1029 whose tables lie inside the file.\n"
          "  Fix: compile again; if this is what the linker writes, report the file.",
          what);
}

// Bytes [offset, offset + size) of the file, or a refusal.
inline std::string_view slice(std::string_view file, std::uint64_t offset, std::uint64_t size,
                              std::string_view what) {
  if (offset > file.size() || size > file.size() - offset)
    refuse_binary(str::format("{} beyond the end of {} bytes", what, file.size()));
  return file.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

template <class T>
T read_struct(std::string_view file, std::uint64_t offset, std::string_view what) {
  T value;
  std::memcpy(&value, slice(file, offset, sizeof value, what).data(), sizeof value);
  return value;
}

struct SectionTable {
  std::uint64_t offset = 0, count = 0;
  std::string_view names;  // the string table

  Elf64_Shdr at(std::string_view file, std::uint64_t index) const {
    return read_struct<Elf64_Shdr>(file, offset + index * sizeof(Elf64_Shdr), "a section header");
  }
};

inline SectionTable find_sections(std::string_view file, const Elf64_Ehdr& header) {
  if (header.e_shoff == 0) refuse_binary("an ELF without sections");
  if (header.e_shentsize != sizeof(Elf64_Shdr)) refuse_binary("section headers of another size");
  SectionTable table;
  table.offset = header.e_shoff;
  // Numbers that do not fit 16 bits stand in the first section's header.
  const auto first = read_struct<Elf64_Shdr>(file, table.offset, "the section table");
  table.count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  if (table.count > file.size() / sizeof(Elf64_Shdr)) refuse_binary("more sections than bytes");
  slice(file, table.offset, table.count * sizeof(Elf64_Shdr), "a section table");
  const std::uint64_t names = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
  if (names == SHN_UNDEF || names >= table.count) refuse_binary("sections without names");
  const Elf64_Shdr strings = table.at(file, names);
  if (strings.sh_type != SHT_STRTAB) refuse_binary("names that are no string table");
  table.names = slice(file, strings.sh_offset, strings.sh_size, "a string table");
  return table;
}

inline std::string_view section_name(const SectionTable& table, std::uint64_t at) {
  if (at >= table.names.size()) refuse_binary("a section name beyond its table");
  const std::string_view rest = table.names.substr(static_cast<std::size_t>(at));
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) refuse_binary("a section name without an end");
  return rest.substr(0, end);
}

inline bool is_symbol(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$';
  });
}

inline CoreType core_of_note(std::string_view note) {
  std::uint16_t type = 0, length = 0;
  std::uint32_t core = 0;
  if (note.size() < 8) return CoreType::kUnknown;
  std::memcpy(&type, note.data(), 2);
  std::memcpy(&length, note.data() + 2, 2);
  std::memcpy(&core, note.data() + 4, 4);
  const bool is_known = type == 1 && length == 4 && core >= 1 && core <= 5;
  return is_known ? static_cast<CoreType>(core) : CoreType::kUnknown;
}

inline bool take_suffix(std::string_view& name, std::string_view suffix) {
  if (name.size() <= suffix.size() || name.substr(name.size() - suffix.size()) != suffix)
    return false;
  name.remove_suffix(suffix.size());
  return true;
}

inline DeviceKernel kernel_of(std::string_view name, CoreType core) {
  DeviceKernel kernel;
  kernel.core = core;
  // A kernel of one core type may happen to be called so: the note decides.
  if (core != CoreType::kVector && core != CoreType::kCube && core != CoreType::kAiCore) {
    kernel.has_cube = take_suffix(name, kMixCube);
    kernel.has_vector = !kernel.has_cube && take_suffix(name, kMixVector);
  }
  kernel.name = std::string(name);
  return kernel;
}

// Same-named neighbours become one.
inline std::vector<DeviceKernel> merge_halves(const std::vector<DeviceKernel>& found) {
  std::vector<std::size_t> order(found.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // std::stable_sort of GCC 12's library is refused by Clang 19.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(found[a].name, a) < std::tie(found[b].name, b);
  });
  std::vector<std::pair<std::size_t, DeviceKernel>> firsts;
  for (const std::size_t index : order) {
    if (firsts.empty() || firsts.back().second.name != found[index].name) {
      firsts.emplace_back(index, found[index]);
      continue;
    }
    firsts.back().second.has_cube |= found[index].has_cube;
    firsts.back().second.has_vector |= found[index].has_vector;
  }
  std::sort(firsts.begin(), firsts.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<DeviceKernel> kernels;
  for (auto& entry : firsts) kernels.push_back(std::move(entry.second));
  return kernels;
}

}  // namespace detail

inline DeviceBinary read_device_binary(std::string_view file) {
  using detail::refuse_binary;
  const auto header = detail::read_struct<Elf64_Ehdr>(file, 0, "an ELF header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) refuse_binary("no ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    refuse_binary("an ELF of another word size or byte order");
  if (header.e_machine != kDeviceMachine)
    refuse_binary(str::format("an ELF of machine {:#x}", header.e_machine));
  const detail::SectionTable table = detail::find_sections(file, header);
  DeviceBinary binary;
  binary.flags = header.e_flags;
  std::vector<DeviceKernel> found;
  std::size_t name_bytes = 0;
  for (std::uint64_t i = 0; i < table.count; ++i) {
    const Elf64_Shdr section = table.at(file, i);
    if (section.sh_type != SHT_NOTE) continue;
    std::string_view name = detail::section_name(table, section.sh_name);
    if (!str::starts_with(name, kMetaPrefix) || name.size() == kMetaPrefix.size()) continue;
    name.remove_prefix(kMetaPrefix.size());
    if (!detail::is_symbol(name)) refuse_binary("a kernel whose name is no symbol");
    // Why: many headers may point at one long name; honest tables hold each name once.
    name_bytes += name.size();
    if (name_bytes > table.names.size()) refuse_binary("more kernel names than its table holds");
    const auto note = detail::slice(file, section.sh_offset, section.sh_size, "a kernel's note");
    found.push_back(detail::kernel_of(name, detail::core_of_note(note)));
  }
  binary.kernels = detail::merge_halves(found);
  return binary;
}

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
