// Which compiler serves this process: bisheng where it is found, aclrtc otherwise or when asked
// for, and every reason on the way.
//
//   ascend::CompilerChoice choice(env);
//   choice.get()->compile(request);      // throws Toolchain with the verdict when there is none
//   choice.report();                     // printable; compiles nothing
//
// JIT_COMPILER=bisheng|aclrtc forces one. The environment is read at every call and the search
// repeated only when what it reads has changed. Leaves places to toolkit.hpp.
#pragma once

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <deep_jit/backend/ascend/compiler_aclrtc.hpp>
#include <deep_jit/backend/ascend/compiler_bisheng.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

class CompilerChoice {
 public:
  explicit CompilerChoice(const Env& env) : env_(env) {}

  std::shared_ptr<Compiler> get() {
    const std::lock_guard<std::mutex> guard(mutex_);
    refresh();
    if (compiler_ == nullptr) compiler_ = choose();
    return compiler_;
  }

  std::string report() {
    const std::lock_guard<std::mutex> guard(mutex_);
    refresh();
    std::string text =
        str::format("compiler: {}\n", wish_.empty() ? "automatic: bisheng, else aclrtc" : wish_);
    return text + verdict_.print();
  }

 private:
  void refresh() {
    std::string wish = env_.get_or<std::string>("JIT_COMPILER", "");
    if (!wish.empty() && wish != "bisheng" && wish != "aclrtc") {
      DJ_FAIL(kInvalidArgument,
              "ascend: compile: JIT_COMPILER: given '{}'.\n"
              "  Rule COMPILER_NAME: it is bisheng or aclrtc.\n"
              "  Fix: unset it for the automatic choice.",
              wish);
    }
    std::string now = wish + '\n' + env_.get_or<std::string>("JIT_BISHENG_COMPILER", "");
    for (const char* name : {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}) {
      const char* value = std::getenv(name);
      now += std::string("\n") + (value == nullptr ? "" : value);
    }
    // A machine without a toolkit is looked at again: one may have been mounted.
    if (is_searched_ && now == fingerprint_ && compiler_ != nullptr) return;
    wish_ = std::move(wish);
    verdict_ = find_toolkits(SearchPlaces::of_process(env_));
    compiler_ = nullptr;
    fingerprint_ = std::move(now);
    is_searched_ = true;
  }

  std::shared_ptr<Compiler> choose() {
    std::string why;
    if (const Toolkit* found = verdict_.bisheng(); found != nullptr && wish_ != "aclrtc")
      return std::make_shared<BishengCompiler>(*found);
    if (const Toolkit* found = verdict_.aclrtc(); found != nullptr && wish_ != "bisheng") {
      try {
        return std::make_shared<AclrtcCompiler>(*found);
      } catch (const exception::Exception& error) {
        why = error.message() + "\n";
      }
    }
    DJ_FAIL(kToolchain,
            "ascend: compile: compiler: given {}, and none is usable.\n"
            "  Rule COMPILER_PRESENT: bisheng with its ld.lld, or aclrtc, is on this machine.\n"
            "  Fix: install CANN's toolkit and source its set_env.sh, or use a pack made with "
            "precompile.\n{}{}",
            wish_.empty() ? "the automatic choice" : wish_, why, verdict_.print());
  }

  const Env env_;
  std::mutex mutex_;
  Verdict verdict_;
  std::string wish_;
  std::shared_ptr<Compiler> compiler_;
  std::string fingerprint_;
  bool is_searched_ = false;
};

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
