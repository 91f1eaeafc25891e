// What the user wishes, as one value: read once per call, passed down, part of the plan's key.
// Python holds the wishes; utils/state.hpp keeps the last that it pushed. Field meanings:
// control.h.
#pragma once

#include <cstdint>

namespace deep_gemm {

struct Knobs {
  std::int32_t num_sms = 0;
  std::int32_t pdl = 0;
  std::int32_t tc_util = 0;
  std::int32_t deterministic = 0;
  std::int32_t batch_invariant = 0;
  std::int32_t mk_alignment = 0;
  std::int32_t block_m_multiple = 0;
  std::int32_t block_n_multiple = 0;
  std::int32_t ignore_compile_dims = 0;
  std::int32_t check = 0;
  std::int32_t num_threads = 0;

  friend bool operator==(const Knobs&, const Knobs&) = default;
};

}  // namespace deep_gemm
