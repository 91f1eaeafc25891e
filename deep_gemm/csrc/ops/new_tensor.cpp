#include <deep_gemm/csrc/ops/new_tensor.hpp>

#include <array>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
namespace {

using torch::stable::Tensor;

std::int32_t torch_dtype(DType dtype) {
  return dtype == DType::BFloat16  ? aoti_torch_dtype_bfloat16()
         : dtype == DType::Float32 ? aoti_torch_dtype_float32()
         : dtype == DType::Int32   ? aoti_torch_dtype_int32()
                                   : aoti_torch_dtype_uint8();
}

Tensor allocate(DType dtype, std::initializer_list<std::int64_t> sizes, const std::int64_t* strides,
                const TensorFacts& like) {
  const bool is_cuda = like.device == DeviceKind::Cuda;
  AtenTensorHandle handle = nullptr;
  if (aoti_torch_empty_strided(
          static_cast<std::int64_t>(sizes.size()), sizes.begin(), strides, torch_dtype(dtype),
          is_cuda ? aoti_torch_device_type_cuda() : aoti_torch_device_type_cpu(),
          is_cuda ? like.device_index : 0, &handle) != 0)
    DJ_PANIC("torch could not allocate a result");
  return Tensor(handle);
}

}  // namespace

Tensor new_tensor(DType dtype, std::initializer_list<std::int64_t> sizes, const TensorFacts& like) {
  std::array<std::int64_t, 4> strides{};
  DJ_HOST_ASSERT(sizes.size() <= strides.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes.begin()[i];
  }
  return allocate(dtype, sizes, strides.data(), like);
}

Tensor new_strided(DType dtype, std::initializer_list<std::int64_t> sizes,
                   std::initializer_list<std::int64_t> strides, const TensorFacts& like) {
  DJ_HOST_ASSERT(sizes.size() == strides.size());
  return allocate(dtype, sizes, strides.begin(), like);
}

}  // namespace deep_gemm::ops
