// The two programs as they go wrong: whatever a compiler does, nothing half made is published, and
// the message has the command, the ending and the whole log.
#include <deep_jit/backend/ascend/compiler_bisheng.hpp>

#include "tests/backends_ascend/ascend_fixture.hpp"
#include "tests/support/check.hpp"

namespace {

int num_entries(const AscendDir& dir) {
  int count = 0;
  std::error_code error;
  for (fs::directory_iterator at(dir.path() / "cache" / "cache", error), end; !error && at != end;
       ++at)
    ++count;
  return count;
}

deep_jit::ascend::CompilerOptions kArch() { return {.arch = "2201"}; }

}  // namespace

TEST(Bisheng, EveryWayOfFailingIsTypedAndLeavesNoEntry) {
  const AscendDir dir;
  const struct {
    const char* how;
    const char* part;
  } cases[] = {{"exit", "as asked for"},
               {"signal", "SIGKILL"},
               {"empty", "an empty kernel.reloc.o"},
               {"text", "is incompatible with aicorelinux"}};
  for (const auto& one : cases) {
    setenv("SIM_BISHENG_FAILS", one.how, 1);
    AscendJit jit(dir.config());
    CHECK_THROWS(jit.compile_without_load("add", kAddSource, kArch()), kToolchain, one.part);
    CHECK_THROWS(jit.compile_without_load("add", kAddSource, kArch()), kToolchain,
                 "COMPILE_SUCCEEDS");
    CHECK_EQ(num_entries(dir), 0);
  }
  unsetenv("SIM_BISHENG_FAILS");
  AscendJit(dir.config()).compile_without_load("add", kAddSource, kArch());
  CHECK_EQ(num_entries(dir), 1);
}

TEST(Bisheng, AWrongSourceShowsTheCompilersOwnWordsAndTheCommand) {
  const AscendDir dir;
  AscendJit jit(dir.config());
  const std::string source =
      "#include \"kernel_operator.h\"\nextern \"C\" __global__ __vector__ "
      "void bad(int n) { undeclared = n; }\n";
  for (const char* part : {"undeclared", "--npu-arch=dav-2201", "exit 1", "whole log"})
    CHECK_THROWS(jit.compile_without_load("bad", source, kArch()), kToolchain, part);
}

TEST(Bisheng, ASourceWithoutAKernelIsRefusedBeforeTheLoader) {
  const AscendDir dir;
  AscendJit jit(dir.config());
  CHECK_THROWS(
      jit.compile_without_load("none", "#include \"kernel_operator.h\"\nint x;\n", kArch()),
      kToolchain, "a binary without a kernel");
}

TEST(Bisheng, ADeviceBinaryOfAnotherMachineIsRefused) {
  const AscendDir dir;
  fs::remove(dir.toolkit() / "bin/ld.lld");
  dir.write("cann/bin/ld.lld", "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\ncp /bin/true $1\n");
  fs::permissions(dir.toolkit() / "bin/ld.lld", fs::perms::owner_all);
  AscendJit jit(dir.config());
  CHECK_THROWS(jit.compile_without_load("add", kAddSource, kArch()), kToolchain, "machine 0x3e");
}

TEST(Bisheng, UnmarkedKernelsAreTheCompilersToRefuse) {
  const AscendDir dir;
  AscendJit jit(dir.config());
  const std::string source =
      "#include \"kernel_operator.h\"\n"
      "extern \"C\" __global__ __aicore__ void k(__gm__ float* out) {}\n";
  jit.compile_without_load("k", source, {.arch = "2201"});
  CHECK_THROWS(jit.compile_without_load("k", source, {.arch = "3510"}), kToolchain,
               "is not marked");
  CHECK_THROWS(jit.compile_without_load("add", kAddSource, {.enable_simt = true, .arch = "2201"}),
               kToolchain, "--enable-simt needs dav-3510");
}

TEST(Bisheng, PathsWithBlanksAndQuotesAreNoTrouble) {
  const AscendDir dir(" of 'one' \"two\" $three");
  const DeviceStream stream;
  AscendJit jit(dir.config());
  CHECK(adds_right(jit, jit.compile("add", kAddSource), stream, 2));
}

TEST(Aclrtc, AWrongSourceAndAnUnknownFlagShowItsLog) {
  const AscendDir dir;
  setenv("ASCT_JIT_COMPILER", "aclrtc", 1);
  AscendJit jit(dir.config());
  CHECK_THROWS(jit.compile_without_load("bad", "int broken(", kArch()), kToolchain, "aclrtc");
  CHECK_THROWS(jit.compile_without_load("add", kAddSource,
                                        {.arch = "2201", .extra_bisheng_flags = "--no-such"}),
               kToolchain, "unknown argument: '--no-such'");
  jit.compile_without_load("add", kAddSource, kArch());
}

CHECK_MAIN()
