// compile() gives the right kernel whichever one system call of the cache fails.
#include <deep_jit/runtime/runtime.hpp>

#include <string>

#include "tests/deepjit_core/cache/fault_seams.hpp"
#include "tests/deepjit_core/runtime/fake_backend.hpp"
#include "tests/support/check.hpp"

using namespace fault_seams;
using Jit = deep_jit::Runtime<FakeBackend>;

namespace {

// Empty: the kernel is right. `dir` may hold an entry already.
std::string problem_of(const TestDir& dir) {
  try {
    const std::string text = Jit(dir.config()).compile("k", "source")->text;
    return text == "source" ? "" : "the kernel holds \"" + text + "\"";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

TEST(RuntimeFaults, ColdAndWarmCompilesSurviveEveryFailingCall) {
  reset_fake();
  for (const Seam& seam : kSeams) {
    for (const bool is_warm : {false, true}) {
      int num_places = 1;
      for (int nth = 0; nth <= num_places; ++nth) {
        for (const int error : {EIO, ENOSPC, EACCES, EROFS, ESTALE, EINTR, EMFILE}) {
          TestDir dir;
          if (is_warm) Jit(dir.config()).compile("k", "source");
          fail_nth(seam, nth, error);
          const std::string problem = problem_of(dir);
          if (nth == 0) num_places = num_calls;
          mend();
          if (!problem.empty())
            dj_test::fail(__FILE__, __LINE__,
                          std::string(seam.name) + " call " + std::to_string(nth) + " errno " +
                              std::to_string(error) + (is_warm ? " warm: " : " cold: ") + problem);
          CHECK(problem_of(dir).empty());
        }
      }
    }
  }
}

CHECK_MAIN()
