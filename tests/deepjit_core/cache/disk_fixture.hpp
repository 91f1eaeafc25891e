// What the cache tests share: a folder that goes away, a cache in it, an entry in that.
//
//   TempDir dir; Warnings warnings;
//   DiskCache cache = make_cache(dir / "c", warnings);
//   build(cache, "k", "r1");
//
// Leaves assertions to the tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <deep_jit/cache/disk.hpp>
#include <deep_jit/utils/filesystem.hpp>

struct TempDir {
  TempDir() {
    const char* base = std::getenv("TEST_TMPDIR");
    path = std::filesystem::path(base != nullptr ? base : "/tmp") /
           ("dj test." + deep_jit::get_uuid());
    deep_jit::filesystem::private_mkdirs(path);
  }
  ~TempDir() { deep_jit::filesystem::remove_tree(path); }
  std::filesystem::path operator/(std::string_view name) const { return path / name; }
  std::filesystem::path path;
};

using Warnings = std::vector<std::string>;

inline deep_jit::DiskCache::Options options_of(const std::filesystem::path& dir, Warnings& warnings,
                                               std::uint64_t max_bytes = 0) {
  return {
      {dir}, max_bytes, [&warnings](std::string_view text) { warnings.emplace_back(text); }, {}};
}

inline void write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;  // past the seam, on purpose
}

inline deep_jit::DiskCache::Entry build(deep_jit::DiskCache& cache, std::string_view name,
                                        std::string_view request,
                                        std::string_view bytes = "image") {
  auto staging = cache.stage(name);
  write(staging.dir() / "kernel.so", bytes);
  write(staging.dir() / "kernel.cpp", "source");
  deep_jit::Manifest manifest;
  manifest.name = name;
  manifest.request = request;
  manifest.build = "build1";
  return cache.publish(std::move(staging), std::move(manifest));
}
