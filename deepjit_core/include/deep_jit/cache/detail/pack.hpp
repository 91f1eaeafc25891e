// A set of entries as one file: relocatable, with a checksum over all of it.
//
//   std::string bytes = encode_pack(folders, trust);
//   for (PackedEntry& entry : decode_pack(bytes, "kernels.pack")) stage_and_publish(entry);
//
// Layout: magic, then fields with their length (u64, little endian): manifest, then its files in
// order, for each entry; at the end 64 hex digits of SHA-256. The reader trusts nothing: names are
// plain or refused, and where an entry lands follows from its manifest alone. Leaves reading and
// writing of the file to cache/disk.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/cache/detail/layer.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cache_detail {

inline constexpr std::string_view kPackMagic = "deep_jit pack 1\n";
inline constexpr std::size_t kPackDigest = 64;

struct PackedEntry {
  Manifest manifest;
  std::vector<std::string_view> files;  // into the bytes of the pack
};

inline void append_field(std::string& out, std::string_view field) {
  for (int i = 0; i < 8; ++i)
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(field.size()) >> (8 * i)));
  out.append(field);
}

inline std::string encode_pack(const std::vector<Path>& folders, const Trust& trust) {
  std::string out(kPackMagic);
  for (const Path& dir : folders) {
    const Finding finding = check_entry(dir, trust);
    if (finding.verdict != Verdict::kGood)
      DJ_FAIL(kCache,
              "pack: entry: given {}.\n  Rule ENTRY_WHOLE: {}.\n"
              "  Fix: leave it out, or build it again.",
              dir, finding.why.empty() ? "it is gone" : finding.why);
    append_field(out, finding.manifest->serialize());
    for (const FileRecord& file : finding.manifest->files) {
      const auto bytes = filesystem::read_file(dir / file.name);
      if (!bytes || bytes->size() != file.size)
        DJ_FAIL(kCache,
                "pack: entry: given {}.\n  Rule ENTRY_WHOLE: it changed while it was read.\n"
                "  Fix: pack again.",
                dir);
      append_field(out, *bytes);
    }
  }
  return out + sha256_hex(out);
}

class PackReader {
 public:
  PackReader(std::string_view bytes, const Path& origin) : rest_(bytes), origin_(origin) {}

  std::vector<PackedEntry> run() {
    if (!str::starts_with(rest_, kPackMagic) || rest_.size() < kPackMagic.size() + kPackDigest)
      fail("it starts with the magic line of a pack");
    const std::string_view body = rest_.substr(0, rest_.size() - kPackDigest);
    if (sha256_hex(body) != rest_.substr(body.size())) fail("its checksum holds");
    rest_ = body.substr(kPackMagic.size());
    std::vector<PackedEntry> entries;
    while (!rest_.empty()) {
      auto manifest = Manifest::parse(field());
      if (!manifest) fail("every manifest is whole and names plain files");
      PackedEntry entry{std::move(*manifest), {}};
      for (std::size_t i = 0; i < entry.manifest.files.size(); ++i) {
        const FileRecord& file = entry.manifest.files[i];
        for (std::size_t j = 0; j < i; ++j)
          if (entry.manifest.files[j].name == file.name) fail("no file is named twice");
        const std::string_view bytes = field();
        if (bytes.size() != file.size || sha256_hex(bytes) != file.sha256)
          fail("every file has the size and checksum of its manifest");
        entry.files.push_back(bytes);
      }
      entries.push_back(std::move(entry));
    }
    return entries;
  }

 private:
  std::string_view field() {
    std::uint64_t size = 0;
    if (rest_.size() < 8) fail("no field ends early");
    for (std::size_t i = 0; i < 8; ++i)
      size |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    rest_.remove_prefix(8);
    if (size > rest_.size()) fail("no field ends early");
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  [[noreturn]] void fail(std::string_view rule) const {
    DJ_FAIL(kCache,
            "unpack: file: given {}.\n  Rule PACK_WHOLE: {}; this one is damaged or no pack.\n"
            "  Fix: copy or make it again.",
            origin_, rule);
  }

  std::string_view rest_;
  const Path& origin_;
};

inline std::vector<PackedEntry> decode_pack(std::string_view bytes, const Path& origin) {
  return PackReader(bytes, origin).run();
}

}  // namespace cache_detail
}  // namespace DJ_HIDDEN deep_jit
