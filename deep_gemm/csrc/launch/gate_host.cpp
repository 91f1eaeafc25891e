// A host plan and addresses into the kernel's one parameter.
#include <deep_gemm/csrc/launch/gate_launch.hpp>
#include <deep_gemm/csrc/launch/gemm_host.hpp>
#include <deep_gemm/csrc/source/gate_source.hpp>

namespace deep_gemm {
namespace {

class PreparedHostGate final : public PreparedGate {
 public:
  PreparedHostGate(const GateProblem& problem, const HostGatePlan& plan)
      : params_(params_of(problem)), kernel_(compile_host(source_of(GatePlan(plan)))) {
    options_.grid_dim = deep_jit::host::Dim3(plan.grid);
    options_.num_threads = static_cast<std::uint32_t>(plan.num_threads);
  }

  bool launch(const GateAddresses& addresses) const override {
    if (kernel_ == nullptr) return false;
    GateParams params = params_;
    put_addresses(params, addresses);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  GateParams params_;
  std::shared_ptr<deep_jit::host::Kernel> kernel_;  // null: nobody could compile it
  deep_jit::host::LaunchOptions options_;
};

}  // namespace

std::shared_ptr<const PreparedGate> prepare_host_gate(const GateProblem& problem,
                                                      const HostGatePlan& plan) {
  return std::make_shared<PreparedHostGate>(problem, plan);
}

}  // namespace deep_gemm
