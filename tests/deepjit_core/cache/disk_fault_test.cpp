// One failing system call at a time, at every place where it is made: an entry works from memory,
// or is a miss; no exception, and never half an entry.
#include <deep_jit/cache/disk.hpp>

#include <chrono>
#include <string>

#include "tests/deepjit_core/cache/disk_fixture.hpp"
#include "tests/deepjit_core/cache/fault_seams.hpp"
#include "tests/support/check.hpp"

using deep_jit::DiskCache;
using deep_jit::KeyLock;
using deep_jit::filesystem::list_dir;
using deep_jit::filesystem::read_file;

using namespace fault_seams;

namespace {

constexpr int kErrors[] = {EIO, ENOSPC, EACCES, EROFS, ESTALE, EINTR, ENOLCK, EMFILE, EDQUOT};

// Everything an operator does with the cache: lock, look, build, publish, look again. The folders
// of entries that no disk took are gone when it returns.
void use_cache(const std::filesystem::path& dir, Warnings& warnings, const std::string& what) {
  DiskCache cache(options_of(dir, warnings));
  const KeyLock lock = cache.lock("k", "r1", std::chrono::milliseconds(50));
  cache.find("k", "r1", {});
  const auto entry = build(cache, "k", "r1");
  calls_left = 0;
  if (read_file(entry.dir / "kernel.so").value_or("none") != "image")
    dj_test::fail(__FILE__, __LINE__, what + ": the entry does not hold what was built");
}

void check_nothing_is_half(const std::filesystem::path& dir, bool may_leave_scratch,
                           const std::string& what) {
  Warnings warnings;
  DiskCache cache(options_of(dir, warnings));
  if (!cache.verify().empty()) dj_test::fail(__FILE__, __LINE__, what + ": half an entry is left");
  if (!may_leave_scratch && !list_dir(dir / "tmp").empty())
    dj_test::fail(__FILE__, __LINE__, what + ": a staging folder is left");
  // The disk is well again: the entry is built and found.
  build(cache, "k", "r1");
  if (!cache.find("k", "r1", {})) dj_test::fail(__FILE__, __LINE__, what + ": no entry afterwards");
}

}  // namespace

TEST(DiskCacheFaults, OneFailingCallAnywhereInLockFindBuildAndPublishIsNoException) {
  for (const Seam& seam : kSeams) {
    int num_places = 1;  // learnt from the first run
    for (int nth = 0; nth <= num_places; ++nth) {
      for (const int error : kErrors) {
        const std::string what = std::string(seam.name) + " call " + std::to_string(nth) +
                                 " errno " + std::to_string(error);
        TempDir dir;
        Warnings warnings;
        fail_nth(seam, nth, error);
        try {
          use_cache(dir / "c", warnings, what);
        } catch (const std::exception& thrown) {
          dj_test::fail(__FILE__, __LINE__, what + " threw: " + thrown.what());
        }
        mend();
        if (nth == 0) {
          num_places = num_calls;
          if (warnings.size() != 0) dj_test::fail(__FILE__, __LINE__, what + ": warned");
          break;
        }
        if (warnings.size() > 1) dj_test::fail(__FILE__, __LINE__, what + ": warned twice");
        // What cannot be removed stays, out of the way, for the next scan.
        const bool may_leave = std::string(seam.name) == "unlink" || seam.name[0] == 'r';
        check_nothing_is_half(dir / "c", may_leave, what);
      }
    }
    // Proof that the seam is on the path at all; removal is only needed when something went wrong.
    const bool is_removal = std::string(seam.name) == "unlink" || std::string(seam.name) == "rmdir";
    if (num_places == 0 && !is_removal)
      dj_test::fail(__FILE__, __LINE__, std::string(seam.name) + " is never called");
  }
}

TEST(DiskCacheFaults, AReadThatFailsIsAMissAndLeavesTheEntryInPlace) {
  for (const int error : {EIO, ESTALE, EACCES, EMFILE}) {
    for (int nth = 1; nth <= 6; ++nth) {
      for (const Seam* seam : {&seam_of("open"), &seam_of("read")}) {
        TempDir dir;
        Warnings warnings;
        DiskCache cache(options_of(dir / "c", warnings));
        build(cache, "k", "r1");
        fail_nth(*seam, nth, error);
        const bool is_hit = cache.find("k", "r1", {}).has_value();
        const bool has_failed = calls_left == 0;
        mend();
        CHECK(is_hit != has_failed);
        // The disk was at fault, not the entry.
        CHECK(cache.find("k", "r1", {}).has_value());
        CHECK(list_dir(dir / "c" / "damaged").empty());
      }
    }
  }
}

TEST(DiskCacheFaults, RemovalThatFailsIsTriedAgainAndNeverHalfAnEntry) {
  for (const Seam* seam : {&seam_of("unlink"), &seam_of("rmdir")}) {
    for (int nth = 1; nth <= 5; ++nth) {
      TempDir dir;
      Warnings warnings;
      DiskCache cache(options_of(dir / "c", warnings));
      build(cache, "k", "r1");
      build(cache, "k", "r2");
      fail_nth(*seam, nth, EBUSY);
      cache.prune(0);
      mend();
      CHECK(cache.list().empty());
      CHECK(cache.verify().empty());
    }
  }
}

TEST(DiskCacheFaults, AFileSystemWithoutLocksIsUsedWithoutThem) {
  for (const int error : {ENOLCK, EOPNOTSUPP, EINVAL, EIO}) {
    TempDir dir;
    Warnings warnings;
    DiskCache cache(options_of(dir / "c", warnings));
    fail_nth(seam_of("flock"), 1, error);
    const auto before = std::chrono::steady_clock::now();
    const KeyLock lock = cache.lock("k", "r1", std::chrono::seconds(20));
    mend();
    CHECK(!lock.is_held());
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(10));
    CHECK(!build(cache, "k", "r1").ephemeral);
  }
}

TEST(DiskCacheFaults, AnInterruptedLockIsTakenAllTheSame) {
  TempDir dir;
  Warnings warnings;
  DiskCache cache(options_of(dir / "c", warnings));
  fail_nth(seam_of("flock"), 1, EINTR);
  const KeyLock lock = cache.lock("k", "r1", std::chrono::milliseconds(100));
  CHECK_EQ(calls_left, 0);
  mend();
  CHECK(lock.is_held());
}

CHECK_MAIN()
