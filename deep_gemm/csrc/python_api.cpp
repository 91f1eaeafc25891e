// The table of contents: every operator's schema, and the entry that makes the file importable.
//   torch.ops.load_library("_C_extension.abi3.so"); torch.ops.deep_gemm.fp8_gemm_nt(...)
// Leaves the implementations to ops/<stem>.cpp and the act of registering to utils/registry.cpp.
// Longer than usual: one list of all operators.
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

// Grouped along m: rows of a belong to groups, b is stacked. grouped_layout has one group a row, or
// with use_psum_layout one end a group; masked_m has one number of rows a group.
#define DG_SCALED_M_GROUPED(NAME)        \
  NAME "("                               \
       "Tensor a, "                      \
       "Tensor a_scale, "                \
       "Tensor b, "                      \
       "Tensor b_scale, "                \
       "Tensor(d!) d, "                  \
       "Tensor grouped_layout, "         \
       "SymInt gran_m=0, "               \
       "SymInt gran_n=0, "               \
       "SymInt gran_k_a=0, "             \
       "SymInt gran_k_b=0, "             \
       "bool disable_ue8m0_cast=False, " \
       "bool use_psum_layout=False, "    \
       "bool ensure_zero_padding=True, " \
       "float? alpha=None"               \
       ") -> ()"

#define DG_SCALED_MASKED(NAME)           \
  NAME "("                               \
       "Tensor a, "                      \
       "Tensor a_scale, "                \
       "Tensor b, "                      \
       "Tensor b_scale, "                \
       "Tensor(d!) d, "                  \
       "Tensor masked_m, "               \
       "SymInt expected_m, "             \
       "SymInt gran_m=0, "               \
       "SymInt gran_n=0, "               \
       "SymInt gran_k_a=0, "             \
       "SymInt gran_k_b=0, "             \
       "bool disable_ue8m0_cast=False, " \
       "float? alpha=None"               \
       ") -> ()"

#define DG_M_GROUPED(NAME)               \
  NAME "("                               \
       "Tensor a, "                      \
       "Tensor b, "                      \
       "Tensor(d!) d, "                  \
       "Tensor grouped_layout, "         \
       "bool use_psum_layout=False, "    \
       "bool ensure_zero_padding=True, " \
       "float? alpha=None"               \
       ") -> ()"

#define DG_MASKED(NAME)      \
  NAME "("                   \
       "Tensor a, "          \
       "Tensor b, "          \
       "Tensor(d!) d, "      \
       "Tensor masked_m, "   \
       "SymInt expected_m, " \
       "float? alpha=None"   \
       ") -> ()"

// Grouped along k: one product a group. ks, in host memory, repeats grouped_layout; with
// use_psum_layout, where grouped_layout holds ends, it may be left out.
#define DG_SCALED_K_GROUPED(NAME)     \
  NAME "("                            \
       "Tensor a, "                   \
       "Tensor a_scale, "             \
       "Tensor b, "                   \
       "Tensor b_scale, "             \
       "Tensor(d!) d, "               \
       "Tensor grouped_layout, "      \
       "Tensor? ks=None, "            \
       "Tensor? c=None, "             \
       "SymInt gran_k=0, "            \
       "bool use_psum_layout=False, " \
       "float? alpha=None"            \
       ") -> ()"

#define DG_K_GROUPED(NAME)            \
  NAME "("                            \
       "Tensor a, "                   \
       "Tensor b, "                   \
       "Tensor(d!) d, "               \
       "Tensor grouped_layout, "      \
       "Tensor? ks=None, "            \
       "Tensor? c=None, "             \
       "bool use_psum_layout=False, " \
       "float? alpha=None"            \
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
    DG_SCALED_GEMM("fp4_gemm_nt"),
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
    // Grouped along m.
    DG_SCALED_M_GROUPED("m_grouped_fp8_fp4_gemm_nt_contiguous"),
    DG_SCALED_M_GROUPED("m_grouped_fp8_fp4_gemm_nn_contiguous"),
    DG_SCALED_M_GROUPED("m_grouped_fp8_gemm_nt_contiguous"),
    DG_SCALED_M_GROUPED("m_grouped_fp8_gemm_nn_contiguous"),
    DG_SCALED_M_GROUPED("m_grouped_fp4_gemm_nt_contiguous"),
    DG_SCALED_MASKED("m_grouped_fp8_fp4_gemm_nt_masked"),
    DG_SCALED_MASKED("m_grouped_fp8_gemm_nt_masked"),
    DG_SCALED_MASKED("m_grouped_fp4_gemm_nt_masked"),
    DG_SCALED_MASKED("fp8_m_grouped_gemm_nt_masked"),
    DG_M_GROUPED("m_grouped_bf16_gemm_nt_contiguous"),
    DG_M_GROUPED("m_grouped_bf16_gemm_nn_contiguous"),
    DG_MASKED("m_grouped_bf16_gemm_nt_masked"),
    DG_MASKED("bf16_m_grouped_gemm_nt_masked"),
    // Grouped along k.
    DG_SCALED_K_GROUPED("k_grouped_fp8_gemm_nt_contiguous"),
    DG_SCALED_K_GROUPED("k_grouped_fp8_gemm_tn_contiguous"),
    DG_SCALED_K_GROUPED("k_grouped_fp4_gemm_nt_contiguous"),
    DG_K_GROUPED("k_grouped_bf16_gemm_tn_contiguous"),
    // Indexer logits over contiguous keys. max_seqlen_k = 0: columns are keys; else column j of a
    // row is key start + j, and nothing is cleaned.
    "fp8_mqa_logits("
    "Tensor q, "
    "Tensor kv, "
    "Tensor kv_scale, "
    "Tensor weights, "
    "Tensor cu_seq_len_k_start, "
    "Tensor cu_seq_len_k_end, "
    "bool clean_logits=True, "
    "SymInt max_seqlen_k=0"
    ") -> Tensor",
    "fp8_fp4_mqa_logits("
    "Tensor q, "
    "Tensor? q_scale, "
    "Tensor kv, "
    "Tensor kv_scale, "
    "Tensor weights, "
    "Tensor cu_seq_len_k_start, "
    "Tensor cu_seq_len_k_end, "
    "bool clean_logits=True, "
    "SymInt max_seqlen_k=0, "
    "bool bf16_logits=False"
    ") -> Tensor",
    "get_mqa_logits_metadata("
    "Tensor cu_seq_len_k_start, "
    "Tensor cu_seq_len_k_end, "
    "SymInt num_kv_tokens, "
    "SymInt num_heads"
    ") -> Tensor",
    // The same over pages of keys that a table names; the schedule comes from the metadata
    // operator.
    "fp8_paged_mqa_logits("
    "Tensor q, "
    "Tensor kv_cache, "
    "Tensor weights, "
    "Tensor context_lens, "
    "Tensor block_table, "
    "Tensor schedule_meta, "
    "SymInt max_context_len, "
    "bool clean_logits=False, "
    "Tensor? indices=None"
    ") -> Tensor",
    "fp8_fp4_paged_mqa_logits("
    "Tensor q, "
    "Tensor? q_scale, "
    "Tensor kv_cache, "
    "Tensor weights, "
    "Tensor context_lens, "
    "Tensor block_table, "
    "Tensor schedule_meta, "
    "SymInt max_context_len, "
    "bool clean_logits=False, "
    "bool bf16_logits=False, "
    "Tensor? indices=None"
    ") -> Tensor",
    "get_paged_mqa_logits_metadata("
    "Tensor context_lens, "
    "SymInt block_kv, "
    "SymInt num_sms, "
    "Tensor? indices=None"
    ") -> Tensor",
    // Logits of chosen blocks of keys: metadata says where they lie, column j * sparse_block_kv + o
    // of a row is token o of its j-th block, -inf where there is none. Logits are bfloat16.
    "get_sparse_mqa_logits_metadata("
    "Tensor cu_seq_len_k_start, "
    "Tensor cu_seq_len_k_end, "
    "SymInt num_kv_tokens, "
    "Tensor sparse_kv_block_indices, "
    "SymInt sparse_block_kv, "
    "bool use_unaligned_ks=False"
    ") -> Tensor",
    "fp8_fp4_sparse_mqa_logits("
    "Tensor q, "
    "Tensor? q_scale, "
    "Tensor kv, "
    "Tensor kv_scale, "
    "Tensor weights, "
    "Tensor metadata, "
    "SymInt num_max_sparse_blocks, "
    "SymInt sparse_block_kv"
    ") -> Tensor",
    "get_paged_sparse_mqa_logits_metadata("
    "Tensor context_lens, "
    "Tensor block_table, "
    "Tensor? indices, "
    "SymInt page_kv, "
    "Tensor sparse_kv_block_indices, "
    "SymInt sparse_block_kv"
    ") -> Tensor",
    "fp8_fp4_paged_sparse_mqa_logits("
    "Tensor q, "
    "Tensor? q_scale, "
    "Tensor kv_cache, "
    "Tensor weights, "
    "Tensor metadata, "
    "SymInt num_max_sparse_blocks, "
    "SymInt sparse_block_kv"
    ") -> Tensor",
    // Batched, in einsum notation; scales in the order in which their operand is stored.
    "einsum(str expr, Tensor a, Tensor b, Tensor(d!) d, Tensor? c=None) -> ()",
    "fp8_einsum(str expr, Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, Tensor(d!) d, "
    "Tensor? c=None, SymInt gran_m=1, SymInt gran_n=128, SymInt gran_k=128) -> ()",
    // Hyper-connection: d[s] = a @ b^T over part s of k, and the square sums of a's rows.
    "tf32_hc_prenorm_gemm(Tensor a, Tensor b, Tensor(d!) d, Tensor(e!) sqr_sum, "
    "SymInt? num_splits=None) -> ()",
    // A router: experts of every token by sqrt(softplus(x @ weight^T)) + bias, and their weights.
    "bf16_mega_gate("
    "Tensor x, "
    "Tensor weight, "
    "SymInt num_topk, "
    "float routed_scaling_factor, "
    "Tensor(d!) topk_idx, "
    "Tensor(e!) topk_weights, "
    "Tensor? mask=None, "
    "Tensor? bias=None, "
    "Tensor? image_bias=None, "
    "Tensor? image_token_mask=None, "
    "Tensor? fix_routing_mask=None, "
    "Tensor? to_physical_map=None, "
    "Tensor? logical_count=None, "
    "Tensor? unmapped_topk_idx=None"
    ") -> ()",
    // No compute: the address of the host runtime, the same at every call.
    "get_jit() -> int",
};

const std::size_t kNumSchemas = sizeof(kSchemas) / sizeof(kSchemas[0]);

}  // namespace deep_gemm

REGISTER_EXTENSION_WITH(_C_extension, ::deep_gemm::kPythonMethods)
