// Which compiler serves this process: NVRTC where it is found, nvcc otherwise or when asked for,
// and every reason on the way.
//
//   cuda::CompilerChoice choice(config, env);
//   choice.get().compile(request);       // throws Toolchain with both verdicts when there is none
//   choice.report();                     // printable; compiles nothing
//
// JIT_COMPILER=nvcc|nvrtc forces one; JIT_USE_NVRTC=1 forces NVRTC, 0 or unset is automatic. The
// environment is read at every call and the search repeated only when what it reads has changed.
// Leaves targets to backend.hpp.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include <deep_jit/backend/cuda/compiler_nvcc.hpp>
#include <deep_jit/backend/cuda/compiler_nvrtc.hpp>
#include <deep_jit/backend/cuda/toolkit_search.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

class CompilerChoice {
 public:
  CompilerChoice(const Config& config, const Env& env) : config_(config), env_(env) {}

  std::shared_ptr<Compiler> get() {
    const std::lock_guard lock(mutex_);
    refresh();
    return choose();
  }

  // As get(), with everything done that can fail before a compile: an NVRTC that does not load is
  // refused here and the next one tried.
  std::shared_ptr<Compiler> get_prepared() {
    const std::lock_guard lock(mutex_);
    refresh();
    for (;;) {
      const std::shared_ptr<Compiler> compiler = choose();
      try {
        compiler->prepare();
        return compiler;
      } catch (const exception::Exception& error) {
        refuse_chosen(error.message());
      }
    }
  }

  std::string report() {
    const std::lock_guard lock(mutex_);
    refresh();
    std::string text = str::format("compiler: {}\n", wish_text());
    try {
      const auto compiler = choose();
      text += str::format("chosen: {} {} at {}\n", compiler->name(), compiler->version(),
                          compiler->path().string());
    } catch (const exception::Exception&) {
      text += "chosen: none\n";
    }
    return text + nvrtc_.print() + nvcc().print();
  }

  const SearchPlaces& places() const { return places_; }

 private:
  enum class Wish { kAutomatic, kNvrtc, kNvcc };

  Wish read_wish() const {
    if (const auto forced = env_.get<std::string>("JIT_COMPILER"); forced && !forced->empty()) {
      if (*forced == "nvrtc") return Wish::kNvrtc;
      if (*forced == "nvcc") return Wish::kNvcc;
      DJ_FAIL(kInvalidArgument,
              "cuda: compile: JIT_COMPILER: given '{}'.\n"
              "  Rule COMPILER_NAME: it is nvcc or nvrtc.\n"
              "  Fix: unset it for the automatic choice.",
              *forced);
    }
    return env_.get<bool>("JIT_USE_NVRTC").value_or(false) ? Wish::kNvrtc : Wish::kAutomatic;
  }

  std::string wish_text() const {
    switch (wish_) {
      case Wish::kNvrtc:
        return "NVRTC, as the environment asks";
      case Wish::kNvcc:
        return "nvcc, as the environment asks";
      default:
        return "automatic: NVRTC, else nvcc";
    }
  }

  // Everything the search reads from the environment, as one text.
  std::string fingerprint() const {
    std::string text;
    for (const char* name : {"JIT_NVCC_COMPILER", "JIT_NVRTC_LIBRARY"})
      text += env_.get<std::string>(name).value_or("") + '\n';
    for (const char* name :
         {"CUDA_HOME", "CUDA_PATH", "PATH", "CONDA_PREFIX", "PYTHONPATH", "VIRTUAL_ENV"}) {
      text += detail::getenv_text(name) + '\n';
    }
    return text;
  }

  void refresh() {
    wish_ = read_wish();
    std::string now = fingerprint();
    if (is_searched_ && now == fingerprint_) return;
    places_ = SearchPlaces::of_process(config_, env_);
    nvrtc_ = find_nvrtc(places_);
    is_nvcc_searched_ = false;
    nvrtc_compiler_ = nullptr;
    nvcc_compiler_ = nullptr;
    fingerprint_ = std::move(now);
    is_searched_ = true;
  }

  // Searched only where NVRTC does not serve or somebody asks: a disk hit pays for each look.
  Verdict& nvcc() {
    if (!is_nvcc_searched_) nvcc_ = find_nvcc(places_);
    is_nvcc_searched_ = true;
    return nvcc_;
  }

  template <class C>
  static std::shared_ptr<Compiler> build(Verdict& verdict, std::shared_ptr<Compiler>& built) {
    if (built != nullptr) return built;
    for (Candidate& candidate : verdict.candidates) {
      if (!candidate.refused.empty()) continue;
      try {
        built = std::make_shared<C>(candidate);
        return built;
      } catch (const exception::Exception& error) {
        candidate.refused = error.message();
      }
    }
    return nullptr;
  }

  std::shared_ptr<Compiler> choose() {
    if (wish_ != Wish::kNvcc) {
      if (auto compiler = build<NvrtcCompiler>(nvrtc_, nvrtc_compiler_)) return compiler;
    }
    if (wish_ != Wish::kNvrtc) {
      if (auto compiler = build<NvccCompiler>(nvcc(), nvcc_compiler_)) {
        if (wish_ == Wish::kAutomatic && !is_fallback_said_) {
          is_fallback_said_ = true;
          std::fprintf(stderr, "cuda: no NVRTC is usable, compiling with nvcc %s instead\n",
                       compiler->path().c_str());
        }
        return compiler;
      }
    }
    DJ_FAIL(kToolchain,
            "cuda: compile: compiler: given {}, and none is usable.\n"
            "  Rule COMPILER_PRESENT: NVRTC or nvcc of {} or newer is on this machine.\n"
            "  Fix: pip install nvidia-cuda-nvrtc, or use a pack made with precompile.\n{}{}",
            wish_text(), version_text(kOldestToolkit), nvrtc_.print(), nvcc().print());
  }

  void refuse_chosen(const std::string& why) {
    std::shared_ptr<Compiler>& built =
        nvrtc_compiler_ != nullptr ? nvrtc_compiler_ : nvcc_compiler_;
    Verdict& verdict = nvrtc_compiler_ != nullptr ? nvrtc_ : nvcc();
    for (Candidate& candidate : verdict.candidates) {
      if (!candidate.refused.empty()) continue;
      candidate.refused = why;
      break;
    }
    built = nullptr;
  }

  Config config_;
  Env env_;
  std::mutex mutex_;
  SearchPlaces places_;
  Verdict nvrtc_, nvcc_;
  std::shared_ptr<Compiler> nvrtc_compiler_, nvcc_compiler_;
  Wish wish_ = Wish::kAutomatic;
  std::string fingerprint_;
  bool is_searched_ = false, is_nvcc_searched_ = false;
  bool is_fallback_said_ = false;
};

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
