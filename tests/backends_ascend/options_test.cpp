// Options, targets and the command lines that are made of them: text, nothing is run.
#include <deep_jit/backend/ascend/options.hpp>

#include <cstdlib>

#include <deep_jit/backend/ascend/compiler_aclrtc.hpp>
#include <deep_jit/backend/ascend/compiler_bisheng.hpp>
#include <deep_jit/backend/ascend/target.hpp>

#include "tests/support/check.hpp"

namespace {

using namespace deep_jit;

ascend::CompileSettings settings_of(const ascend::CompilerOptions& options) {
  return ascend::resolve(options, Env("ASCOPT"));
}

std::string bisheng(const ascend::CompilerOptions& options, const char* arch = "dav-2201") {
  return str::join(ascend::bisheng_flags(settings_of(options), arch), " ");
}

}  // namespace

TEST(AscendOptions, CommandLinesAreThoseOfTheDocuments) {
  CHECK_EQ(bisheng({}), std::string("-std=c++17 -O2 --cce-aicore-only --npu-arch=dav-2201"));
  CHECK_EQ(bisheng({.optimize_level = 3,
                    .enable_simt = true,
                    .stack_bytes = 0x8000,
                    .with_line_info = true,
                    .extra_bisheng_flags = "-DA='b c' -DD"},
                   "dav-3510"),
           std::string("-std=c++17 -O3 --cce-aicore-only --npu-arch=dav-3510 --enable-simt -mllvm "
                       "-cce-aicore-stack-size=0x8000 -g -DA=b c -DD"));
  CHECK_EQ(bisheng({.bisheng_flags = "-std=c++20"}),
           std::string("-std=c++20 --cce-aicore-only --npu-arch=dav-2201"));
  CHECK_EQ(str::join(ascend::linker_flags(), " "),
           std::string("-m aicorelinux -Ttext 0 --no-mmap-output-file"));
  // The library adds language and standard itself.
  CHECK_EQ(str::join(ascend::aclrtc_flags(settings_of({}), "dav-2201"), " "),
           std::string("-O2 --npu-arch=dav-2201"));
}

TEST(AscendOptions, SetFieldsWinThenTheEnvironmentThenTheDefault) {
  const ascend::CompilerOptions base{.optimize_level = 1, .extra_bisheng_flags = "-DX"};
  const auto merged = base.override_with({.dump_asm = false, .extra_bisheng_flags = "-DY"});
  CHECK_EQ(*merged.optimize_level, 1);
  CHECK_EQ(merged.extra_bisheng_flags, std::string("-DX -DY"));
  setenv("ASCOPT_JIT_DUMP_ASM", "yes", 1);
  CHECK(settings_of({}).dump_asm);
  CHECK(!settings_of(merged).dump_asm);
  unsetenv("ASCOPT_JIT_DUMP_ASM");
  CHECK(!settings_of({}).dump_asm);
  CHECK_THROWS(settings_of({.optimize_level = 4}), kInvalidArgument, "OPTION_RANGE");
  CHECK_THROWS(settings_of({.stack_bytes = -1}), kInvalidArgument, "OPTION_RANGE");
  CHECK_THROWS(bisheng({.extra_bisheng_flags = "-DA='b"}), kInvalidArgument, "FLAG_QUOTES");
}

TEST(AscendOptions, EveryFieldEntersTheKeyAndTheTargetDoesNot) {
  const auto key = [](const ascend::CompilerOptions& options) {
    return ascend::key_text(settings_of(options));
  };
  const std::string plain = key({});
  CHECK(key({.optimize_level = 3}) != plain);
  CHECK(key({.enable_simt = true}) != plain);
  CHECK(key({.stack_bytes = 4096}) != plain);
  CHECK(key({.with_line_info = true}) != plain);
  CHECK(key({.dump_asm = true}) != plain);
  CHECK(key({.bisheng_flags = ""}) != plain);
  CHECK(key({.extra_bisheng_flags = "-DA"}) != plain);
  CHECK(key({.arch = "3510"}) == plain);
}

TEST(AscendOptions, LaunchOptionsInherit) {
  int stream = 0;
  const ascend::LaunchOptions base{.stream = &stream, .grid_dim = 24};
  const auto merged = base.override_with({.grid_dim = 8, .timeout_us = 5});
  CHECK(*merged.stream == &stream);
  CHECK_EQ(*merged.grid_dim, 8);
  CHECK_EQ(*merged.timeout_us, 5);
  CHECK(*base.override_with({.stream = nullptr}).stream == nullptr);
}

TEST(AscendTarget, NamesAreNormalisedAndNonsenseIsRefused) {
  CHECK_EQ(ascend::checked_arch("2201"), std::string("dav-2201"));
  CHECK_EQ(ascend::checked_arch("dav-3510"), std::string("dav-3510"));
  for (const char* bad : {"", "dav-", "90a", "dav-22010", "dav-c220", "dav-2201 -x", "0201"})
    CHECK_THROWS(ascend::checked_arch(bad), kInvalidArgument, "TARGET_NAME");
}

TEST(AscendTarget, DevicesAreNamedByNumberOrByTable) {
  CHECK_EQ(ascend::arch_of_number(3510), std::string("dav-3510"));
  CHECK(ascend::arch_of_number(0).empty());
  CHECK_EQ(ascend::arch_of_soc("Ascend910B2C"), std::string("dav-2201"));
  CHECK_EQ(ascend::arch_of_soc("Ascend910_9391"), std::string("dav-2201"));
  CHECK_EQ(ascend::arch_of_soc("Ascend310P3"), std::string("dav-2002"));
  CHECK_EQ(ascend::arch_of_soc("Ascend950PR_9589"), std::string("dav-3510"));
  // The first 910 is another chip than the 910B.
  for (const char* other : {"Ascend910A", "Ascend310", "Ascend910", ""})
    CHECK(ascend::arch_of_soc(other).empty());
}

CHECK_MAIN()
