// A CUDA plan and addresses into the kernel's one parameter.
#include <bit>

#include <deep_gemm/csrc/launch/gemm_launch.hpp>
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/launch/portable_params.hpp>
#include <deep_gemm/csrc/launch/tensor_maps.hpp>
#include <deep_gemm/csrc/plan/gemm_plan_cuda.hpp>
#include <deep_gemm/csrc/source/gemm_source.hpp>

namespace deep_gemm {
namespace {

using deep_jit::cuda::Kernel;
using deep_jit::cuda::LaunchOptions;

LaunchOptions options_of(std::uint32_t grid, int num_threads, int smem_bytes, int cluster,
                         const Knobs& knobs) {
  LaunchOptions options;
  options.grid_dim = grid;
  options.block_dim = static_cast<unsigned>(num_threads);
  options.num_smem_bytes = smem_bytes;
  if (cluster > 1) options.cluster_dim = static_cast<unsigned>(cluster);
  options.enable_pdl = knobs.pdl != 0;
  return options;
}

class PreparedPortableGemm final : public PreparedGemm {
 public:
  PreparedPortableGemm(const GemmProblem& problem, const PortableGemmPlan& plan, const Knobs& knobs,
                       int device)
      : params_(portable_params(problem, plan)),
        options_(options_of(plan.grid, plan.num_threads, plan.smem_bytes, 1, knobs)),
        kernel_(compile_cuda(source_of(GemmPlan(plan)), device)) {}

  bool launch(const GemmAddresses& at) const override {
    PortableGemmParams params = params_;
    set_addresses(params, at);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  PortableGemmParams params_;
  LaunchOptions options_;
  std::shared_ptr<Kernel> kernel_;
};

GemmParams sm90_params(const GemmProblem& p, const Sm90GemmPlan& plan, const GemmAddresses& at) {
  const TileConfig& t = plan.tile;
  GemmParams params{};
  params.a = operand_map("a", at.a, p.a, p.m, p.k, plan::sm90_a_box_rows(t, p.m));
  params.b =
      operand_map("b", at.b, p.b, p.n, p.k, t.block_n / (t.share == Share::B ? t.cluster : 1));
  constexpr int kStoreRows = 16;
  const std::int64_t d_bytes = p.d_type == OutputType::F32 ? 4 : 2;
  params.d =
      matrix_map("d", {at.d, map_type(p.d_type), p.m, p.n, p.d_stride * d_bytes}, kStoreRows, true);
  params.d_row = p.d_stride;
  params.a_scale_row = p.a_scale.stride_mn;
  params.a_scale_k = p.a_scale.stride_k;
  params.b_scale_block = p.b_scale.stride_mn;
  params.b_scale_k = p.b_scale.stride_k;
  params.m = static_cast<int>(p.m);
  params.n = static_cast<int>(p.n);
  params.k = static_cast<int>(p.k);
  params.num_groups = 1;
  params.band = plan.band;
  params.slot_bytes = plan::sm90_slot_bytes(t, p.m);
  const bool is_row_vector = p.a_scale.stride_k == 1 && p.a_scale.stride_mn % 4 == 0;
  params.a_scale_vector = is_row_vector && p.k % 512 == 0 ? 1 : 0;
  return params;
}

class PreparedSm90Gemm final : public PreparedGemm {
 public:
  PreparedSm90Gemm(const GemmProblem& problem, const Sm90GemmPlan& plan, const Knobs& knobs,
                   int device, const GemmAddresses& at)
      : params_(sm90_params(problem, plan, at)),
        options_(
            options_of(plan.grid, plan.num_threads, plan.smem_bytes, plan.tile.cluster, knobs)),
        kernel_(compile_cuda(source_of(GemmPlan(plan)), device)) {}

  bool launch(const GemmAddresses& at) const override {
    GemmParams params = params_;
    move_map(params.a, at.a);
    move_map(params.b, at.b);
    move_map(params.d, at.d);
    params.d_data = at.d;
    params.c = at.c;
    params.a_scale = static_cast<const float*>(at.a_scale);
    params.b_scale = static_cast<const float*>(at.b_scale);
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

std::shared_ptr<const PreparedGemm> prepare_cuda_gemm(const GemmProblem& problem,
                                                      const GemmPlan& plan, const Knobs& knobs,
                                                      int device, const GemmAddresses& addresses) {
  if (const auto* tuned = std::get_if<Sm90GemmPlan>(&plan))
    return std::make_shared<PreparedSm90Gemm>(problem, *tuned, knobs, device, addresses);
  return std::make_shared<PreparedPortableGemm>(problem, std::get<PortableGemmPlan>(plan), knobs,
                                                device);
}

}  // namespace deep_gemm
