// A small set of assertions for C++ tests.
//
//   TEST(Sha256, EmptyTextHasThePublishedDigest) { CHECK_EQ(sha256_hex(""), "e3b0c4..."); }
//   CHECK_THROWS(env.get<bool>("X"), kInvalidArgument, "ENV_VALUE");
//   SKIP("no localedef on this machine");   // ends the test, with its reason
//   CHECK_MAIN()   // runs all, or those whose "Suite.Name" contains argv[1]
//
// A failed check reports and the test goes on. Leaves data and temporary folders to the tests.
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/str.hpp>

namespace dj_test {

struct Case {
  const char* suite;
  const char* name;
  void (*run)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
inline int& num_failed_checks() {
  static int count = 0;
  return count;
}

inline bool add(const char* suite, const char* name, void (*run)()) {
  cases().push_back({suite, name, run});
  return true;
}

template <class T>
std::string show(const T& value) {
  if constexpr (std::is_same_v<T, std::nullptr_t>) {
    return "nullptr";
  } else if constexpr (requires { deep_jit::str::format("{}", value); } &&
                       (std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                        std::is_convertible_v<const T&, std::string_view>)) {
    return deep_jit::str::format("{}", value);
  } else if constexpr (requires { value.string(); }) {
    return value.string();
  } else {
    return "(a value)";
  }
}

inline void fail(const char* file, int line, const std::string& text) {
  ++num_failed_checks();
  std::fprintf(stderr, "%s:%d: %s\n", file, line, text.c_str());
}

template <class A, class B>
void check_eq(const A& got, const B& want, const char* text, const char* file, int line) {
  bool is_equal = false;
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && !std::is_same_v<A, bool> &&
                !std::is_same_v<B, bool> && !std::is_same_v<A, char> && !std::is_same_v<B, char>) {
    is_equal = std::cmp_equal(got, want);
  } else {
    is_equal = got == want;
  }
  if (!is_equal)
    fail(file, line, std::string(text) + "\n  got  " + show(got) + "\n  want " + show(want));
}

template <class Run>
void check_throws(Run&& run, deep_jit::exception::Kind kind, std::string_view part,
                  const char* text, const char* file, int line) {
  try {
    run();
  } catch (const deep_jit::exception::Exception& error) {
    if (error.kind() != kind || std::string_view(error.what()).find(part) == std::string_view::npos)
      fail(file, line, std::string(text) + " threw something else: " + error.what());
    return;
  } catch (const std::exception& error) {
    return fail(file, line, std::string(text) + " threw another type: " + error.what());
  }
  fail(file, line, std::string(text) + " did not throw");
}

inline int run_all(int argc, char** argv) {
  int num_passed = 0, num_failed = 0;
  for (const Case& test : cases()) {
    const std::string name = std::string(test.suite) + "." + test.name;
    if (argc > 1 && name.find(argv[1]) == std::string::npos) continue;
    const int before = num_failed_checks();
    try {
      test.run();
    } catch (const std::exception& error) {
      fail(name.c_str(), 0, std::string("uncaught: ") + error.what());
    }
    const bool is_good = num_failed_checks() == before;
    (is_good ? num_passed : num_failed) += 1;
    if (!is_good) std::fprintf(stderr, "FAILED %s\n", name.c_str());
  }
  std::printf("%d passed, %d failed\n", num_passed, num_failed);
  return num_failed == 0 && num_passed > 0 ? 0 : 1;
}

}  // namespace dj_test

#define TEST(suite, name)                                        \
  static void dj_test_##suite##_##name();                        \
  [[maybe_unused]] static const bool dj_added_##suite##_##name = \
      ::dj_test::add(#suite, #name, &dj_test_##suite##_##name);  \
  static void dj_test_##suite##_##name()

#define CHECK(...)                                                                      \
  do {                                                                                  \
    if (!(__VA_ARGS__)) ::dj_test::fail(__FILE__, __LINE__, "CHECK(" #__VA_ARGS__ ")"); \
  } while (0)

#define CHECK_EQ(got, ...)                                                                    \
  ::dj_test::check_eq((got), (__VA_ARGS__), "CHECK_EQ(" #got ", " #__VA_ARGS__ ")", __FILE__, \
                      __LINE__)

#define CHECK_THROWS(expression, kind, part)                                                    \
  ::dj_test::check_throws([&] { (void)(expression); }, ::deep_jit::exception::Kind::kind, part, \
                          "CHECK_THROWS(" #expression ")", __FILE__, __LINE__)

// Ends the test: what it needs is not here. The reason is printed, never silent.
#define SKIP(reason)                                      \
  do {                                                    \
    std::fprintf(stderr, "SKIPPED here: %s\n", (reason)); \
    return;                                               \
  } while (0)

#define CHECK_MAIN() \
  int main(int argc, char** argv) { return ::dj_test::run_all(argc, argv); }
