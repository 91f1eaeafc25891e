#include <deep_gemm/csrc/ops/operator.hpp>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <deep_gemm/csrc/ops/new_tensor.hpp>
#include <deep_jit/utils/exception.hpp>

namespace deep_gemm::ops {
void* TorchCall::allocate(const NewMatrix& m, const TensorFacts& like) {
  result_.emplace(new_strided(m.dtype, {m.stored_rows, m.stride}, {m.stride, 1}, like));
  if (!m.is_plain()) {
    const std::int64_t sizes[] = {m.rows, m.columns}, strides[] = {m.stride, 1};
    AtenTensorHandle view = nullptr;
    if (aoti_torch__reinterpret_tensor(result_->get(), 2, sizes, strides, 0, &view) != 0)
      DJ_PANIC("torch could not make a view of the output");
    result_.emplace(view);
  }
  return result_->data_ptr();
}

}  // namespace deep_gemm::ops
