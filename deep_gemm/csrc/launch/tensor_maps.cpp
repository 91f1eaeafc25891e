#include <deep_gemm/csrc/launch/tensor_maps.hpp>

#include <bit>
#include <cstring>

#include <deep_jit/backend/cuda/tensor_map.hpp>

namespace deep_gemm {
namespace {

constexpr std::uint32_t kBoxBytes = 128;

std::uint64_t unsigned_of(std::int64_t x) { return static_cast<std::uint64_t>(x); }

}  // namespace

TensorMap matrix_map(std::string_view name, const MapMatrix& x, int box_rows, bool has_groups) {
  const bool is_bf16 = x.type == ElementType::Bf16;
  const std::int64_t bytes = is_bf16 ? 2 : 1;
  // A stride that is never used must still be one that a map can have.
  const std::int64_t row_bytes = (x.columns * bytes + 15) / 16 * 16;
  const std::int64_t stride = x.rows <= 1 ? row_bytes : x.stride;
  deep_jit::cuda::TensorMapDesc desc{
      .name = name,
      .dtype = is_bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_UINT8,
      .sizes = {unsigned_of(x.columns), unsigned_of(x.rows)},
      .strides_bytes = {unsigned_of(stride)},
      .box = {kBoxBytes / static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(box_rows)},
      .swizzle = CU_TENSOR_MAP_SWIZZLE_128B};
  if (has_groups) {
    desc.sizes.push_back(unsigned_of(x.groups));
    desc.strides_bytes.push_back(unsigned_of(x.groups <= 1 ? stride * x.rows : x.group_stride));
    desc.box.push_back(1);
  }
  return std::bit_cast<TensorMap>(deep_jit::cuda::encode_tensor_map(desc, x.address));
}

void move_map(TensorMap& map, const void* address) {
  static_assert(sizeof(CUtensorMap) == sizeof(TensorMap));
  CUtensorMap moved = std::bit_cast<CUtensorMap>(map);
  deep_jit::cuda::patch_tensor_map(moved, address);
  map = std::bit_cast<TensorMap>(moved);
}

}  // namespace deep_gemm
