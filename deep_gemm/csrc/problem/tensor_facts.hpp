// What there is to know about a tensor without reading it.
//   TensorFacts a{.dtype = DType::Float8E4m3, .rank = 2, .sizes = {64, 256}, .strides = {256, 1}};
//   a.to_string();   // "float8_e4m3fn (64, 256), strides (256, 1), cpu"
// The checks work on facts, so that they run for tensors, for descriptions of tensors (`supports`)
// and in tests alike. Leaves reading tensors to ops/args.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace deep_gemm {

enum class DType : std::uint8_t {
  Other,
  Float8E4m3,
  BFloat16,
  Float32,
  Int32,
  Int8,  // the ones that operators take
  Float8E5m2,
  Float8E8m0,
  Float16,
  Float64,
  UInt8,
  Int16,
  Int64,
  Bool,
};

enum class DeviceKind : std::uint8_t { Cpu, Cuda, Meta, Other };

inline constexpr int kMaxRank = 6;

struct TensorFacts {
  DType dtype = DType::Other;
  DeviceKind device = DeviceKind::Cpu;
  int device_index = -1;  // -1: the only one of its kind
  int rank = 0;
  std::array<std::int64_t, kMaxRank> sizes = {};
  std::array<std::int64_t, kMaxRank> strides = {};
  std::uint64_t address =
      0;  // of the first element; 0: unknown. For alias and alignment rules only

  std::string to_string() const;
};

// On the CPU, rows packed; kMaxRank sizes at most.
TensorFacts contiguous(DType dtype, std::initializer_list<std::int64_t> sizes);

std::string_view dtype_name(DType dtype);             // torch's, without "torch."
DType dtype_from_name(std::string_view name);         // Other when unknown
std::int64_t dtype_bytes(DType dtype);                // 0 for Other
std::string device_name(DeviceKind kind, int index);  // "cpu", "cuda:0"

}  // namespace deep_gemm
