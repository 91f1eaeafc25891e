// A Python extension that embeds Runtime<CUDA>, without pybind11 and without Python.h: one operator
// on torch's stable ABI, one binary for every CPython and every torch from 2.10 on.
//
//   import _vector_add
//   torch.ops.dj_vector_add.add(a, b)              # int32 CUDA tensors, torch's current stream
//   torch.ops.dj_vector_add.compile_for("90a")     # folder of the cubin; no GPU needed
#include <cstdint>
#include <string>

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <deep_gemm/csrc/utils/registration.h>
#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/runtime/runtime.hpp>

namespace {

using torch::stable::Tensor;

constexpr const char* kSource = R"(
extern "C" __global__ void vector_add(int* out, const int* a, const int* b, long long n) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
})";

auto g_jit = deep_jit::create_lazy_jit<deep_jit::CUDA>(deep_jit::Config("/", "VECTOR_ADD"));

void require(bool condition, const char* rule) {
  DJ_HOST_ASSERT(condition, "vector_add: a, b: Rule: {}", rule);
}

Tensor add(const Tensor& a, const Tensor& b) {
  using torch::headeronly::ScalarType;
  require(a.is_cuda() && b.is_cuda(), "both operands are CUDA tensors");
  require(a.get_device_index() == b.get_device_index(), "both operands are on one device");
  require(a.scalar_type() == ScalarType::Int && b.scalar_type() == ScalarType::Int,
          "both operands are int32");
  require(a.is_contiguous() && b.is_contiguous(), "both operands are contiguous");
  require(a.numel() == b.numel(), "both operands have one size");
  Tensor out = torch::stable::empty_like(a);
  const std::int64_t n = a.numel();
  if (n == 0) return out;
  const torch::stable::accelerator::DeviceGuard guard(a.get_device_index());
  const auto kernel = g_jit->compile("vector_add", kSource);
  void *out_data = out.mutable_data_ptr(), *a_data = a.data_ptr(), *b_data = b.data_ptr();
  g_jit->launch(kernel, {.grid_dim = (n + 255) / 256, .block_dim = 256}, out_data, a_data, b_data,
                n);
  return out;
}

std::string compile_for(std::string arch) {
  return g_jit->compile_without_load("vector_add", kSource, {.arch = arch}).string();
}

}  // namespace

STABLE_TORCH_LIBRARY(dj_vector_add, library) {
  library.def("add(Tensor a, Tensor b) -> Tensor");
  library.def("compile_for(str arch) -> str");
}
STABLE_TORCH_LIBRARY_IMPL(dj_vector_add, CompositeExplicitAutograd, library) {
  library.impl("add", TORCH_BOX(&add));
  library.impl("compile_for", TORCH_BOX(&compile_for));
}

REGISTER_EXTENSION(_vector_add)
