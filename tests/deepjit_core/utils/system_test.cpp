// env, command, parser, filesystem: what the operating system answers, and what we make of it.
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string>

#include <deep_jit/utils/command.hpp>
#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/filesystem.hpp>
#include <deep_jit/utils/parser.hpp>

#include "tests/deepjit_core/cache/disk_fixture.hpp"
#include "tests/support/check.hpp"

using deep_jit::Env;
using deep_jit::IncludeParser;
using deep_jit::run_command;
namespace files = deep_jit::filesystem;
using namespace std::chrono_literals;

TEST(Env, PrefixGoesBeforeDjAndEmptyCountsAsUnset) {
  const Env env("MYLIB");
  CHECK(!env.get<std::string>("T_X"));
  setenv("DJ_T_X", "common", 1);
  CHECK_EQ(*env.get<std::string>("T_X"), "common");
  setenv("MYLIB_T_X", "mine", 1);
  CHECK_EQ(env.get_or("T_X", "none"), "mine");
  setenv("MYLIB_T_X", "", 1);
  CHECK_EQ(env.get_or("T_X", "none"), "common");
  unsetenv("MYLIB_T_X");
  unsetenv("DJ_T_X");
  CHECK_EQ(env.get_or("T_X", "none"), "none");
}

TEST(Env, BooleansAndNumbersParseInAnyCaseOrAreErrors) {
  const Env env("MYLIB");
  for (const char* yes : {"1", "true", "TRUE", "Yes", "7", " yes "}) {
    setenv("MYLIB_T_B", yes, 1);
    CHECK(env.get_or<bool>("T_B", false));
  }
  for (const char* no : {"0", "false", "No", "00"}) {
    setenv("MYLIB_T_B", no, 1);
    CHECK(!env.get_or<bool>("T_B", true));
  }
  for (const char* bad : {"on", "2x", "ja", "1.5"}) {
    setenv("MYLIB_T_B", bad, 1);
    CHECK_THROWS(env.get<bool>("T_B"), kInvalidArgument, "MYLIB_T_B");
  }
  setenv("MYLIB_T_B", "-12", 1);
  CHECK_EQ(*env.get<int>("T_B"), -12);
  CHECK_THROWS(env.get<unsigned>("T_B"), kInvalidArgument, "ENV_VALUE");
  unsetenv("MYLIB_T_B");
}

TEST(Command, ArgumentsArriveUntouchedWithoutAShell) {
  const auto result = run_command({"printf", "%s|", "a b", "'q'", "$(id)", "", "\"", "*"});
  CHECK(result.ok());
  CHECK_EQ(result.output, "a b|'q'|$(id)||\"|*|");
}

TEST(Command, ExitSignalAndMissingProgramAreTold) {
  CHECK_EQ(run_command({"sh", "-c", "echo out; echo err >&2; exit 3"}).describe(), "exit 3");
  CHECK_EQ(run_command({"sh", "-c", "echo out; echo err >&2"}).output, "out\nerr\n");
  const auto killed = run_command({"sh", "-c", "kill -SEGV $$"});
  CHECK_EQ(killed.signal, SIGSEGV);
  CHECK(!killed.ok());
  const auto missing = run_command({"/no/such program"});
  CHECK_EQ(missing.start_error, ENOENT);
  CHECK(!missing.ok());
}

TEST(Command, TimeoutKillsTheWholeGroup) {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run_command({"sh", "-c", "sleep 30 & sleep 30"}, {.timeout = 200ms});
  CHECK(result.has_timed_out && !result.ok());
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST(Command, FolderEnvironmentAndLargeOutputWork) {
  TempDir dir;
  const auto result = run_command({"sh", "-c", "pwd; echo $DJ_T_V"},
                                  {.cwd = dir.path, .extra_env = {{"DJ_T_V", "a b"}}});
  CHECK_EQ(result.output, dir.path.string() + "\na b\n");
  CHECK_EQ(run_command({"head", "-c", "3000000", "/dev/zero"}).output.size(), 3000000);
  CHECK_EQ(run_command({"cat"}).output, "");
}

TEST(IncludeParser, DigestFollowsBothFormsAndIgnoresPlaceAndTime) {
  TempDir a, b;
  for (const auto* dir : {&a, &b}) {
    files::private_mkdirs(*dir / "lib/sub");
    write(*dir / "lib/one.h", "#pragma once\n#include \"sub/two.h\"\n");
    write(*dir / "lib/sub/two.h", "#  include <lib/three.h> // x\n#include \"../one.h\"\n");
    write(*dir / "lib/three.h", "int three;\n");
  }
  const std::string source = "#include <lib/one.h>\n#include <vector>\nint x;\n";
  IncludeParser first({a.path}), second({b.path});
  const auto before = first.content_digest(source);
  CHECK_EQ(before, second.content_digest(source));
  const timespec old[2] = {{0, 0}, {0, 0}};
  utimensat(AT_FDCWD, (b / "lib/three.h").c_str(), old, 0);
  CHECK_EQ(before, second.content_digest(source));
  write(b / "lib/three.h", "int Three;\n");  // same size
  utimensat(AT_FDCWD, (b / "lib/three.h").c_str(), old, 0);
  CHECK(before != second.content_digest(source));
  CHECK(first.content_digest("#include <vector>\n") != first.content_digest("#include <map>\n"));
  CHECK(IncludeParser({}).content_digest(source) != before);
}

TEST(IncludeParser, FindsDirectivesBehindCommentsContinuationsAndQuestions) {
  const auto names = [](std::string_view text) {
    std::string all;
    for (const auto& include : deep_jit::detail::scan_includes(text)) all += include.name + ";";
    return all;
  };
  CHECK_EQ(names("/* a */ #include /* b */ <x.h>\r\n#inc\\\nlude \"y.h\"\n"), "x.h;y.h;");
  CHECK_EQ(names("#if __has_include(<q.h>) && __has_include(\"r.h\")\n"), "q.h;r.h;");
  CHECK_EQ(names("#include MACRO\nauto s = \"#include <no>\";\n#define include <z>\n"), "");
}

TEST(Filesystem, ShortWritesAndInterruptsAreCompletedAndErrorsLeaveNoFile) {
  static const files::Syscalls real;
  static int count = 0, code = 0;
  TempDir dir;
  const std::string text(1000, 'x');
  files::syscalls().write = [](int fd, const void* p, size_t n) -> ssize_t {
    if (++count % 2 == 0) return errno = EINTR, -1;
    return real.write(fd, p, n < 7 ? n : 7);
  };
  CHECK(files::write_file_durable(dir / "f", text));
  files::syscalls() = real;
  CHECK_EQ(*files::read_file(dir / "f"), text);
  for (const int error : {ENOSPC, EROFS, EDQUOT, EIO, ESTALE}) {
    code = error;
    files::syscalls().write = [](int, const void*, size_t) -> ssize_t { return errno = code, -1; };
    const auto status = files::write_file_durable(dir / "g", text);
    files::syscalls() = real;
    CHECK_EQ(status.error, error);
    CHECK(!files::facts_of(dir / "g"));
    files::syscalls().open = [](const char*, int, mode_t) { return errno = code, -1; };
    CHECK_EQ(files::write_file_durable(dir / "g", text).error, error);
    files::syscalls() = real;
  }
  files::syscalls().write = [](int, const void*, size_t) -> ssize_t { return 0; };
  CHECK_EQ(files::write_file_durable(dir / "g", text).error, ENOSPC);
  files::syscalls() = real;
}

TEST(Filesystem, RemoveTreeFollowsNoLink) {
  TempDir dir;
  files::private_mkdirs(dir / "keep");
  write(dir / "keep/file", "x");
  files::private_mkdirs(dir / "gone/deep");
  std::filesystem::create_symlink(dir / "keep", dir / "gone/deep/link");
  CHECK(files::remove_tree(dir / "gone"));
  CHECK(files::facts_of(dir / "keep/file").has_value());
  CHECK(files::remove_tree(dir / "gone"));
  CHECK(!files::write_file_durable("/no/such/folder/f", "x"));
}

CHECK_MAIN()
