// Targets: the machine's own is stable and runnable, and what is missing is named.
#include <deep_jit/backend/host/device.hpp>
#include <deep_jit/backend/host/target.hpp>

#include <string>
#include <vector>

#include "tests/support/check.hpp"

using namespace deep_jit::host;

TEST(Target, NativeIsAStableNameThatRunsHere) {
  CHECK_EQ(native_target(), native_target());
  CHECK(!native_target().empty() && native_target() != "native");
  CHECK_EQ(first_missing(native_target(), native_target()), std::string());
}

#if defined(__x86_64__)
TEST(Target, NativeAgreesWithTheCompilersOwnView) {
  __builtin_cpu_init();
  const int level = detail::x86_level(native_target().substr(0, native_target().find('+')));
  CHECK_EQ(level >= 3, __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                           __builtin_cpu_supports("bmi2") != 0);
  CHECK_EQ(level >= 4, __builtin_cpu_supports("avx512f") != 0 &&
                           __builtin_cpu_supports("avx512bw") != 0 &&
                           __builtin_cpu_supports("avx512vl") != 0);
}
#endif

TEST(Target, FlagsAreSpelledOut) {
  CHECK_EQ(target_flags("x86-64-v4+avx512vnni+avx512bf16"),
           (std::vector<std::string>{"-march=x86-64-v4", "-mavx512vnni", "-mavx512bf16"}));
  CHECK_EQ(target_flags("armv8.2-a+fp16+dotprod"),
           std::vector<std::string>{"-march=armv8.2-a+fp16+dotprod"});
  CHECK(target_flags("generic").empty());
}

TEST(Target, MissingFeatureIsNamed) {
  CHECK_EQ(first_missing("x86-64-v4", "x86-64-v3"), std::string("x86-64-v4"));
  CHECK_EQ(first_missing("x86-64-v2", "x86-64-v3"), std::string());
  CHECK_EQ(first_missing("x86-64-v4+avx512bf16", "x86-64-v4+avx512vnni"),
           std::string("avx512bf16"));
  CHECK_EQ(first_missing("znver3", "x86-64-v3"), std::string());
}

TEST(Device, KnowsThreadsAndCaches) {
  const Device device;
  CHECK(device.get_num_threads() >= 1);
  CHECK(device.get_l1_bytes() >= 4096 && device.get_l2_bytes() >= device.get_l1_bytes());
  CHECK_EQ(device.get_arch(), native_target());
  CHECK(!device.get_isa().empty());
  CHECK_THROWS(Device(1), kInvalidArgument, "DEVICE_INDEX");
}

CHECK_MAIN()
