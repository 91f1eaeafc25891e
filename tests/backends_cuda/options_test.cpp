#include <deep_jit/backend/cuda/compiler_flags.hpp>
#include <deep_jit/backend/cuda/target.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using namespace deep_jit;
using Words = std::vector<std::string>;

const Env kEnv("DJOPT");

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(CompilerOptions, UnsetFieldsInheritAndSetOnesWin) {
  const cuda::CompilerOptions base{
      .optimize_level = 1, .fast_math = true, .arch = "90a", .extra_nvcc_flags = "-DA"};
  const auto merged = base.override_with({.fast_math = false, .extra_nvcc_flags = "-DB"});
  CHECK_EQ(*merged.optimize_level, 1);
  CHECK_EQ(*merged.fast_math, false);
  CHECK_EQ(*merged.arch, std::string("90a"));
  CHECK_EQ(merged.extra_nvcc_flags, std::string("-DA -DB"));
  CHECK(!merged.with_line_info);
}

TEST(CompilerOptions, DefaultsAreTheContracts) {
  const auto settings = cuda::resolve({}, kEnv);
  CHECK_EQ(settings.optimize_level, 3);
  CHECK_EQ(settings.ptxas_register_usage_level, 10);
  CHECK_EQ(settings.cpp_standard, std::string("20"));
  const Words nvcc = cuda::nvcc_arguments(settings, "90a");
  for (const char* flag :
       {"-std=c++20", "-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda",
        "--ptxas-options=--register-usage-level=10", "-gencode=arch=compute_90a,code=sm_90a"}) {
    CHECK(has(nvcc, flag));
  }
  CHECK(has(cuda::nvrtc_arguments(settings, "100f"), "-arch=sm_100f"));
}

TEST(CompilerOptions, TheEnvironmentGivesDefaultsThatOptionsOverrule) {
  setenv("DJ_JIT_WITH_LINEINFO", "yes", 1);
  setenv("DJOPT_JIT_DUMP_ASM", "1", 1);
  setenv("DJOPT_JIT_DUMP_SASS", "false", 1);
  setenv("DJOPT_JIT_CPP_STANDARD", "17", 1);
  const auto settings = cuda::resolve({}, kEnv);
  const auto overruled = cuda::resolve({.with_line_info = false}, kEnv);
  for (const char* name : {"DJ_JIT_WITH_LINEINFO", "DJOPT_JIT_DUMP_ASM", "DJOPT_JIT_DUMP_SASS",
                           "DJOPT_JIT_CPP_STANDARD"}) {
    unsetenv(name);
  }
  CHECK(settings.with_line_info && settings.dump_ptx && !settings.dump_sass);
  CHECK(!overruled.with_line_info);
  CHECK(has(cuda::nvrtc_arguments(settings, "90a"), "-std=c++17"));
  CHECK(has(cuda::nvcc_arguments(settings, "90a"), "-lineinfo"));
}

TEST(CompilerOptions, EveryFieldButTheHookAndTheTargetIsInTheKey) {
  const std::string plain = cuda::key_text(cuda::resolve({}, kEnv));
  const auto differs = [&](const cuda::CompilerOptions& options) {
    return cuda::key_text(cuda::resolve(options, kEnv)) != plain;
  };
  CHECK(differs({.optimize_level = 2}));
  CHECK(differs({.fast_math = true}));
  CHECK(differs({.ptxas_verbose = true}));
  CHECK(differs({.ptxas_register_usage_level = 5}));
  CHECK(differs({.check_no_spills = true}));
  CHECK(differs({.check_no_local_memory = true}));
  CHECK(differs({.with_line_info = true}));
  CHECK(differs({.dump_ptx = true}));
  CHECK(differs({.dump_sass = true}));
  CHECK(differs({.nvcc_flags = "-std=c++17"}));
  CHECK(differs({.nvcc_flags = ""}));
  CHECK(differs({.extra_nvcc_flags = "-DX"}));
  CHECK(!differs({.arch = "90a"}));
  CHECK(!differs({.post_hook = [](const std::filesystem::path&) {}}));
}

TEST(CompilerOptions, LevelsOutOfRangeAreRefused) {
  CHECK_THROWS(cuda::resolve({.optimize_level = 4}, kEnv), kInvalidArgument, "OPTION_RANGE");
  CHECK_THROWS(cuda::resolve({.ptxas_register_usage_level = -1}, kEnv), kInvalidArgument,
               "ptxas_register_usage_level");
}

TEST(Flags, AreSplitAtSpacesOutsideQuotesAndNothingIsExpanded) {
  CHECK(cuda::split_flags("  -DA='x y'  \"-I/a b\" -DB=\\\"q $HOME `ls` ") ==
        (Words{"-DA=x y", "-I/a b", "-DB=\"q", "$HOME", "`ls`"}));
  CHECK(cuda::split_flags("").empty());
  CHECK(cuda::split_flags("''") == Words{""});
  CHECK_THROWS(cuda::split_flags("-D'A"), kInvalidArgument, "FLAG_QUOTES");
}

TEST(Flags, OfTheHostHalfDoNotReachNvrtcAndPtxasListsAreSplit) {
  const Words kept = cuda::nvrtc_flags_of_nvcc_flags(
      cuda::split_flags("-O3 -Xcompiler -fPIC --compiler-options=-Wall -ccbin g++-12 -DX=1 -cubin "
                        "--expt-relaxed-constexpr -Xptxas -v,--warn-on-spills -std=c++20"));
  CHECK(kept ==
        (Words{"-DX=1", "--ptxas-options=-v", "--ptxas-options=--warn-on-spills", "-std=c++20"}));
}

TEST(Flags, GivenOnesReplaceTheLanguageDefaultsButNotTheTarget) {
  const auto settings =
      cuda::resolve({.nvcc_flags = "-std=c++17 -DY", .extra_nvcc_flags = "-DZ"}, kEnv);
  for (const Words& words :
       {cuda::nvcc_arguments(settings, "86"), cuda::nvrtc_arguments(settings, "86")}) {
    CHECK(has(words, "-std=c++17") && has(words, "-DY") && has(words, "-DZ"));
    CHECK(!has(words, "-std=c++20"));
  }
}

TEST(LaunchOptions, UnsetFieldsInheritAndNullStreamIsAStream) {
  const cuda::LaunchOptions base{.num_smem_bytes = 64, .grid_dim = 8, .enable_pdl = true};
  const auto merged = base.override_with({.stream = nullptr, .block_dim = {32, 4}});
  CHECK(merged.stream.has_value() && *merged.stream == nullptr);
  CHECK_EQ(*merged.num_smem_bytes, 64);
  CHECK(*merged.grid_dim == cuda::Dim3(8));
  CHECK(*merged.block_dim == cuda::Dim3(32, 4, 1));
  CHECK(*merged.enable_pdl);
  CHECK(!base.stream);
}

TEST(Dim3, TakesEveryFormThatCallersUse) {
  struct CudaDim3 {
    unsigned x, y, z;
  };
  CHECK(cuda::Dim3(5) == cuda::Dim3(5, 1, 1));
  CHECK(cuda::Dim3(std::pair{2, 3}) == cuda::Dim3(2, 3));
  CHECK(cuda::Dim3(std::tuple{2, 3u, 4L}) == cuda::Dim3(2, 3, 4));
  CHECK(cuda::Dim3(std::array{1, 2, 3}) == cuda::Dim3(1, 2, 3));
  CHECK(cuda::Dim3(CudaDim3{7, 8, 9}) == cuda::Dim3(7, 8, 9));
  CHECK_EQ(cuda::Dim3(100000, 100000).count(), std::uint64_t{10000000000});
}

TEST(Target, NamesFollowTheCapability) {
  CHECK_EQ(cuda::arch_name(8, 0), std::string("80"));
  CHECK_EQ(cuda::arch_name(8, 9), std::string("89"));
  CHECK_EQ(cuda::arch_name(9, 0), std::string("90a"));
  CHECK_EQ(cuda::arch_name(10, 0), std::string("100f"));
  CHECK_EQ(cuda::arch_name(10, 3), std::string("100f"));
  CHECK_EQ(cuda::arch_name(10, 3, false), std::string("103a"));
  CHECK_EQ(cuda::arch_name(12, 1), std::string("120f"));
  CHECK_EQ(cuda::arch_name(12, 1, false), std::string("121a"));
  CHECK_EQ(cuda::arch_name(9, 0, true, true), std::string("90"));
  CHECK_EQ(cuda::arch_name(10, 3, false, true), std::string("103"));
}

TEST(Target, ACompilerThatKnowsNoFamilyGetsTheExactOne) {
  const auto all = [](const std::string&) { return true; };
  const auto no_family = [](const std::string& arch) { return arch.back() != 'f'; };
  const auto nothing = [](const std::string&) { return false; };
  CHECK_EQ(cuda::device_arch(10, 3, all), std::string("100f"));
  CHECK_EQ(cuda::device_arch(10, 3, no_family), std::string("103a"));
  CHECK_EQ(cuda::device_arch(10, 3, nothing), std::string("100f"));
  // Nothing to choose on Hopper and below: the compiler is not asked.
  CHECK_EQ(cuda::device_arch(9, 0, nothing), std::string("90a"));
  CHECK_EQ(cuda::device_arch(8, 6, nothing), std::string("86"));
}

TEST(Target, WhatCanBeOneIsAcceptedInEverySpellingAndTheRestRefused) {
  CHECK_EQ(cuda::checked_arch("sm_90a"), std::string("90a"));
  CHECK_EQ(cuda::checked_arch("compute_103"), std::string("103"));
  for (const char* arch : {"80", "86", "89", "90a", "100a", "100f", "103", "120", "120f"})
    CHECK_EQ(cuda::checked_arch(arch), std::string(arch));
  for (const char* arch :
       {"", "9", "090", "80a", "90f", "90b", "90a ", "native", "10000", "70", "90a;ls", "-90"}) {
    CHECK_THROWS(cuda::checked_arch(arch), kInvalidArgument, "TARGET_NAME");
  }
}

TEST(Target, ADeviceRunsItsOwnItsFamilysAndOlderPlainOnesOfItsMajor) {
  CHECK(cuda::can_run("90a", 9, 0) && cuda::can_run("90", 9, 0));
  CHECK(cuda::can_run("80", 8, 6) && !cuda::can_run("86", 8, 0));
  CHECK(cuda::can_run("100f", 10, 3) && !cuda::can_run("100a", 10, 3));
  CHECK(!cuda::can_run("103f", 10, 0) && !cuda::can_run("90a", 10, 0));
  CHECK(!cuda::can_run("80", 9, 0) && !cuda::can_run("120f", 10, 0));
}

}  // namespace

CHECK_MAIN()
