// Whole numbers of blocks.
//   ceil_div(130, 128) == 2;  round_up(130, 128) == 256;
#pragma once

#include <cstdint>

namespace deep_gemm {

constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t by) { return (x + by - 1) / by; }
constexpr std::int64_t round_up(std::int64_t x, std::int64_t to) { return ceil_div(x, to) * to; }

}  // namespace deep_gemm
