// The table of contents: every operator's schema, and the entry that makes the file importable.
//   torch.ops.load_library("_C_extension.abi3.so"); torch.ops.deep_gemm.fp8_gemm_nt(...)
// Leaves the implementations to ops/<stem>.cpp and the act of registering to utils/registry.cpp.
#include <deep_gemm/csrc/utils/registration.h>
#include <deep_gemm/csrc/utils/python_eager.hpp>
#include <deep_gemm/csrc/utils/schemas.hpp>

namespace deep_gemm {

// Scaled operands arrive as (data, scale) pairs, flattened. gran_* = 0 is the default recipe,
// (1, 128, 128) with float32 scales and (1, 1, 128) with packed ones.
#define DG_SCALED_GEMM(NAME)             \
  NAME "("                               \
       "Tensor a, "                      \
       "Tensor a_scale, "                \
       "Tensor b, "                      \
       "Tensor b_scale, "                \
       "Tensor(d!) d, "                  \
       "Tensor? c=None, "                \
       "SymInt gran_m=0, "               \
       "SymInt gran_n=0, "               \
       "SymInt gran_k_a=0, "             \
       "SymInt gran_k_b=0, "             \
       "bool disable_ue8m0_cast=False, " \
       "float? alpha=None"               \
       ") -> ()"

#define DG_GEMM(NAME)      \
  NAME "("                 \
       "Tensor a, "        \
       "Tensor b, "        \
       "Tensor(d!) d, "    \
       "Tensor? c=None, "  \
       "float? alpha=None" \
       ") -> ()"

const char* const kSchemas[] = {
    // Dense, scaled: d = alpha * a @ b^T + c; the letters say how a and b are stored.
    DG_SCALED_GEMM("fp8_gemm_nt"),
    DG_SCALED_GEMM("fp8_gemm_nn"),
    DG_SCALED_GEMM("fp8_gemm_tn"),
    DG_SCALED_GEMM("fp8_gemm_tt"),
    DG_SCALED_GEMM("fp8_fp4_gemm_nt"),
    DG_SCALED_GEMM("fp8_fp4_gemm_nn"),
    DG_SCALED_GEMM("fp8_fp4_gemm_tn"),
    DG_SCALED_GEMM("fp8_fp4_gemm_tt"),
    // Dense, bf16.
    DG_GEMM("bf16_gemm_nt"),
    DG_GEMM("bf16_gemm_nn"),
    DG_GEMM("bf16_gemm_tn"),
    DG_GEMM("bf16_gemm_tt"),
    // The buffer of fused mixture-of-experts calls: bytes and layout, the ring's limits, the views.
    "get_symm_buffer_size_for_mega_moe("
    "SymInt num_ranks, "
    "SymInt num_experts, "
    "SymInt num_max_tokens_per_rank, "
    "SymInt num_topk, "
    "SymInt hidden, "
    "SymInt intermediate_hidden, "
    "str mma_type, "
    "SymInt num_ring_tokens, "
    "SymInt num_shared_experts, "
    "SymInt num_sms"
    ") -> (SymInt, SymInt[])",
    "get_ring_limit_for_mega_moe("
    "SymInt num_max_tokens_per_rank, "
    "SymInt num_experts_per_rank, "
    "SymInt num_topk, "
    "SymInt num_ranks, "
    "SymInt num_sms"
    ") -> (SymInt, SymInt)",
    "_slice_symm_buffer_for_mega_moe(Tensor(a) buffer, SymInt[] layout) -> Tensor(a)[]",
    // No compute: the address of the host runtime, the same at every call.
    "get_jit() -> int",
};

const std::size_t kNumSchemas = sizeof(kSchemas) / sizeof(kSchemas[0]);

}  // namespace deep_gemm

REGISTER_EXTENSION_WITH(_C_extension, ::deep_gemm::kPythonMethods)
