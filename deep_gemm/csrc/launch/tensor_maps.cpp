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
  constexpr CUtensorMapDataType kTypes[] = {CU_TENSOR_MAP_DATA_TYPE_UINT8,
                                            CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                            CU_TENSOR_MAP_DATA_TYPE_FLOAT32};
  constexpr std::int64_t kBytes[] = {1, 2, 4};
  const auto type = static_cast<std::size_t>(x.type);
  const std::int64_t bytes = kBytes[type];
  // A stride that is never used must still be one that a map can have.
  const std::int64_t row_bytes = (x.columns * bytes + 15) / 16 * 16;
  const std::int64_t stride = x.rows <= 1 ? row_bytes : x.stride;
  deep_jit::cuda::TensorMapDesc desc{
      .name = name,
      .dtype = kTypes[type],
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

TensorMap operand_map(std::string_view name, const void* address, const GemmOperand& x,
                      std::int64_t mn, std::int64_t k, int box_rows, std::int64_t groups,
                      std::int64_t group_stride) {
  constexpr int kMnBoxRows = 64;
  const bool is_k = x.major == Major::K;
  const MapMatrix matrix{.address = address,
                         .type = map_type(x.type),
                         .rows = is_k ? mn : k,
                         .columns = is_k ? k : mn,
                         .stride = x.stride_bytes,
                         .groups = groups,
                         .group_stride = group_stride};
  return matrix_map(name, matrix, is_k ? box_rows : kMnBoxRows, groups > 0);
}

void move_map(TensorMap& map, const void* address) {
  static_assert(sizeof(CUtensorMap) == sizeof(TensorMap));
  CUtensorMap moved = std::bit_cast<CUtensorMap>(map);
  deep_jit::cuda::patch_tensor_map(moved, address);
  map = std::bit_cast<TensorMap>(moved);
}

}  // namespace deep_gemm
