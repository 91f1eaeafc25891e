// Operators enter torch here, through the stable shims, every code checked.
//   DG_REGISTER_OP("fp8_gemm_nt", TORCH_BOX(&ops::fp8_gemm_nt));   // beside the op, at namespace
//   scope registry().ns;       // "deep_gemm_0123456789abcdef": by the contents of this file
// The schemas go in first, whichever op's translation unit is initialised first; each op follows
// for CPU and CUDA, under the file's own namespace and, if nobody has it, under deep_gemm. A second
// load of the same file registers nothing: the first copy serves, its control plane too. Nothing
// throws while a library is being loaded: dg_query("owner") tells what went wrong.
#pragma once

#include <string>

#include <torch/csrc/stable/c/shim.h>

namespace deep_gemm {

using BoxedFunction = void (*)(StableIValue*, std::uint64_t, std::uint64_t);

struct ControlTable;  // control_table.hpp

struct Registry {
  std::string ns;
  std::string file;            // of this extension
  bool is_owner = false;       // false: another copy of the same file serves
  bool claimed_alias = false;  // deep_gemm is ours as well
  std::string error;
  const ControlTable* owner = nullptr;  // whose state counts
};

Registry& registry();

// Tensors: CPU and CUDA alike. Npu: torch's PrivateUse1, for a kernel set beside those.
enum class Keys { Tensors, NoTensors, Npu };

struct OpRegistration {
  OpRegistration(const char* name, BoxedFunction function, Keys keys = Keys::Tensors) noexcept;
};

#define DG_CONCAT_(X, Y) X##Y
#define DG_CONCAT(X, Y) DG_CONCAT_(X, Y)
#define DG_REGISTER_OP(...) \
  const ::deep_gemm::OpRegistration DG_CONCAT(registration_, __COUNTER__)(__VA_ARGS__)

}  // namespace deep_gemm
