#include <deep_gemm/csrc/launch/gate_launch.hpp>

#include <deep_gemm/csrc/launch/jit.hpp>

namespace deep_gemm {
namespace {

std::shared_ptr<const PreparedGate> prepare(const GateProblem& problem, const Placement& placement,
                                            const Knobs& knobs) {
  const GatePlan plan = plan_gate(problem, traits_at(placement));
  if (const auto* host = std::get_if<HostGatePlan>(&plan)) return prepare_host_gate(problem, *host);
  return prepare_cuda_gate(problem, std::get<PortableGatePlan>(plan), placement.index, knobs);
}

}  // namespace

GateParams params_of(const GateProblem& p) {
  GateParams params{};
  params.fixed.words = p.fixed_words;
  params.physical.words = p.map_words;
  params.num_copies.words = p.copies_words;
  params.rows = p.rows;
  params.experts = p.experts;
  params.topk = p.topk;
  params.max_copies = p.max_copies;
  return params;
}

void put_addresses(GateParams& params, const GateAddresses& at) {
  params.logits = static_cast<const float*>(at.logits);
  params.is_kept = static_cast<const unsigned char*>(at.mask);
  params.bias = static_cast<const float*>(at.bias);
  params.image_bias = static_cast<const float*>(at.image_bias);
  params.is_image = static_cast<const unsigned char*>(at.image_mask);
  params.is_fixed = static_cast<const unsigned char*>(at.fixed_mask);
  params.fixed.data = static_cast<const int*>(at.fixed);
  params.physical.data = static_cast<const int*>(at.physical_map);
  params.num_copies.data = static_cast<const int*>(at.num_copies);
  params.indices = static_cast<long long*>(at.indices);
  params.weights = static_cast<float*>(at.weights);
  params.scale = at.scale;
}

bool launch_gate(const GateProblem& problem, const Placement& placement, const Knobs& knobs,
                 const GateAddresses& addresses) {
  return launch_prepared(problem, placement, knobs, addresses,
                         [&] { return prepare(problem, placement, knobs); });
}

}  // namespace deep_gemm
