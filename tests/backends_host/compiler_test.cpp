// Compilers that fail in every way: a Toolchain error with all of the log, and nothing published.
#include <string>

#include "tests/backends_host/host_fixture.hpp"
#include "tests/support/check.hpp"

using deep_jit::exception::Exception;

namespace {

// The message of a compile that must fail, after which a good compiler must succeed by itself.
std::string failure_of(const HostDir& dir, const std::string& body) {
  dir.use_compiler(body);
  std::string message;
  try {
    Jit(dir.config()).compile("k", add_source("k"));
  } catch (const Exception& error) {
    CHECK(error.kind() == deep_jit::exception::Kind::kToolchain);
    message = error.message();
  }
  CHECK_EQ(dir.num_entries(), 0);
  dir.count_compiles();
  Jit jit(dir.config());
  CHECK(runs_right(jit, jit.compile("k", add_source("k")), 3));
  return message;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(HostCompiler, ExitCodeAndWholeLogAreInTheError) {
  const HostDir dir;
  const std::string message = failure_of(dir, "echo to-stdout; echo to-stderr >&2; exit 3");
  for (const char* part : {"bin/cc", "-O3", "-std=c++20", "-fPIC", "-shared", "kernel.cpp", "3",
                           "to-stdout", "to-stderr"})
    CHECK(has(message, part));
  CHECK(!has(message, "-march=native"));
}

TEST(HostCompiler, KillingSignalIsNamed) {
  const HostDir dir;
  CHECK(has(failure_of(dir, "kill -9 $$"), "9"));
}

TEST(HostCompiler, MissingAndEmptyProductsNeverReachTheLoader) {
  {
    const HostDir dir;
    CHECK(has(failure_of(dir, "exit 0"), "no kernel.so"));
  }
  {
    const HostDir dir;
    CHECK(has(failure_of(dir, ": > kernel.so"), "an empty kernel.so"));
  }
  const HostDir dir;
  CHECK(has(failure_of(dir, "echo not-an-object > kernel.so"), "no ELF file"));
}

TEST(HostCompiler, AMegabyteOfLogArrivesWhole) {
  const HostDir dir;
  const std::string message = failure_of(
      dir,
      "i=0; while [ $i -lt 20000 ]; do echo 'sixty-three characters and a line end make sixty-"
      "four bytes.'; i=$((i+1)); done; echo the-end; exit 1");
  CHECK(message.size() > (std::size_t{1} << 20));
  CHECK(has(message, "the-end"));
}

TEST(HostCompiler, AbsentCompilerNamesWhatWasLookedFor) {
  const HostDir dir;
  const std::string path = getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  std::string message;
  try {
    Jit(dir.config()).compile("k", add_source("k"));
  } catch (const Exception& error) {
    message = error.message();
  }
  setenv("HOSTT_JIT_HOST_COMPILER", "/nowhere/g++", 1);
  CHECK_THROWS(Jit(dir.config()).compile("k", add_source("k")), kToolchain, "/nowhere/g++");
  setenv("PATH", path.c_str(), 1);
  for (const char* part :
       {"HOSTT_JIT_HOST_COMPILER: not set", "name one in HOSTT_JIT_HOST_COMPILER", "CXX", "g++",
        "c++", "clang++", "Fix:"})
    CHECK(has(message, part));
}

TEST(HostCompiler, CxxMayHoldWords) {
  const HostDir dir;
  const deep_jit::Env env("HOSTT");
  setenv("CXX", "  env g++ -DFROM_CXX=1 ", 1);
  const auto found = deep_jit::host::find_compiler(env);
  CHECK_EQ(found.command.size(), std::size_t{3});
  CHECK_EQ(found.command.back(), std::string("-DFROM_CXX=1"));
  Jit jit(dir.config());
  const auto kernel = jit.compile("k", add_source("k", "#ifndef FROM_CXX\n#error\n#endif\n"));
  CHECK(runs_right(jit, kernel, 1));
  unsetenv("CXX");
}

TEST(HostCompiler, IdentityFollowsContentAndNotPlace) {
  const HostDir one, two;
  const deep_jit::Env env("HOSTT");
  const auto identity_of = [&](const HostDir& dir, std::string_view text) {
    dir.write("bin/c", text);
    fs::permissions(dir.path() / "bin/c", fs::perms::owner_all);
    setenv("HOSTT_JIT_HOST_COMPILER", (dir.path() / "bin/c").c_str(), 1);
    return deep_jit::host::toolchain_identity(deep_jit::host::find_compiler(env));
  };
  const std::string first = identity_of(one, "#!/bin/sh\nexit 1\n");
  CHECK_EQ(identity_of(two, "#!/bin/sh\nexit 1\n"), first);
  CHECK(identity_of(two, "#!/bin/sh\nexit 22\n") != first);
}

TEST(HostCompiler, PathsWithSpacesQuotesAndShellTextWork) {
  const HostDir dir(" a 'b' \"c\" $(touch pwned) ;d");
  dir.write("lib/include/value.h", "enum { kValue = 4 };\n");
  Jit jit(dir.config());
  const auto kernel = jit.compile(
      "k", "#include <value.h>\n" + add_source("k", "out[block->index[0]] += kValue - 4;"));
  CHECK(runs_right(jit, kernel, 9));
  CHECK(!fs::exists("pwned"));
}

TEST(HostCompiler, SourceErrorShowsTheCompilersWords) {
  const HostDir dir;
  CHECK_THROWS(Jit(dir.config()).compile("k", "int broken = undeclared_thing;\n"), kToolchain,
               "undeclared_thing");
}

TEST(HostCompiler, EntryOfAnotherNameIsExplained) {
  const HostDir dir;
  CHECK_THROWS(Jit(dir.config()).compile("k", add_source("other")), kToolchain, "KERNEL_NAME");
  CHECK_EQ(dir.num_entries(), 0);
}

CHECK_MAIN()
