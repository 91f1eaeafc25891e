// get_jit: the address of the runtime that compiles host kernels. Makes no second one.
#include <torch/csrc/stable/library.h>

#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>

namespace deep_gemm::ops {
namespace {

std::int64_t get_jit() { return reinterpret_cast<std::int64_t>(&host_jit()); }

DG_REGISTER_OP("get_jit", TORCH_BOX(&get_jit), Keys::NoTensors);

}  // namespace
}  // namespace deep_gemm::ops
