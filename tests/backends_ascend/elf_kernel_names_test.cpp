// The ELF reader on binaries made here: whole, odd and hostile. Real ones: device_binaries_test.
#include <deep_jit/backend/ascend/elf_kernel_names.hpp>

#include <fstream>
#include <iterator>
#include <random>

#include "tests/backends_ascend/simulator/payload.hpp"
#include "tests/support/check.hpp"

// fuzz/elf_fuzzer.cpp, which ends the process where the reader breaks a promise.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace deep_jit;

std::string note(std::uint32_t core) {
  std::string bytes;
  sim::append(bytes, std::uint16_t{1});
  sim::append(bytes, std::uint16_t{4});
  sim::append(bytes, core);
  return bytes;
}

sim::Section kernel(const std::string& name, std::uint32_t core) {
  return {".ascend.meta." + name, SHT_NOTE, note(core)};
}

std::string elf(const std::vector<sim::Section>& sections) {
  return sim::write_elf(sections, ET_EXEC, 0x930000);
}

std::string names(const std::string& bytes) { return ascend::read_device_binary(bytes).names(); }

// A copy with `value` written at `offset`.
template <class T>
std::string patched(std::string bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

std::size_t table_of(const std::string& bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.e_shoff;
}

}  // namespace

TEST(ElfKernelNames, KernelsOfOneCoreTypeStandInTheFilesOrder) {
  const auto binary = ascend::read_device_binary(
      elf({{".text", SHT_PROGBITS, "code"}, kernel("zeta", 3), kernel("alpha", 3)}));
  CHECK_EQ(binary.names(), std::string("zeta, alpha"));
  CHECK_EQ(binary.flags, 0x930000u);
  CHECK_EQ(binary.magic(), ascend::kMagicVector);
  CHECK(!binary.kernels[0].is_mix());
}

TEST(ElfKernelNames, HalvesOfAMixKernelAreOneKernel) {
  const auto binary = ascend::read_device_binary(elf(
      {kernel("a_mix_aic", 4), kernel("b", 3), kernel("a_mix_aiv", 4), kernel("c_mix_aiv", 5)}));
  CHECK_EQ(binary.names(), std::string("a, b, c"));
  CHECK(binary.kernels[0].has_cube && binary.kernels[0].has_vector);
  CHECK(!binary.kernels[2].has_cube && binary.kernels[2].has_vector);
  CHECK_EQ(binary.magic(), ascend::kMagicAiCore);
}

TEST(ElfKernelNames, ANameThatOnlyLooksLikeAHalfIsKept) {
  CHECK_EQ(names(elf({kernel("my_mix_aiv", 3)})), std::string("my_mix_aiv"));
  CHECK_EQ(names(elf({kernel("_mix_aic", 4)})), std::string("_mix_aic"));
}

TEST(ElfKernelNames, SectionsThatAreNoKernelsAreNone) {
  CHECK(names(elf({{".ascend.meta", SHT_PROGBITS, "of the 950"},
                   {".ascend.meta.", SHT_NOTE, note(3)},
                   {".ascend.meta.code", SHT_PROGBITS, note(3)},
                   {".ascend.metal.x", SHT_NOTE, note(3)},
                   {"x.ascend.meta.y", SHT_NOTE, note(3)}}))
            .empty());
  CHECK_EQ(ascend::read_device_binary(elf({})).magic(), ascend::kMagicAiCore);
}

TEST(ElfKernelNames, LongNamesAndThousandsOfKernelsAreRead) {
  const std::string name(3000, 'k');
  CHECK_EQ(names(elf({kernel(name, 3)})), name);
  std::vector<sim::Section> many;
  for (int i = 0; i < 20000; ++i) many.push_back(kernel("k" + std::to_string(i), 3));
  CHECK_EQ(ascend::read_device_binary(elf(many)).kernels.size(), 20000u);
}

TEST(ElfKernelNames, MoreSectionsThan16BitsHoldAreCountedInTheFirst) {
  std::string bytes = elf({kernel("far", 3)});
  const std::size_t table = table_of(bytes);
  bytes = patched(bytes, offsetof(Elf64_Ehdr, e_shnum), std::uint16_t{0});
  bytes = patched(bytes, offsetof(Elf64_Ehdr, e_shstrndx), std::uint16_t{SHN_XINDEX});
  bytes = patched(bytes, table + offsetof(Elf64_Shdr, sh_size), std::uint64_t{3});
  bytes = patched(bytes, table + offsetof(Elf64_Shdr, sh_link), std::uint32_t{2});
  CHECK_EQ(names(bytes), std::string("far"));
}

TEST(ElfKernelNames, EveryTruncationIsRefusedAndNeverReadBeyond) {
  const std::string bytes = elf({kernel("add", 3), kernel("mul_mix_aic", 4)});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<char> exact(bytes.begin(), bytes.begin() + static_cast<long>(size));
    CHECK_THROWS(ascend::read_device_binary({exact.data(), exact.size()}), kToolchain,
                 "DEVICE_ELF");
  }
}

TEST(ElfKernelNames, HostileHeadersAreRefused) {
  const std::string bytes = elf({kernel("add", 3)});
  const std::size_t table = table_of(bytes), first = table + sizeof(Elf64_Shdr);
  const std::size_t names_at = table + 2 * sizeof(Elf64_Shdr);
  const std::string cases[] = {
      patched(bytes, EI_CLASS, char{ELFCLASS32}),
      patched(bytes, EI_DATA, char{ELFDATA2MSB}),
      patched(bytes, offsetof(Elf64_Ehdr, e_machine), std::uint16_t{EM_X86_64}),
      patched(bytes, offsetof(Elf64_Ehdr, e_shoff), ~std::uint64_t{0}),
      patched(bytes, offsetof(Elf64_Ehdr, e_shoff), std::uint64_t{0}),
      patched(bytes, offsetof(Elf64_Ehdr, e_shentsize), std::uint16_t{63}),
      patched(bytes, offsetof(Elf64_Ehdr, e_shnum), std::uint16_t{60000}),
      patched(bytes, offsetof(Elf64_Ehdr, e_shstrndx), std::uint16_t{9}),
      patched(bytes, offsetof(Elf64_Ehdr, e_shstrndx), std::uint16_t{1}),
      patched(bytes, first + offsetof(Elf64_Shdr, sh_name), std::uint32_t{0xffffffff}),
      patched(bytes, first + offsetof(Elf64_Shdr, sh_offset), ~std::uint64_t{0}),
      patched(bytes, first + offsetof(Elf64_Shdr, sh_size), ~std::uint64_t{0} - 8),
      patched(bytes, names_at + offsetof(Elf64_Shdr, sh_size), std::uint64_t{10}),
      patched(bytes, names_at + offsetof(Elf64_Shdr, sh_offset), ~std::uint64_t{0} - 4),
  };
  for (const std::string& one : cases)
    CHECK_THROWS(ascend::read_device_binary(one), kToolchain, "DEVICE_ELF");
  CHECK_THROWS(names(elf({kernel("a b", 3)})), kToolchain, "no symbol");
}

TEST(ElfKernelNames, ManyHeadersOfOneLongNameDoNotMultiplyIt) {
  std::vector<sim::Section> many(300, sim::Section{"x", SHT_NOTE, note(3)});
  many.push_back(kernel(std::string(200, 'k'), 3));
  std::string bytes = elf(many);
  const std::size_t table = table_of(bytes);
  Elf64_Shdr last;
  std::memcpy(&last, bytes.data() + table + 301 * sizeof last, sizeof last);
  for (std::size_t i = 1; i <= 300; ++i)
    bytes = patched(bytes, table + i * sizeof last + offsetof(Elf64_Shdr, sh_name), last.sh_name);
  CHECK_THROWS(ascend::read_device_binary(bytes), kToolchain, "more kernel names");
}

TEST(ElfKernelNames, FlippedBytesGiveKernelsOrATypedRefusal) {
  const std::string bytes = elf({kernel("add", 3), kernel("mul_mix_aic", 4)});
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string hurt = bytes;
    for (int j = 0; j <= i % 4; ++j) hurt[random() % hurt.size()] = static_cast<char>(random());
    try {
      ascend::read_device_binary(hurt);
    } catch (const exception::Exception& error) {
      CHECK(error.kind() == exception::Kind::kToolchain);
    }
  }
}

TEST(ElfKernelNames, InputsThatTheFuzzerFoundWorthKeepingAreReplayed) {
  std::ifstream stream("tests/backends_ascend/fuzz/corpus.bin", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  int num_read = 0;
  for (std::size_t at = 0; at + 4 <= all.size(); ++num_read) {
    std::uint32_t size = 0;
    std::memcpy(&size, all.data() + at, sizeof size);
    const std::vector<char> exact(all.begin() + static_cast<long>(at + 4),
                                  all.begin() + static_cast<long>(at + 4 + size));
    at += 4 + size;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(exact.data()), exact.size());
  }
  CHECK(num_read >= 100);
}

CHECK_MAIN()
