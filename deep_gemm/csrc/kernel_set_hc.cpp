// The kernels of the hyper-connection product.
#include <deep_gemm/csrc/kernel_set.hpp>
#include <deep_gemm/csrc/ops/hc_check.hpp>
#include <deep_gemm/csrc/plan/hc_plan.hpp>
#include <deep_gemm/csrc/source/hc_source.hpp>

namespace deep_gemm {
namespace {

// Every n up to the most columns of a pass and one beyond, k in whole and in broken steps, and so
// long that no share of it fits the slots of B.
std::vector<HcProblem> any_problems() {
  constexpr std::int64_t kColumns = 32, kWhole = 8192, kLong = 65536;
  std::vector<HcProblem> problems;
  for (std::int64_t n = 1; n <= kColumns + 1; ++n) {
    for (const std::int64_t k : {kWhole, kLong, kWhole + 8}) {
      for (const int alignment : {16, 4}) {
        HcProblem p;
        p.m = 128;
        p.n = n;
        p.k = p.a_stride = p.b_stride = k;
        p.alignment = alignment;
        problems.push_back(p);
      }
    }
  }
  return problems;
}

std::vector<HcProblem> problems_of(const KernelWish& wish) {
  if (wish.is_any_size()) return any_problems();
  std::vector<HcProblem> problems;
  for (const std::int64_t n : wish.n) {
    for (const std::int64_t k : wish.k) {
      for (const std::int64_t m : kProbes) {
        problems.push_back(ops::check_hc({contiguous(DType::BFloat16, {m, k}),
                                          contiguous(DType::Float32, {n, k}),
                                          contiguous(DType::Float32, {m, n}),
                                          contiguous(DType::Float32, {m}),
                                          {}}));
      }
    }
  }
  return problems;
}

void add(const KernelWish& wish, const DeviceTraits& traits, const Knobs& knobs, Kernels& kernels) {
  for (const HcProblem& p : problems_of(wish))
    for (const HcPlan& plan : reachable_hc_plans(p, traits, knobs)) kernels.add(source_of(plan));
}

const KernelSetRegistration registration({
    .ops = {"tf32_hc_prenorm_gemm"},
    .keys = {"n", "k"},
    .add = &add,
});

}  // namespace
}  // namespace deep_gemm
