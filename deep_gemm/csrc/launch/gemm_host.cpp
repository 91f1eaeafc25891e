// A host plan and addresses into the kernel's one parameter.
#include <cstdlib>
#include <new>

#include <deep_gemm/csrc/launch/gemm_host.hpp>
#include <deep_gemm/csrc/launch/gemm_launch.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/source/gemm_source.hpp>

namespace deep_gemm {
namespace {

using deep_jit::host::Kernel;

class Scratch {
 public:
  ~Scratch() { std::free(data_); }

  void* at_least(std::size_t bytes) {
    if (bytes > bytes_) {
      std::free(data_);
      data_ = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
      bytes_ = data_ == nullptr ? 0 : bytes;
      if (data_ == nullptr) throw std::bad_alloc();
    }
    return data_;
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

HostScale scale_of(const GemmScale& s) {
  return {.data = nullptr,
          .stride_mn = s.stride_mn,
          .stride_k = s.stride_k,
          .gran_mn = s.gran_mn,
          .gran_k = s.gran_k,
          .type = s.type,
          .reserved = 0};
}

class PreparedHostGemm final : public PreparedGemm {
 public:
  PreparedHostGemm(const GemmProblem& problem, const HostGemmPlan& plan,
                   std::shared_ptr<Kernel> kernel)
      : params_(host_gemm_params(problem, plan)), kernel_(std::move(kernel)) {
    options_.grid_dim = deep_jit::host::Dim3(plan.grid_m, plan.grid_n);
    num_threads_ = static_cast<std::uint32_t>(plan.num_threads);
    options_.num_threads = num_threads_;
  }

  bool launch(const GemmAddresses& addresses) const override {
    if (kernel_ == nullptr) return false;
    HostGemmParams params = params_;
    params.a.data = addresses.a;
    params.b.data = addresses.b;
    params.a_scale.data = addresses.a_scale;
    params.b_scale.data = addresses.b_scale;
    params.d = addresses.d;
    params.c = addresses.c;
    params.alpha = addresses.alpha;
    params.workspace =
        host_scratch(static_cast<std::size_t>(params.workspace_bytes) * num_threads_);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  HostGemmParams params_;
  std::shared_ptr<Kernel> kernel_;  // null: nobody could compile it
  deep_jit::host::LaunchOptions options_;
  std::uint32_t num_threads_ = 1;
};

}  // namespace

HostGemmParams host_gemm_params(const GemmProblem& p, const HostGemmPlan& plan) {
  HostGemmParams params{};
  params.a.stride = p.a.stride_bytes;
  params.b.stride = p.b.stride_bytes;
  params.a_scale = scale_of(p.a_scale);
  params.b_scale = scale_of(p.b_scale);
  params.d_stride = p.d_stride;
  params.c_stride = p.accumulate == Accumulate::FromC ? p.c_stride : p.d_stride;
  params.m = p.m;
  params.n = p.n;
  params.k = p.k;
  params.block_m = plan.block_m;
  params.block_n = plan.block_n;
  params.workspace_bytes = plan.workspace_bytes;
  params.d_type = p.d_type;
  return params;
}

void* host_scratch(std::size_t bytes) {
  thread_local Scratch scratch;
  return scratch.at_least(bytes);
}

std::shared_ptr<Kernel> compile_host(const KernelSource& source) {
  try {
    return host_jit().compile(source.name, source.text, host_options(source, {}));
  } catch (const deep_jit::exception::Exception& error) {
    // A compiler that fails is an error; none at all means the reference.
    if (error.kind() != deep_jit::exception::Kind::kToolchain || has_host_compiler(nullptr)) throw;
    return nullptr;
  }
}

std::shared_ptr<const PreparedGemm> prepare_host_gemm(const GemmProblem& problem,
                                                      const HostGemmPlan& plan) {
  return std::make_shared<PreparedHostGemm>(problem, plan, compile_host(source_of(GemmPlan(plan))));
}

}  // namespace deep_gemm
