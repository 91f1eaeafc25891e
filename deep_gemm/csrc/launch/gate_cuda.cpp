// A CUDA plan and addresses into the kernel's one parameter.
#include <deep_gemm/csrc/launch/gate_launch.hpp>
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/source/gate_source.hpp>

namespace deep_gemm {
namespace {

class PreparedCudaGate final : public PreparedGate {
 public:
  PreparedCudaGate(const GateProblem& problem, const PortableGatePlan& plan, int device,
                   const Knobs& knobs)
      : params_(params_of(problem)), kernel_(compile_cuda(source_of(GatePlan(plan)), device)) {
    options_.grid_dim = deep_jit::cuda::Dim3(plan.grid);
    options_.block_dim = deep_jit::cuda::Dim3(kGateThreads);
    options_.enable_pdl = knobs.pdl != 0;
  }

  bool launch(const GateAddresses& addresses) const override {
    GateParams params = params_;
    put_addresses(params, addresses);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  GateParams params_;
  std::shared_ptr<deep_jit::cuda::Kernel> kernel_;
  deep_jit::cuda::LaunchOptions options_;
};

}  // namespace

std::shared_ptr<const PreparedGate> prepare_cuda_gate(const GateProblem& problem,
                                                      const PortableGatePlan& plan, int device,
                                                      const Knobs& knobs) {
  return std::make_shared<PreparedCudaGate>(problem, plan, device, knobs);
}

}  // namespace deep_gemm
