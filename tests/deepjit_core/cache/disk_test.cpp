// Entries are found whole or not at all, whatever happens to the disk.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deep_jit/cache/disk.hpp>

#include "tests/deepjit_core/cache/disk_fixture.hpp"
#include "tests/support/check.hpp"

using deep_jit::DiskCache;
using deep_jit::filesystem::read_file;
using deep_jit::filesystem::Syscalls;
using deep_jit::filesystem::syscalls;

TEST(DiskCache, PublishedEntryIsFoundByAnotherCacheWithItsBytes) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings));
  const auto entry = build(cache, "k", "r1");
  CHECK(!entry.ephemeral);
  DiskCache again(options_of(dir / "c", warnings));
  const auto found = again.find("k", "r1", {});
  CHECK(found.has_value());
  CHECK_EQ(*read_file(found->dir / "kernel.so"), "image");
  CHECK_EQ(found->manifest.files.size(), 2);
  CHECK(!again.find("k", "r2", {}));
  CHECK(!again.find("other", "r1", {}));
  CHECK_EQ(deep_jit::filesystem::facts_of(dir / "c")->st_mode & 0777, 0700u);
  CHECK(warnings.empty());
}

TEST(DiskCache, AwkwardNamesStayInsideTheFolderAndAreToldApart) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c 'q' $(touch x)", warnings));
  for (const char* name : {"a b", "a'b", "$(id)", "../../up", "", "a/b", "-rf"}) {
    CHECK(!build(cache, name, "r", name).ephemeral);
    const auto found = cache.find(name, "r", {});
    CHECK(found.has_value());
    if (found) CHECK_EQ(*read_file(found->dir / "kernel.so"), name);
  }
  CHECK_EQ(cache.list().size(), 7);
}

TEST(DiskCache, FilterRefusesAnotherBuildInTheUsersLayerOnly) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings));
  build(cache, "k", "r1");
  const auto user_only_mine = [](const deep_jit::Manifest& m, bool is_user_layer) {
    return !is_user_layer || m.build == "mine";
  };
  CHECK(!cache.find("k", "r1", user_only_mine));
  cache.pack(cache.list(), dir / "p.pack");
  DiskCache other(options_of(dir / "d", warnings));
  CHECK_EQ(other.unpack(dir / "p.pack"), 1);
  CHECK(other.find("k", "r1", user_only_mine).has_value());
}

TEST(DiskCache, EveryDamageToEveryFileIsAMissSetAsideAndRebuilt) {
  for (const char* file : {"kernel.so", "kernel.cpp", "manifest"}) {
    for (const char* harm : {"empty", "half", "flip", "replace", "delete", "link", "folder"}) {
      TempDir dir;
      Warnings warnings;
      DiskCache cache(options_of(dir / "c", warnings));
      const auto entry = build(cache, "k", "r1");
      const auto path = entry.dir / file;
      std::string bytes = *read_file(path);
      const std::string_view how = harm;
      if (how == "empty") bytes.clear();
      if (how == "half") bytes.resize(bytes.size() / 2);
      if (how == "flip") bytes[bytes.size() / 2] ^= 1;
      if (how == "replace") bytes = "something else";
      deep_jit::filesystem::remove_tree(path);
      if (how == "link")
        std::filesystem::create_symlink("/etc/passwd", path);
      else if (how == "folder")
        std::filesystem::create_directory(path);
      else if (how != "delete")
        write(path, bytes);
      CHECK(!cache.find("k", "r1", {}));
      CHECK(!cache.find("k", "r1", {}));
      CHECK_EQ(warnings.size(), 1);
      CHECK_EQ(deep_jit::filesystem::list_dir(dir / "c" / "damaged").size(), 1);
      CHECK(!build(cache, "k", "r1").ephemeral);
      CHECK(cache.find("k", "r1", {}).has_value());
    }
  }
}

TEST(DiskCache, LoserOfRaceUsesItsOwnBytes) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings));
  const auto first = build(cache, "k", "r1", "winner");
  std::filesystem::path own;
  {
    const auto second = build(cache, "k", "r1", "loser");
    CHECK(second.ephemeral);
    own = second.dir;
    CHECK_EQ(*read_file(own / "kernel.so"), "loser");
    CHECK_EQ(*read_file(first.dir / "kernel.so"), "winner");
  }
  CHECK(!std::filesystem::exists(own));
  CHECK(warnings.empty());
}

TEST(DiskCache, DamagedEntryInTheWayOfPublishIsReplaced) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings));
  write(build(cache, "k", "r1").dir / "kernel.so", "x");
  CHECK(!build(cache, "k", "r1", "new").ephemeral);
  CHECK_EQ(*read_file(cache.find("k", "r1", {})->dir / "kernel.so"), "new");
}

TEST(DiskCache, FileWhereAFolderShouldBeDegradesToMemoryWithOneWarning) {
  TempDir dir;
  Warnings warnings;
  write(dir / "file", "x");
  DiskCache cache(options_of(dir / "file", warnings));
  for (int i = 0; i < 3; ++i) {
    const auto entry = build(cache, "k", "r1");
    CHECK(entry.ephemeral);
    CHECK_EQ(*read_file(entry.dir / "kernel.so"), "image");
  }
  CHECK(!cache.find("k", "r1", {}));
  CHECK_EQ(warnings.size(), 1);
}

TEST(DiskCache, NoFolderAtAllStillBuilds) {
  DiskCache cache(DiskCache::Options{});
  CHECK(build(cache, "k", "r1").ephemeral);
}

TEST(DiskCache, WorldWritableAndForeignEntriesAreRefused) {
  TempDir dir;
  Warnings warnings;
  const auto entry = [&] {
    DiskCache cache(options_of(dir / "c", warnings));
    return build(cache, "k", "r1");
  }();
  const auto path = entry.dir / "kernel.so";
  const auto is_found = [&] {
    return DiskCache(options_of(dir / "c", warnings)).find("k", "r1", {}).has_value();
  };
  CHECK(is_found());
  for (const auto& open : {path, entry.dir, dir / "c" / "cache", dir / "c"}) {
    const mode_t before = deep_jit::filesystem::facts_of(open)->st_mode & 0777;
    for (const mode_t harm : {0002u, 0020u}) {
      chmod(open.c_str(), before | harm);
      CHECK(!is_found());
    }
    chmod(open.c_str(), before);
    CHECK(is_found());
  }
  if (geteuid() != 0) return;
  for (const auto& foreign : {path, entry.dir, dir / "c"}) {
    CHECK_EQ(chown(foreign.c_str(), 12345, 0), 0);
    CHECK(!is_found());
    auto options = options_of(dir / "c", warnings);
    options.trusted_owners = {12345};
    CHECK(DiskCache(options).find("k", "r1", {}).has_value());
    CHECK_EQ(chown(foreign.c_str(), 0, 0), 0);
  }
}

TEST(DiskCache, DiscardedEntryIsAMiss) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings));
  build(cache, "k", "r1");
  cache.discard(*cache.find("k", "r1", {}), "the driver refused it");
  CHECK(!cache.find("k", "r1", {}));
  CHECK_EQ(warnings.size(), 1);
}

TEST(DiskCache, LeastRecentlyUsedGoesFirstAndTheNewestStays) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings, 9000));
  for (int i = 0; i < 4; ++i) {
    const auto entry =
        build(cache, "k", std::string(1, static_cast<char>('a' + i)), std::string(2500, 'x'));
    const timespec when[2] = {{1000000 + i, 0}, {1000000 + i, 0}};
    utimensat(AT_FDCWD, (entry.dir / "manifest").c_str(), when, 0);
    if (i == 1) CHECK(cache.find("k", "a", {}).has_value());
  }
  CHECK(cache.find("k", "a", {}).has_value());
  CHECK(!cache.find("k", "b", {}));
  CHECK(cache.find("k", "d", {}).has_value());
  const auto pruned = cache.prune(0);
  CHECK_EQ(pruned.num_bytes_left, 0);
  CHECK(pruned.num_entries >= 2);
  CHECK(pruned.num_bytes > 2 * 2500);
  CHECK(cache.list().empty());
  CHECK_EQ(cache.prune(0).num_entries, 0);
}

// Each call of the seam fails once with each error; the entry must work, and later ones too.
TEST(DiskCache, EveryFailingCallAtPublishLeavesAWorkingEntry) {
  static int code = 0, calls_left = 0;
  static const auto fails = [] { return --calls_left == 0 ? (errno = code, true) : false; };
  static const Syscalls real;
  using Install = void (*)();
  const Install seams[] = {
      [] {
        syscalls().mkdir = [](const char* p, mode_t m) { return fails() ? -1 : real.mkdir(p, m); };
      },
      [] {
        syscalls().rename = [](const char* a, const char* b) {
          return fails() ? -1 : real.rename(a, b);
        };
      },
      [] { syscalls().fsync = [](int fd) { return fails() ? -1 : real.fsync(fd); }; },
      [] {
        syscalls().chmod = [](const char* p, mode_t m) { return fails() ? -1 : real.chmod(p, m); };
      },
      [] {
        syscalls().lstat = [](const char* p, struct stat* s) {
          return fails() ? -1 : real.lstat(p, s);
        };
      },
      [] {
        syscalls().fstat = [](int fd, struct stat* s) { return fails() ? -1 : real.fstat(fd, s); };
      },
      [] {
        syscalls().statvfs = [](const char* p, struct statvfs* s) {
          return fails() ? -1 : real.statvfs(p, s);
        };
      },
  };
  for (const Install install : seams) {
    for (const int error : {EROFS, EACCES, ENOSPC, ESTALE, EEXIST, EINTR, EIO, EDQUOT}) {
      for (int nth = 1; nth <= 8; ++nth) {
        TempDir dir;
        Warnings warnings;
        DiskCache cache(options_of(dir / "c", warnings));
        auto staging = cache.stage("warm");
        code = error;
        calls_left = nth;
        install();
        const auto entry = build(cache, "k", "r1");
        cache.find("k", "r1", {});
        calls_left = 0;
        syscalls() = real;
        CHECK_EQ(read_file(entry.dir / "kernel.so").value_or("none"), "image");
        CHECK(warnings.size() <= 1);
        build(cache, "k", "r1");
        CHECK(cache.find("k", "r1", {}).has_value());
        CHECK_EQ(deep_jit::filesystem::list_dir(dir / "c" / "cache").size(), 1);
      }
    }
  }
}

TEST(DiskCache, PacksAreCheckedBeforeAnythingIsWritten) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings));
  build(cache, "k", "r1");
  build(cache, "k", "r2");
  cache.pack(cache.list(), dir / "p");
  const std::string good = *read_file(dir / "p");
  DiskCache target(options_of(dir / "d", warnings));
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    write(dir / "bad", bad);
    CHECK_THROWS(target.unpack(dir / "bad"), kCache, "PACK_WHOLE");
    write(dir / "bad", good.substr(0, at));
    CHECK_THROWS(target.unpack(dir / "bad"), kCache, "PACK_WHOLE");
  }
  CHECK(target.list().empty());
  CHECK_THROWS(target.unpack(dir / "missing"), kCache, "FILE_IO");
  CHECK_EQ(target.unpack(dir / "p"), 2);
  CHECK_EQ(target.unpack(dir / "p"), 2);
  CHECK_EQ(target.list().size(), 2);
}

TEST(DiskCache, PackThatNamesFilesOutsideIsRefused) {
  for (const char* name : {"../evil", "/tmp/evil", "..", ".", "", "manifest", "a/b"}) {
    TempDir dir;
    Warnings warnings;
    deep_jit::Manifest manifest{.request = "r", .build = "b", .name = "k"};
    manifest.files = {{name, 1, deep_jit::sha256_hex("x")}};
    std::string pack(deep_jit::cache_detail::kPackMagic);
    deep_jit::cache_detail::append_field(pack, manifest.serialize());
    deep_jit::cache_detail::append_field(pack, "x");
    pack += deep_jit::sha256_hex(pack);
    write(dir / "p", pack);
    DiskCache cache(options_of(dir / "c", warnings));
    CHECK_THROWS(cache.unpack(dir / "p"), kCache, "PACK_WHOLE");
    CHECK(!std::filesystem::exists(dir / "c"));
  }
}

CHECK_MAIN()
