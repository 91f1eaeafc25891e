// CUDA plans and addresses into the kernels' one parameter.
#include <cstring>

#include <deep_jit/backend/cuda/tensor_map.hpp>

#include <deep_gemm/csrc/launch/hc_launch.hpp>
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/source/hc_source.hpp>

namespace deep_gemm {
namespace {

namespace cuda = deep_jit::cuda;

class PreparedPortableHc final : public PreparedHc {
 public:
  PreparedPortableHc(const HcProblem& problem, const PortableHcPlan& plan, int index, bool pdl)
      : params_(hc_flat_params(problem)), kernel_(compile_cuda(source_of(HcPlan(plan)), index)) {
    options_.num_smem_bytes = plan.smem_bytes;
    options_.grid_dim = cuda::Dim3(plan.grid_x, plan.grid_y);
    options_.block_dim = cuda::Dim3(plan.threads);
    options_.enable_pdl = pdl;
  }

  bool launch(const HcAddresses& at) const override {
    HcFlatParams params = params_;
    params.a = at.a;
    params.b = at.b;
    params.d = at.d;
    params.sqr_sum = at.sqr_sum;
    kernel_->launch(options_, params);
    return true;
  }

 private:
  HcFlatParams params_;
  std::shared_ptr<cuda::Kernel> kernel_;
  cuda::LaunchOptions options_;
};

// A row-major matrix; the box is what one copy brings to shared memory.
CUtensorMap matrix_map(std::string_view name, CUtensorMapDataType type, const void* data,
                       std::int64_t rows, std::int64_t k, std::int64_t stride_bytes, int box_rows,
                       CUtensorMapSwizzle swizzle) {
  const cuda::TensorMapDesc desc{
      .name = name,
      .dtype = type,
      .sizes = {static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(rows)},
      .strides_bytes = {static_cast<std::uint64_t>(stride_bytes)},
      .box = {64, static_cast<std::uint32_t>(box_rows)},
      .swizzle = swizzle};
  return cuda::encode_tensor_map(desc, data);
}

void put_map(TensorMap& slot, const CUtensorMap& prepared, const void* data) {
  CUtensorMap map = prepared;
  static_assert(sizeof slot == sizeof map);
  cuda::patch_tensor_map(map, data);
  std::memcpy(&slot, &map, sizeof slot);
}

class PreparedSm90Hc final : public PreparedHc {
 public:
  PreparedSm90Hc(const HcProblem& p, const Sm90HcPlan& plan, int index, bool pdl,
                 const HcAddresses& at)
      : kernel_(compile_cuda(source_of(HcPlan(plan)), index)),
        a_(matrix_map("a", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, at.a, p.m, p.k, p.a_stride * 2,
                      64 * plan.config.math_warpgroups, CU_TENSOR_MAP_SWIZZLE_128B)),
        b_(matrix_map("b", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, at.b, p.n, p.k, p.b_stride * 4,
                      plan.config.n, CU_TENSOR_MAP_SWIZZLE_NONE)) {
    params_.m = static_cast<int>(p.m);
    const std::int64_t k_blocks = (p.k + 63) / 64;
    params_.split_blocks = static_cast<int>(k_blocks / p.splits);
    params_.split_extra = static_cast<int>(k_blocks % p.splits);
    params_.tiles = plan.tiles;
    params_.b_stride = p.b_stride;
    params_.lanes = plan.lanes;
    options_.num_smem_bytes = plan.smem_bytes;
    options_.grid_dim = cuda::Dim3(plan.config.cluster * p.splits, plan.lanes);
    options_.block_dim = cuda::Dim3(plan.threads);
    options_.cluster_dim = cuda::Dim3(plan.config.cluster);
    options_.nonportable_cluster_size_allowed = plan.config.cluster > 8;
    options_.enable_pdl = pdl;
  }

  bool launch(const HcAddresses& at) const override {
    HcParams params = params_;
    put_map(params.a, a_, at.a);
    put_map(params.b, b_, at.b);
    params.d = at.d;
    params.sqr_sum = at.sqr_sum;
    params.b_data = at.b;
    kernel_->launch(options_, params);
    return true;
  }

 private:
  HcParams params_{};
  std::shared_ptr<cuda::Kernel> kernel_;
  CUtensorMap a_, b_;
  cuda::LaunchOptions options_;
};

}  // namespace

std::shared_ptr<const PreparedHc> prepare_cuda_hc(const HcProblem& problem, const HcPlan& plan,
                                                  int index, bool pdl, const HcAddresses& at) {
  if (const auto* portable = std::get_if<PortableHcPlan>(&plan))
    return std::make_shared<PreparedPortableHc>(problem, *portable, index, pdl);
  return std::make_shared<PreparedSm90Hc>(problem, std::get<Sm90HcPlan>(plan), index, pdl, at);
}

}  // namespace deep_gemm
