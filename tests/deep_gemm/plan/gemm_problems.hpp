// Dense problems and GPUs that tests of plans ask about.
//   plan_gemm(dj_test::scaled(64, 7168, 2048), dj_test::gpu(90), {});
#pragma once

#include <cstdint>
#include <string>

#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/problem/gemm_problem.hpp>

namespace dj_test {

using namespace deep_gemm;

inline GemmProblem scaled(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p;
  p.m = m, p.n = n, p.k = k;
  p.a = p.b = {ElementType::E4m3, Major::K, (k + 15) / 16 * 16};
  p.a_scale = {ScaleType::F32, 1, 128, (k + 127) / 128, 1};
  p.b_scale = {ScaleType::F32, 128, 128, (k + 127) / 128, 1};
  p.d_stride = (n + 7) / 8 * 8;
  return p;
}

inline GemmProblem plain(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p;
  p.m = m, p.n = n, p.k = k;
  p.a = p.b = {ElementType::Bf16, Major::K, (2 * k + 15) / 16 * 16};
  p.d_stride = n;
  return p;
}

inline GemmProblem by_rows(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p = scaled(m, n, k);
  p.b_scale.gran_mn = 1;
  p.d_type = OutputType::F32;
  p.accumulate = Accumulate::InPlace;
  return p;
}

// Weight gradients: both operands run along m or n, and d is added to.
inline GemmProblem turned(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p = plain(m, n, k);
  p.a = {ElementType::Bf16, Major::Mn, (2 * m + 15) / 16 * 16};
  p.b = {ElementType::Bf16, Major::Mn, (2 * n + 15) / 16 * 16};
  p.d_type = OutputType::F32;
  p.accumulate = Accumulate::InPlace;
  return p;
}

inline DeviceTraits gpu(int compute) {
  DeviceTraits t;
  t.kind = DeviceTraits::Kind::Cuda;
  t.compute = compute;
  t.arch = compute == 90 ? "90a" : std::to_string(compute);
  t.num_sms = compute == 90 ? 132 : compute == 80 ? 108 : 84;
  t.smem_bytes = compute == 90 ? 232448 : compute == 80 ? 166912 : 101376;
  return t;
}

}  // namespace dj_test
