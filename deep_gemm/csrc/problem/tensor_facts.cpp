#include <deep_gemm/csrc/problem/tensor_facts.hpp>

#include <algorithm>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::int64_t bytes;
};

constexpr DTypeRow kDTypes[] = {
    {DType::Float8E4m3, "float8_e4m3fn", 1},
    {DType::BFloat16, "bfloat16", 2},
    {DType::Float32, "float32", 4},
    {DType::Int32, "int32", 4},
    {DType::Int8, "int8", 1},
    {DType::Float8E5m2, "float8_e5m2", 1},
    {DType::Float8E8m0, "float8_e8m0fnu", 1},
    {DType::Float16, "float16", 2},
    {DType::Float64, "float64", 8},
    {DType::UInt8, "uint8", 1},
    {DType::Int16, "int16", 2},
    {DType::Int64, "int64", 8},
    {DType::Bool, "bool", 1},
};

std::string tuple(const std::array<std::int64_t, kMaxRank>& values, int rank) {
  std::string text = "(";
  for (int i = 0; i < rank && i < kMaxRank; ++i)
    text += deep_jit::str::format("{}{}", i == 0 ? "" : ", ", values[static_cast<std::size_t>(i)]);
  if (rank == 1) text += ",";
  if (rank > kMaxRank) text += ", ...";
  return text + ")";
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  for (const DTypeRow& row : kDTypes)
    if (row.dtype == dtype) return row.name;
  return "another dtype";
}

DType dtype_from_name(std::string_view name) {
  for (const DTypeRow& row : kDTypes)
    if (row.name == name) return row.dtype;
  return DType::Other;
}

std::int64_t dtype_bytes(DType dtype) {
  for (const DTypeRow& row : kDTypes)
    if (row.dtype == dtype) return row.bytes;
  return 0;
}

std::string device_name(DeviceKind kind, int index) {
  constexpr std::string_view kNames[] = {"cpu", "cuda", "meta", "another device"};
  std::string name(kNames[static_cast<int>(kind)]);
  if (kind == DeviceKind::Cuda && index >= 0) name += deep_jit::str::format(":{}", index);
  return name;
}

std::string TensorFacts::to_string() const {
  return deep_jit::str::format("{} {}, strides {}, {}", dtype_name(dtype), tuple(sizes, rank),
                               tuple(strides, rank), device_name(device, device_index));
}

TensorFacts contiguous(DType dtype, std::initializer_list<std::int64_t> sizes) {
  TensorFacts t;
  t.dtype = dtype;
  t.rank = static_cast<int>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), t.sizes.begin());
  std::int64_t stride = 1;
  for (auto i = sizes.size(); i-- > 0;) {
    t.strides[i] = stride;
    stride *= t.sizes[i];
  }
  return t;
}

}  // namespace deep_gemm
