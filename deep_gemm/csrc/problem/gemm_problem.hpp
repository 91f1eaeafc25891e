// A dense GEMM as plain facts: d[m,n] = alpha * a[m,k] @ b[n,k]^T (+ c[m,n]), with or without
// scales.
//   GemmProblem p{.m = 64, .n = 512, .k = 256, .a = {ElementType::E4m3, Major::K, 256}, ...};
//   p == q;  p.hash();  p.to_string();
// nn, tn and tt are the same problem with other majors. A value that ops/ made is valid. Leaves
// addresses and the value of alpha to launch/, as neither changes the plan.
#pragma once

#include <cstdint>
#include <string>

#include <deep_gemm/abi/host_gemm.h>

namespace deep_gemm {

struct GemmOperand {
  ElementType type = ElementType::Bf16;
  Major major = Major::K;
  std::int64_t stride_bytes = 0;  // of the direction that is not contiguous

  friend bool operator==(const GemmOperand&, const GemmOperand&) = default;
};

struct GemmScale {
  ScaleType type = ScaleType::None;
  std::int64_t gran_mn = 1, gran_k = 128;
  std::int64_t stride_mn = 0, stride_k = 0;  // elements

  friend bool operator==(const GemmScale&, const GemmScale&) = default;
};

enum class Accumulate : int { None = 0, InPlace = 1, FromC = 2 };

struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  GemmOperand a, b;
  GemmScale a_scale, b_scale;
  OutputType d_type = OutputType::Bf16;
  std::int64_t d_stride = 0, c_stride = 0;  // rows, elements
  Accumulate accumulate = Accumulate::None;
  bool has_alpha = false;
  int alignment = 16;    // of the less aligned address of a and b; 16 at most
  int d_alignment = 16;  // of the less aligned address of d and c
  bool is_meta = false;  // described, not given: nothing can be launched

  bool is_scaled() const { return a_scale.type != ScaleType::None; }
  std::uint64_t hash() const;
  std::string to_string() const;
  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};

}  // namespace deep_gemm
