#include <deep_gemm/csrc/launch/portable_params.hpp>

#include <bit>

namespace deep_gemm {
namespace {

int log2_of(std::int64_t power) { return std::countr_zero(static_cast<std::uint64_t>(power)); }

PortableScale scale_of(const GemmScale& s, int scale_k) {
  PortableScale scale{};
  scale.type = s.type;
  if (s.type == ScaleType::None) return scale;
  scale.stride_mn = s.stride_mn;
  scale.stride_k = s.stride_k;
  scale.mn_shift = log2_of(s.gran_mn);
  scale.k_shift = log2_of(s.gran_k / scale_k);
  return scale;
}

}  // namespace

PortableGemmParams portable_params(const GemmProblem& p, const PortableGemmPlan& plan) {
  PortableGemmParams params{};
  params.a.stride = p.a.stride_bytes;
  params.b.stride = p.b.stride_bytes;
  params.a_scale = scale_of(p.a_scale, plan.config.scale_k);
  params.b_scale = scale_of(p.b_scale, plan.config.scale_k);
  params.d_stride = p.d_stride;
  params.c_stride = p.accumulate == Accumulate::FromC ? p.c_stride : p.d_stride;
  params.m = static_cast<int>(p.m);
  params.n = static_cast<int>(p.n);
  params.k = static_cast<int>(p.k);
  params.num_groups = 1;
  params.band = plan.band;
  params.alpha = 1.0f;
  params.d_type = p.d_type;
  const int pair_bytes = p.d_type == OutputType::F32 ? 8 : 4;
  params.d_pairs = p.d_alignment >= pair_bytes && p.d_stride % 2 == 0 ? 1 : 0;
  return params;
}

}  // namespace deep_gemm
