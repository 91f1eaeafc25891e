// Layers that were installed beside the library are read and left alone.
#include <deep_jit/cache/disk.hpp>

#include "tests/deepjit_core/cache/disk_fixture.hpp"
#include "tests/support/check.hpp"

using deep_jit::DiskCache;
using deep_jit::filesystem::read_file;

TEST(DiskCache, ShippedLayerIsReadLastAndNeverWritten) {
  TempDir dir;
  Warnings warnings;
  {
    DiskCache maker(options_of(dir / "made", warnings));
    build(maker, "k", "r1", "shipped");
    build(maker, "k", "r2", "shipped");
  }
  std::filesystem::create_directory(dir / "pack");
  std::filesystem::rename(dir / "made" / "cache", dir / "pack" / "packs");
  const auto mine = [](const deep_jit::Manifest& m, bool is_user_layer) {
    return !is_user_layer || m.build == "mine";
  };
  auto options = options_of(dir / "c", warnings);
  options.shipped = {dir / "pack"};
  {
    // The folder can be written, and there is no other: its entries serve whatever built them.
    DiskCache cache(options);
    const auto found = cache.find("k", "r1", mine);
    CHECK(found.has_value());
    build(cache, "k", "r2", "own");
    CHECK_EQ(*read_file(cache.find("k", "r2", {})->dir / "kernel.so"), "own");
    CHECK_EQ(cache.list().size(), 3);
    cache.prune(0);
    CHECK_EQ(cache.list().size(), 2);
    cache.discard(*found, "the driver refused it");
    CHECK(!cache.find("k", "r1", mine));
    CHECK_EQ(warnings.size(), 1);
  }
  warnings.clear();
  DiskCache alone({.warn = options.warn, .shipped = options.shipped});
  CHECK(build(alone, "k", "r3").ephemeral);
  alone.prune(0);
  alone.lock("k", "r1", std::chrono::milliseconds(1));
  CHECK(alone.find("k", "r1", mine).has_value());
  write(alone.find("k", "r1", {})->dir / "kernel.so", "tampered");
  CHECK(!alone.find("k", "r1", {}));
  CHECK(alone.find("k", "r2", {}).has_value());
  CHECK_EQ(alone.verify().size(), 1);
  CHECK_EQ(warnings.size(), 2);  // memory only, and the entry that was tampered with
  CHECK_EQ(deep_jit::filesystem::list_dir(dir / "pack").size(), 1);
}

CHECK_MAIN()
