#include <deep_gemm/csrc/ops/args.hpp>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
namespace {

void check(AOTITorchError code, const char* what) {
  if (code != 0) [[unlikely]]
    DJ_PANIC("torch did not tell {} of a tensor", what);
}

// torch's codes are small; dtypes are compared by code since some have no stable C++ name.
constexpr std::size_t kNumCodes = 64;

std::array<DType, kNumCodes> dtype_table() {
  std::array<DType, kNumCodes> table{};
  const auto put = [&table](std::int32_t code, DType dtype) {
    if (code >= 0 && code < static_cast<std::int32_t>(kNumCodes))
      table[static_cast<std::size_t>(code)] = dtype;
  };
  put(aoti_torch_dtype_float8_e4m3fn(), DType::Float8E4m3);
  put(aoti_torch_dtype_float8_e5m2(), DType::Float8E5m2);
  put(aoti_torch_dtype_bfloat16(), DType::BFloat16);
  put(aoti_torch_dtype_float16(), DType::Float16);
  put(aoti_torch_dtype_float32(), DType::Float32);
  put(aoti_torch_dtype_float64(), DType::Float64);
  put(aoti_torch_dtype_uint8(), DType::UInt8);
  put(aoti_torch_dtype_int8(), DType::Int8);
  put(aoti_torch_dtype_int16(), DType::Int16);
  put(aoti_torch_dtype_int32(), DType::Int32);
  put(aoti_torch_dtype_int64(), DType::Int64);
  put(aoti_torch_dtype_bool(), DType::Bool);
  return table;
}

DeviceKind kind_of(std::int32_t type) {
  if (type == aoti_torch_device_type_cpu()) return DeviceKind::Cpu;
  if (type == aoti_torch_device_type_cuda()) return DeviceKind::Cuda;
  return type == aoti_torch_device_type_meta() ? DeviceKind::Meta : DeviceKind::Other;
}

}  // namespace

TensorFacts facts_of(const Tensor& tensor) {
  static const std::array<DType, kNumCodes> kDTypes = dtype_table();
  AtenTensorHandle handle = tensor.get();
  TensorFacts facts;
  std::int32_t code = 0, device = 0;
  std::int64_t rank = 0, *sizes = nullptr, *strides = nullptr;
  check(aoti_torch_get_dtype(handle, &code), "the dtype");
  check(aoti_torch_get_device_type(handle, &device), "the device");
  check(aoti_torch_get_dim(handle, &rank), "the rank");
  check(aoti_torch_get_sizes(handle, &sizes), "the sizes");
  check(aoti_torch_get_strides(handle, &strides), "the strides");
  facts.dtype = code >= 0 && code < static_cast<std::int32_t>(kNumCodes)
                    ? kDTypes[static_cast<std::size_t>(code)]
                    : DType::Other;
  facts.device = kind_of(device);
  if (facts.device == DeviceKind::Cuda)
    check(aoti_torch_get_device_index(handle, &facts.device_index), "the device index");
  facts.rank = static_cast<int>(rank);
  for (int i = 0; i < facts.rank && i < kMaxRank; ++i) {
    facts.sizes[static_cast<std::size_t>(i)] = sizes[i];
    facts.strides[static_cast<std::size_t>(i)] = strides[i];
  }
  if (facts.device != DeviceKind::Meta) {
    void* data = nullptr;
    check(aoti_torch_get_data_ptr(handle, &data), "the address");
    facts.address = reinterpret_cast<std::uint64_t>(data);
  }
  return facts;
}

Placement placement_of(const TensorFacts& facts, const Knobs& knobs) {
  if (facts.device == DeviceKind::Cuda) return {DeviceTraits::Kind::Cuda, facts.device_index, 0};
  std::uint32_t num_threads = 0;
  if (knobs.num_threads > 0) {
    num_threads = static_cast<std::uint32_t>(knobs.num_threads);
  } else if (torch_get_num_threads(&num_threads) != 0) {
    num_threads = 0;
  }
  return {DeviceTraits::Kind::Host, 0, static_cast<int>(num_threads)};
}

}  // namespace deep_gemm::ops
