// Tensor maps of matrices as the Hopper kernels want them: 128-byte swizzle, 256 bytes of L2.
//   TensorMap map = matrix_map("a", {.address = a, .rows = m, .columns = k, .stride = k}, 128);
//   move_map(map, other);          // the same matrix elsewhere: what a warm launch does
// Leaves which box a tile needs to the planner and the kernel.
#pragma once

#include <cstdint>
#include <string_view>

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/abi/gemm_types.h>

namespace deep_gemm {

struct MapMatrix {
  const void* address = nullptr;
  ElementType type = ElementType::E4m3;       // E2m1: as bytes of two
  std::int64_t rows = 0, columns = 0;         // columns are contiguous
  std::int64_t stride = 0;                    // of rows, bytes; any where there is one row
  std::int64_t groups = 1, group_stride = 0;  // bytes
};

// One box: 128 bytes of columns by `box_rows`. Two dimensions, or three of which the last are
// groups.
TensorMap matrix_map(std::string_view name, const MapMatrix& matrix, int box_rows,
                     bool has_groups = false);
void move_map(TensorMap& map, const void* address);

}  // namespace deep_gemm
