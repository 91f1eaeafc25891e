// An operator of an NPU kernel set, whole: check, source, launch, and its registration for torch's
// PrivateUse1. Shows what one file of deep_gemm/csrc/npu/ would be.
//
//   torch.ops.load_library("npu_kernel_set.abi3.so")
//   torch.ops.deep_gemm.scaled_add(out, a, b, 2.0)      # out = a + 2 * b, float32 on an NPU
//
// Needs no torch_npu header and no CANN library: the stream is torch's current one, found by the
// back end. Leaves the schema to schemas.cpp.
#include <cstdint>

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <deep_jit/backend/ascend/backend.hpp>
#include <deep_jit/utils/lazy.hpp>

#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::npu {
namespace {

using torch::stable::Tensor;

// Plain loads and stores, one element a step: an example of the way, not of speed.
constexpr const char* kSource = R"(#include "kernel_operator.h"
extern "C" __global__ __vector__ void scaled_add(__gm__ float* out, __gm__ const float* a,
                                                 __gm__ const float* b, float scale, int64_t n) {
  for (int64_t i = AscendC::GetBlockIdx(); i < n; i += AscendC::GetBlockNum())
    out[i] = a[i] + scale * b[i];
}
)";

deep_jit::Runtime<deep_jit::Ascend>& jit() {
  // Never destroyed: kernels may still run while the process ends.
  static auto* const runtime = [] {
    const auto root = package_root();
    return new deep_jit::Runtime<deep_jit::Ascend>(
        deep_jit::Config(root, "DG", "", {root / "include"}));
  }();
  return *runtime;
}

void check(const Tensor& tensor, const char* name, std::int64_t numel) {
  std::int32_t dtype = 0;
  aoti_torch_get_dtype(tensor.get(), &dtype);
  if (dtype == aoti_torch_dtype_float32() && tensor.is_contiguous() && tensor.numel() == numel)
    return;
  DJ_FAIL(kInvalidArgument,
          "deep_gemm.scaled_add: {}: given {} elements, dtype code {}, {}.\n"
          "  Rule SAME_FLOAT32: all are contiguous float32 of one size, here {}.\n"
          "  Fix: use .float().contiguous() on tensors of one shape.",
          name, tensor.numel(), dtype, tensor.is_contiguous() ? "contiguous" : "strided", numel);
}

void scaled_add(Tensor out, Tensor a, Tensor b, double scale) {
  const std::int64_t n = out.numel();
  check(out, "out", n);
  check(a, "a", n);
  check(b, "b", n);
  if (n == 0) return;
  std::int32_t device = 0;
  aoti_torch_get_device_index(out.get(), &device);
  const deep_jit::ascend::DeviceScope scope(device);
  const auto kernel = jit().compile("scaled_add", kSource);
  const std::int64_t cores = deep_jit::ascend::Device(device).get_num_vector_cores();
  jit().launch(kernel, {.grid_dim = std::min(n, cores)},
               static_cast<float*>(out.mutable_data_ptr()),
               static_cast<const float*>(a.const_data_ptr()),
               static_cast<const float*>(b.const_data_ptr()), static_cast<float>(scale), n);
}

DG_REGISTER_OP("scaled_add", TORCH_BOX(&scaled_add), Keys::Npu);

}  // namespace
}  // namespace deep_gemm::npu
