// A CUDA plan and addresses into the kernel's one parameter. Layouts are read on the device.
#include <bit>

#include <deep_gemm/csrc/launch/grouped_launch.hpp>
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/launch/portable_params.hpp>
#include <deep_gemm/csrc/launch/tensor_maps.hpp>
#include <deep_gemm/csrc/source/grouped_source.hpp>

namespace deep_gemm {
namespace {

using deep_jit::cuda::Kernel;
using deep_jit::cuda::LaunchOptions;

template <class Plan>
LaunchOptions options_of(const Plan& plan, const Knobs& knobs) {
  LaunchOptions options;
  options.grid_dim = plan.grid;
  options.block_dim = static_cast<unsigned>(plan.num_threads);
  options.num_smem_bytes = plan.smem_bytes;
  options.enable_pdl = knobs.pdl != 0;
  return options;
}

PortableGemmParams grouped_params(const GroupedProblem& p, const PortableGroupedPlan& plan) {
  PortableGemmParams params = portable_params(p.gemm, plan.gemm);
  params.a.group = p.a_group;
  params.b.group = p.b_group;
  params.a_scale.group = p.a_scale_group;
  params.b_scale.group = p.b_scale_group;
  params.d_group = params.c_group = p.d_group;
  params.num_groups = static_cast<int>(p.num_groups);
  params.alignment = p.grouping == Grouping::Sizes ? 0 : static_cast<int>(p.alignment);
  params.covers_gaps = (p.is_along_k() ? p.scales_aligned : p.zero_padding) ? 1 : 0;
  return params;
}

class PreparedPortableGrouped final : public PreparedGrouped {
 public:
  PreparedPortableGrouped(const GroupedProblem& problem, const PortableGroupedPlan& plan,
                          const Knobs& knobs, int device)
      : params_(grouped_params(problem, plan)),
        options_(options_of(plan.gemm, knobs)),
        kernel_(compile_cuda(source_of(GroupedPlan(plan)), device)) {}

  bool launch(const GroupedAddresses& at) const override {
    PortableGemmParams params = params_;
    set_addresses(params, at);
    params.layout = at.layout;
    kernel_->launch(options_, params);
    return true;
  }

 private:
  PortableGemmParams params_;
  LaunchOptions options_;
  std::shared_ptr<Kernel> kernel_;
};

GemmParams sm90_params(const GroupedProblem& p, const Sm90GemmPlan& plan,
                       const GroupedAddresses& at) {
  const GemmProblem& g = p.gemm;
  const bool is_masked = p.grouping == Grouping::Counts;
  const std::int64_t a_rows = is_masked ? p.num_groups * g.m : g.m;
  constexpr int kStoreRows = 16;
  GemmParams params{};
  params.a = operand_map("a", at.a, g.a, a_rows, g.k, plan.tile.block_m);
  if (p.is_along_k()) {
    params.b = operand_map("b", at.b, g.b, g.n, g.k, plan.tile.block_n);
  } else if (g.b.type == ElementType::Bf16) {
    params.b = operand_map("b", at.b, g.b, g.n, g.k, plan.tile.block_n, p.num_groups, p.b_group);
  } else {
    params.b = operand_map("b", at.b, g.b, p.num_groups * g.n, g.k, plan.tile.block_n);
  }
  const std::int64_t d_bytes = g.d_type == OutputType::F32 ? 4 : 2;
  params.d = matrix_map("d",
                        {at.d, map_type(g.d_type), g.m, g.n, g.d_stride * d_bytes,
                         is_masked || p.is_along_k() ? p.num_groups : 1, p.d_group * d_bytes},
                        kStoreRows, true);
  params.a_scale_row = g.a_scale.stride_mn;
  params.a_scale_k = g.a_scale.stride_k;
  params.a_scale_group = p.a_scale_group;
  params.b_scale_block = g.b_scale.stride_mn;
  params.b_scale_k = g.b_scale.stride_k;
  params.b_scale_group = p.b_scale_group;
  params.m = static_cast<int>(g.m);
  params.n = static_cast<int>(g.n);
  params.k = static_cast<int>(g.k);
  params.num_groups = static_cast<int>(p.num_groups);
  params.band = plan.band;
  params.d_row = g.d_stride;
  params.d_group = p.d_group;
  params.k_alignment = p.grouping == Grouping::KEnds ? static_cast<int>(p.alignment) : 0;
  const bool is_row_vector =
      g.a_scale.stride_k == 1 && g.a_scale.stride_mn % 4 == 0 && p.a_scale_group % 4 == 0;
  params.a_scale_vector = is_row_vector && g.k % 512 == 0 ? 1 : 0;
  return params;
}

class PreparedSm90Grouped final : public PreparedGrouped {
 public:
  PreparedSm90Grouped(const GroupedProblem& problem, const Sm90GroupedPlan& plan,
                      const Knobs& knobs, int device, const GroupedAddresses& at)
      : params_(sm90_params(problem, plan.gemm, at)),
        options_(options_of(plan.gemm, knobs)),
        kernel_(compile_cuda(source_of(GroupedPlan(plan)), device)) {}

  bool launch(const GroupedAddresses& at) const override {
    GemmParams params = params_;
    move_map(params.a, at.a);
    move_map(params.b, at.b);
    move_map(params.d, at.d);
    params.d_data = at.d;
    params.c = at.c;
    params.a_scale = static_cast<const float*>(at.a_scale);
    params.b_scale = static_cast<const float*>(at.b_scale);
    params.layout = at.layout;
    constexpr std::uintptr_t kVectorBytes = 16;
    if (std::bit_cast<std::uintptr_t>(at.a_scale) % kVectorBytes != 0) params.a_scale_vector = 0;
    kernel_->launch(options_, params);
    return true;
  }

 private:
  GemmParams params_;
  LaunchOptions options_;
  std::shared_ptr<Kernel> kernel_;
};

}  // namespace

std::shared_ptr<const PreparedGrouped> prepare_cuda_grouped(const GroupedProblem& problem,
                                                            const GroupedPlan& plan,
                                                            const Knobs& knobs, int device,
                                                            const GroupedAddresses& addresses) {
  if (const auto* tuned = std::get_if<Sm90GroupedPlan>(&plan))
    return std::make_shared<PreparedSm90Grouped>(problem, *tuned, knobs, device, addresses);
  return std::make_shared<PreparedPortableGrouped>(problem, std::get<PortableGroupedPlan>(plan),
                                                   knobs, device);
}

}  // namespace deep_gemm
