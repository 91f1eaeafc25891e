// Config: what exists is valid, and is shown in full.
#include <deep_jit/runtime/config.hpp>

#include <string>

#include "tests/support/check.hpp"

using deep_jit::Config;

TEST(Config, GivesPathsBelowThePackage) {
  const Config config("/opt/lib", "MYLIB", "sig", {"/opt/lib/include"}, {"mylib/"},
                      {"/opt/kernels"});
  CHECK_EQ(config.get_python_path("include/a.h").string(), std::string("/opt/lib/include/a.h"));
  const std::string text = config.to_json().dump();
  for (const char* part : {"\"/opt/lib\"", "\"MYLIB\"", "\"sig\"", "\"/opt/lib/include\"",
                           "\"mylib/\"", "\"/opt/kernels\""})
    CHECK(text.find(part) != std::string::npos);
}

TEST(Config, RefusesRelativePaths) {
  CHECK_THROWS(Config("lib", "MYLIB"), kInvalidArgument, "ABSOLUTE_PATH");
  CHECK_THROWS(Config("/lib", "MYLIB", "", {"include"}), kInvalidArgument, "include_dirs");
  CHECK_THROWS(Config("/lib", "MYLIB", "", {}, {}, {"kernels"}), kInvalidArgument,
               "shipped_kernels");
}

TEST(Config, RefusesPrefixesThatAreNoNamesOrTheFallback) {
  for (const char* prefix : {"", "DJ", "A B", "1A", "A=B"})
    CHECK_THROWS(Config("/lib", prefix), kInvalidArgument, "ENV_PREFIX");
}

CHECK_MAIN()
