// A minimal extension for the ABI audit: each thing that a consumer takes from torch, once. It is
// built, loaded and audited, and its operator is run where there is a GPU.
#include <deep_jit/backend/cuda/stable_torch_utils.h>

#include <cstdint>

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <deep_gemm/csrc/utils/registration.h>
#include <deep_jit/backend/cuda/backend.hpp>

namespace {

using torch::stable::Tensor;

// What a GEMM binding does: facts, strides, an output, a view, an accumulator, the stream.
Tensor touch(const Tensor& a) {
  Tensor out = torch::stable::empty_like(a);
  torch::stable::zero_(out);
  Tensor view = torch::stable::narrow(out, 0, 0, a.size(0));
  std::int64_t sum =
      a.numel() + a.dim() + a.stride(0) + static_cast<std::int64_t>(a.is_contiguous());
  sum += static_cast<std::int64_t>(a.scalar_type()) + static_cast<std::int64_t>(a.defined());
  torch::stable::fill_(view, static_cast<double>(sum));
  torch::stable::copy_(out, torch::stable::clone(view));
  return torch::stable::transpose(out, 0, 0);
}

// 1 where the guarded stream of the pool was current, and torch's own is back afterwards.
std::int64_t streams(std::int64_t device) {
  const auto index = static_cast<std::int32_t>(device);
  const CUstream before = deep_jit::get_current_cuda_stream(index);
  const cudaStream_t pool = deep_jit::get_stream_from_pool(index);
  bool is_right = false;
  {
    const deep_jit::TorchCUDAStreamGuard guard(pool, index);
    is_right = deep_jit::get_current_cuda_stream(index) == pool;
  }
  return is_right && deep_jit::get_current_cuda_stream(index) == before ? 1 : 0;
}

}  // namespace

STABLE_TORCH_LIBRARY(dj_stable_abi_probe, library) {
  library.def("touch(Tensor a) -> Tensor");
  library.def("streams(int device) -> int");
}
STABLE_TORCH_LIBRARY_IMPL(dj_stable_abi_probe, CompositeExplicitAutograd, library) {
  library.impl("touch", TORCH_BOX(&touch));
  library.impl("streams", TORCH_BOX(&streams));
}

REGISTER_EXTENSION(_deep_jit_stable_abi_probe)
