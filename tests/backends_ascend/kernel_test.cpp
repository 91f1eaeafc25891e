// Loading and launching: checks before the runtime, every kind of kernel, faults told where a
// program asks for them, nothing left wrong behind.
#include <deep_jit/backend/ascend/kernel.hpp>

#include "tests/backends_ascend/ascend_fixture.hpp"
#include "tests/support/check.hpp"

namespace {

using namespace deep_jit;

constexpr std::string_view kSeveral =
    "#include \"kernel_operator.h\"\n"
    "struct Pair { double a; int b; };\n"
    "extern \"C\" __global__ __vector__ void first(__gm__ int* out) { *out = 1; }\n"
    "extern \"C\" __global__ __cube__ void second(__gm__ double* out, Pair pair, bool yes) {\n"
    "  *out = pair.a + pair.b + (yes ? 100 : 0);\n"
    "}\n"
    "extern \"C\" __global__ __mix__(1, 2) void both(__gm__ int* out) {\n"
    "  out[SimCore()] += 10 + (int)AscendC::GetBlockNum();\n"
    "}\n"
    "extern \"C\" __global__ __vector__ void fault(int now) { if (now) SimTrap(); }\n"
    "extern \"C\" __global__ __vector__ void wait_for_all(__gm__ int* seen) {\n"
    "  __atomic_fetch_add(seen, 1, __ATOMIC_SEQ_CST);\n"
    "  while (__atomic_load_n(seen, __ATOMIC_SEQ_CST) < AscendC::GetBlockNum()) {}\n"
    "}\n"
    "extern \"C\" __global__ __vector__ void spin(long turns) {\n"
    "  for (volatile long i = 0; i < turns; i = i + 1) {}\n"
    "}\n"
    "extern \"C\" __global__ __vector__ void nothing() {}\n";

struct Pair {
  double a;
  int b;
};

// One folder for all: the source is compiled once, each fixture loads it anew.
const AscendDir& shared_dir() {
  static const AscendDir dir;
  return dir;
}

struct Fixture {
  const AscendDir& dir = shared_dir();
  DeviceStream stream;
  AscendJit jit{dir.config()};
  std::shared_ptr<ascend::Kernel> all = jit.compile("several", kSeveral);

  ascend::LaunchOptions on_stream(std::int64_t blocks = 1) const {
    return {.stream = stream.get(), .grid_dim = blocks};
  }
  aclError synchronize() const { return acl::lazy_aclrtSynchronizeStream(stream.get()); }
};

std::string bytes_of(const Fixture& fixture) {
  const fs::path entry = fs::directory_iterator(fixture.dir.path() / "cache/cache")->path();
  return ascend::detail::read_artifact(entry / "kernel.o");
}

}  // namespace

TEST(AscendKernel, SeveralKernelsOfABinaryAreChosenByName) {
  const Fixture fixture;
  CHECK_EQ(fixture.all->get_binary().names(),
           std::string("first, second, both, fault, wait_for_all, spin, nothing"));
  CHECK_THROWS(fixture.all->launch(fixture.on_stream()), kInvalidArgument, "several kernels");
  CHECK_THROWS(fixture.all->by_name("third"), kInvalidArgument, "the binary holds first, second");
  DeviceArray<int> out(1);
  fixture.all->by_name("first")->launch(fixture.on_stream(), out.data());
  fixture.all->by_name("nothing")->launch(fixture.on_stream());
  CHECK_EQ(fixture.synchronize(), ACL_SUCCESS);
  CHECK_EQ(out.read()[0], 1);
}

TEST(AscendKernel, StructsAndBooleansArriveWhole) {
  const Fixture fixture;
  DeviceArray<double> out(1);
  for (const bool use_array : {false, true}) {
    ascend::LaunchOptions options = fixture.on_stream();
    options.use_args_array = use_array;
    fixture.all->by_name("second")->launch(options, out.data(), Pair{0.5, 7}, true);
    CHECK_EQ(fixture.synchronize(), ACL_SUCCESS);
    CHECK_EQ(out.read()[0], 107.5);
  }
}

TEST(AscendKernel, MixKernelsGoByTheirOwnNameOrByAHalfs) {
  for (const bool are_halves : {false, true}) {
    sim().names_are_halves(are_halves);
    const Fixture fixture;
    DeviceArray<int> out(3);
    const auto both = fixture.all->by_name("both");
    both->launch(fixture.on_stream(1), out.data());
    CHECK_EQ(fixture.synchronize(), ACL_SUCCESS);
    CHECK((out.read() == std::vector<int>{0, 11, 11}));
  }
  sim().names_are_halves(0);
}

TEST(AscendKernel, NoRefPtrHandsOverItsOwnStorageByAddress) {
  const Fixture fixture;
  DeviceArray<int> out(1);
  int* pointer = out.data();
  NoRefPtr storage;
  storage.ptr = &pointer;
  const auto first = fixture.all->by_name("first");
  first->launch(fixture.on_stream(), storage);
  CHECK_EQ(fixture.synchronize(), ACL_SUCCESS);
  CHECK_EQ(out.read()[0], 1);
  ascend::LaunchOptions packed = fixture.on_stream();
  packed.use_args_array = false;
  CHECK_THROWS(first->launch(packed, storage), kInvalidArgument, "ARGUMENT_BYTES");
}

TEST(AscendKernel, WhatCannotRunIsRefusedInWordsBeforeTheRuntimeSeesIt) {
  const Fixture fixture;
  const auto nothing = fixture.all->by_name("nothing");
  const long launches = sim().calls("aclrtLaunchKernelWithHostArgs");
  for (const std::int64_t blocks : {0, -1, 65536})
    CHECK_THROWS(nothing->launch(fixture.on_stream(blocks)), kInvalidArgument, "LAUNCH_GRID");
  ascend::LaunchOptions options = fixture.on_stream();
  options.num_ub_bytes = 192 * 1024 + 1;
  CHECK_THROWS(nothing->launch(options), kInvalidArgument, "LAUNCH_UB");
  options = fixture.on_stream();
  options.timeout_us = 0;
  CHECK_THROWS(nothing->launch(options), kInvalidArgument, "LAUNCH_TIMEOUT");
  // No torch is in this process.
  CHECK_THROWS(nothing->launch({.grid_dim = 1}), kDevice, "STREAM_KNOWN");
  CHECK_EQ(sim().calls("aclrtLaunchKernelWithHostArgs"), launches);
}

TEST(AscendKernel, ArgumentsOfAnotherSizeAreTheRuntimesToRefuseWithTheKernelsName) {
  const Fixture fixture;
  CHECK_THROWS(fixture.all->by_name("first")->launch(fixture.on_stream(), 1.0, 2.0), kDevice,
               "first takes 8 bytes of arguments, not 16");
}

TEST(AscendKernel, BlocksThatWaitForEachOtherRunTogetherWhenAskedTo) {
  const Fixture fixture;
  DeviceArray<int> seen(1);
  ascend::LaunchOptions options = fixture.on_stream(12);
  options.schedule_together = true;
  fixture.all->by_name("wait_for_all")->launch(options, seen.data());
  CHECK_EQ(fixture.synchronize(), ACL_SUCCESS);
  CHECK_EQ(seen.read()[0], 12);
}

TEST(AscendKernel, FaultsAndTimeLimitsShowAtTheNextSynchronisation) {
  const Fixture fixture;
  const auto fault = fixture.all->by_name("fault");
  fault->launch(fixture.on_stream(), 1);
  CHECK_THROWS(fixture.stream.synchronize(), kDevice, "507015: EZ9999: simulated: fault faulted");
  fault->launch(fixture.on_stream(), 0);
  CHECK_EQ(fixture.synchronize(), ACL_SUCCESS);
  ascend::LaunchOptions options = fixture.on_stream();
  options.timeout_us = 100;
  fixture.all->by_name("spin")->launch(options, 20000000L);
  CHECK_EQ(fixture.synchronize(), ACL_ERROR_RT_AICORE_TIMEOUT);
}

TEST(AscendKernel, ArgumentsMayGoOnceALaunchReturnsHoweverLateItRuns) {
  const Fixture fixture;
  sim().latency_us(20000);
  DeviceArray<double> out(1);
  for (const bool use_array : {false, true}) {
    auto pair = std::make_unique<Pair>(Pair{1.5, 2});
    ascend::LaunchOptions options = fixture.on_stream();
    options.use_args_array = use_array;
    fixture.all->by_name("second")->launch(options, out.data(), *pair, false);
    *pair = Pair{-1, -1};
    pair.reset();
    CHECK_EQ(fixture.synchronize(), ACL_SUCCESS);
    CHECK_EQ(out.read()[0], 3.5);
  }
  sim().latency_us(0);
}

TEST(AscendKernel, MemoryFreedBeforeTheKernelRunsIsCaughtByTheSimulator) {
  const Fixture fixture;
  sim().latency_us(20000);
  DeviceArray<int> out(1);
  fixture.all->by_name("first")->launch(fixture.on_stream(), out.data());
  out.free();
  CHECK_EQ(fixture.synchronize(), ACL_ERROR_RT_AICORE_EXCEPTION);
  sim().latency_us(0);
}

TEST(AscendKernel, ABinaryWaitsForItsKernelsBeforeItGoes) {
  const Fixture fixture;
  DeviceArray<int> out(1);
  sim().latency_us(50000);
  {
    const auto loaded = ascend::Kernel::from_memory(bytes_of(fixture), 0);
    loaded->by_name("first")->launch(fixture.on_stream(), out.data());
  }
  sim().latency_us(0);
  CHECK_EQ(std::string(sim().violations()), "");
  CHECK_EQ(out.read()[0], 1);
}

TEST(AscendKernel, BytesInMemoryLoadAsAFileDoesAndDamagedOnesDoNot) {
  const Fixture fixture;
  const std::string bytes = bytes_of(fixture);
  CHECK_EQ(ascend::Kernel::from_memory(bytes, 1, "both")->get_name(), std::string("both"));
  CHECK_THROWS(ascend::Kernel::from_memory(bytes.substr(0, bytes.size() / 2), 0), kToolchain,
               "DEVICE_ELF");
  CHECK_THROWS(ascend::Kernel::from_memory("", 0), kToolchain, "DEVICE_ELF");
  CHECK_THROWS(ascend::Kernel::load(fixture.dir.path(), 0), kToolchain, "DEVICE_ELF");
}

TEST(AscendKernel, EveryCallThatMayFailOnTheWayIsTypedAndTheNextTryWorks) {
  const Fixture fixture;
  const std::string bytes = bytes_of(fixture);
  for (const char* call : {"aclrtBinaryLoadFromData", "aclrtBinaryGetFunction"}) {
    sim().fail(call, 1, ACL_ERROR_RT_INTERNAL_ERROR);
    CHECK_THROWS(ascend::Kernel::from_memory(bytes, 0), kDevice, "507000");
    CHECK(ascend::Kernel::from_memory(bytes, 0) != nullptr);
  }
  DeviceArray<int> out(1);
  const auto first = fixture.all->by_name("first");
  sim().fail("aclrtLaunchKernelWithHostArgs", 1, ACL_ERROR_RT_STREAM_TASK_FULL);
  CHECK_THROWS(first->launch(fixture.on_stream(), out.data()), kDevice,
               "aclrtLaunchKernelWithHostArgs of kernel 'first', 1 blocks, on device 0");
  first->launch(fixture.on_stream(), out.data());
  CHECK_EQ(fixture.synchronize(), ACL_SUCCESS);
  CHECK_EQ(out.read()[0], 1);
}

TEST(AscendKernel, AStreamOfAnotherDeviceIsRefused) {
  const Fixture fixture;
  const DeviceStream other(1);
  DeviceArray<int> out(1);
  CHECK_THROWS(fixture.all->by_name("first")->launch({.stream = other.get()}, out.data()), kDevice,
               "pass a stream of the kernel's own device");
}

CHECK_MAIN()
