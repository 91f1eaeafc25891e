// What the stand-in tools write and the simulated runtime reads: a device ELF that carries, beside
// the note sections of real ones, a host library with one entry a kernel.
//
//   sim::Section{".ascend.meta.add", SHT_NOTE, bytes}
//   std::string file = sim::write_elf(sections, ET_EXEC, flags);
//   for (auto& section : sim::read_elf(file).sections) ...      // trusts the file: no fuzz target
//
// Apart from the product's reader on purpose: each is a check of the other.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

inline constexpr std::uint16_t kMachine = 0x1029;
inline constexpr const char* kHostSection = ".sim.host";  // the library's bytes
inline constexpr const char* kMeta = ".ascend.meta.";

// Who a block is, for the kernel's thread; `trapped` comes back.
struct Block {
  std::uint32_t index = 0, count = 1, core = 0;  // core 0: vector or cube alone, 1: aic, 2: aiv
  std::int32_t trapped = 0;
};
using CallEntry = void (*)(Block*, const void* args);          // sim_call_<kernel>
using GatherEntry = void (*)(void* const* args, void* block);  // sim_gather_<kernel>
using BytesEntry = unsigned long (*)();                        // sim_bytes_<kernel>

struct Section {
  std::string name;
  std::uint32_t type = SHT_PROGBITS;
  std::string bytes;
};

struct ElfFile {
  std::uint16_t type = 0, machine = 0;
  std::uint32_t flags = 0;
  std::vector<Section> sections;
};

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string write_elf(const std::vector<Section>& sections, std::uint16_t type,
                             std::uint32_t flags) {
  std::string names(1, '\0'), data, table(sizeof(Elf64_Shdr), '\0');
  const auto add = [&](const std::string& name, std::uint32_t kind, const std::string& bytes) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_type = kind;
    header.sh_offset = sizeof(Elf64_Ehdr) + data.size();
    header.sh_size = bytes.size();
    header.sh_addralign = 4;
    names += name + '\0';
    data += bytes + std::string((8 - bytes.size() % 8) % 8, '\0');
    append(table, header);
  };
  for (const Section& section : sections) add(section.name, section.type, section.bytes);
  // The table of names holds its own name too, so it is complete before it is added.
  const std::string last = ".shstrtab";
  const std::string whole = names + last + '\0';
  add(last, SHT_STRTAB, whole);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = type;
  header.e_machine = kMachine;
  header.e_version = EV_CURRENT;
  header.e_flags = flags;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(table.size() / sizeof(Elf64_Shdr));
  header.e_shstrndx = static_cast<Elf64_Half>(header.e_shnum - 1);
  header.e_shoff = sizeof header + data.size();
  std::string file;
  append(file, header);
  return file + data + table;
}

inline ElfFile read_elf(std::string_view file) {
  ElfFile found;
  Elf64_Ehdr header{};
  if (file.size() < sizeof header) return found;
  std::memcpy(&header, file.data(), sizeof header);
  found.type = header.e_type;
  found.machine = header.e_machine;
  found.flags = header.e_flags;
  const auto section = [&](std::size_t i) {
    Elf64_Shdr one{};
    std::memcpy(&one, file.data() + header.e_shoff + i * sizeof one, sizeof one);
    return one;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (std::size_t i = 1; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    const std::string bytes = one.sh_type == SHT_NOBITS
                                  ? std::string()
                                  : std::string(file.substr(one.sh_offset, one.sh_size));
    found.sections.push_back({file.data() + names.sh_offset + one.sh_name, one.sh_type, bytes});
  }
  return found;
}

}  // namespace sim
