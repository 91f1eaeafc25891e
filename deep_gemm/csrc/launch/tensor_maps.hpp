// Tensor maps of matrices as the Hopper kernels want them: 128-byte swizzle, 256 bytes of L2.
//   TensorMap map = matrix_map("a", {.address = a, .rows = m, .columns = k, .stride = k}, 128);
//   move_map(map, other);          // the same matrix elsewhere: what a warm launch does
// Leaves which box a tile needs to the planner and the kernel.
#pragma once

#include <cstdint>
#include <string_view>

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/abi/gemm_types.h>
#include <deep_gemm/csrc/problem/gemm_problem.hpp>

namespace deep_gemm {

enum class MapType : int { Bytes, Bf16, F32 };
constexpr MapType map_type(ElementType type) {  // E2m1: as bytes of two
  return type == ElementType::Bf16 ? MapType::Bf16 : MapType::Bytes;
}
constexpr MapType map_type(OutputType type) {
  return type == OutputType::Bf16 ? MapType::Bf16 : MapType::F32;
}

struct MapMatrix {
  const void* address = nullptr;
  MapType type = MapType::Bytes;
  std::int64_t rows = 0, columns = 0;         // columns are contiguous
  std::int64_t stride = 0;                    // of rows, bytes; any where there is one row
  std::int64_t groups = 1, group_stride = 0;  // bytes
};

// One box: 128 bytes of columns by `box_rows`. Two dimensions, or three of which the last are
// groups.
TensorMap matrix_map(std::string_view name, const MapMatrix& matrix, int box_rows,
                     bool has_groups = false);
// An operand of mn rows along k, in its order: K-major boxes of `box_rows` rows, Mn-major ones of
// 64 along k. groups 0: a matrix.
TensorMap operand_map(std::string_view name, const void* address, const GemmOperand& operand,
                      std::int64_t mn, std::int64_t k, int box_rows, std::int64_t groups = 0,
                      std::int64_t group_stride = 0);
void move_map(TensorMap& map, const void* address);

}  // namespace deep_gemm
