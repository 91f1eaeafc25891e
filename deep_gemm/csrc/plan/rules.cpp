#include <deep_gemm/csrc/plan/rules.hpp>

#include <deep_jit/utils/exception.hpp>

namespace deep_gemm {
namespace {

constexpr bool kArgument = false;
constexpr bool kUnsupported = true;

// In the order of Rule, which is checked below. Longer than usual: one table of all wording.
constexpr RuleInfo kRules[] = {
    {Rule::None, "NONE", kArgument, "nothing is wrong.", "report this message."},

    {Rule::OneDevice, "ONE_DEVICE", kArgument,
     "all tensors of a call are on one device, here {0}, that of a.",
     "move it with .to(a.device)."},
    {Rule::DeviceKind, "DEVICE_KIND", kUnsupported, "operators run on cpu and cuda tensors.",
     "move the tensors there, or use torch's own matmul."},
    {Rule::DtypeFp8, "DTYPE_FP8", kArgument,
     "a scaled operand is float8_e4m3fn, or int8 that holds two E2M1 values a byte.",
     "quantise with per_token_cast_to_fp8, or view the bytes as one of these."},
    {Rule::DtypeBf16, "DTYPE_BF16", kArgument, "both operands of a bf16 GEMM are bfloat16.",
     "use .bfloat16()."},
    {Rule::DtypeScale, "DTYPE_SCALE", kArgument,
     "scales are float32, used exactly as given, or int32 that holds four UE8M0 exponents.",
     "use .float(), or pack with get_mn_major_tma_aligned_packed_ue8m0_tensor."},
    {Rule::DtypeOut, "DTYPE_OUT", kArgument, "d is bfloat16 or float32.",
     "allocate d as one of these, and cast afterwards where another type is wanted."},
    {Rule::DtypeC, "DTYPE_C", kArgument, "c has the dtype of d, here {0}.",
     "cast c, or allocate d as c is."},
    {Rule::RankMatrix, "RANK_MATRIX", kArgument, "{0} is a matrix, with 2 dimensions.",
     "flatten the leading dimensions with .flatten(0, -2)."},
    {Rule::SameK, "SAME_K", kArgument, "a and b agree on k: a has k={0}, b has k={1}.",
     "check the letters of the name: {2} takes a as {3} and b as {4}."},
    {Rule::ShapeD, "SHAPE_D", kArgument, "d is (m, n), here ({0}, {1}).",
     "allocate d with torch.empty(({0}, {1}), dtype=..., device=a.device)."},
    {Rule::ShapeC, "SHAPE_C", kArgument, "c has the shape of d, here ({0}, {1}).",
     "expand c first: broadcasting is not done."},

    {Rule::RecipeWhole, "RECIPE_WHOLE", kArgument,
     "a recipe gives all of gran_m, gran_n and gran_k, or none of them.",
     "pass recipe=(1, 128, 128), or leave it out."},
    {Rule::RecipeGranMn, "RECIPE_GRAN_MN", kUnsupported, "a scale covers 1 or 128 rows.",
     "requantise, or repeat the scales to one per row and use granularity 1."},
    {Rule::RecipeGranK, "RECIPE_GRAN_K", kUnsupported, "a scale covers 32, 64 or 128 of k.",
     "requantise with gran_k=128."},
    {Rule::ScaleRows, "SCALE_ROWS", kArgument,
     "one scale per {0} of {1}, so {1}={2} needs {3} {4}.",
     "quantise {5} again with this recipe, or pass the recipe that it was quantised with."},
    {Rule::ScaleColumns, "SCALE_COLUMNS", kArgument,
     "one scale per {0} of k{1}, so k={2} needs {3} {4}.",
     "quantise {5} again with this recipe, or pass the recipe that it was quantised with."},

    {Rule::UnitStride, "UNIT_STRIDE", kArgument, "one of the two directions has stride 1.",
     "use .contiguous()."},
    {Rule::OutUnitStride, "OUT_UNIT_STRIDE", kArgument,
     "rows of {0} are contiguous: its last stride is 1.",
     "pass {0}.contiguous(); write into a transposed view by swapping a and b instead."},
    {Rule::OutRows, "OUT_ROWS", kArgument,
     "rows of d do not overlap: with n={0} its row stride is {0} or more.",
     "allocate d with torch.empty, or pass a view of columns."},
    {Rule::AliasLayout, "ALIAS_LAYOUT", kArgument,
     "c that starts where d does is d: same strides, here {0}.",
     "pass c=d to accumulate in place, or a copy of c."},

    {Rule::RankGroups, "RANK_GROUPS", kArgument, "{0} has 3 dimensions, groups first.",
     "stack the matrices of the groups with torch.stack."},
    {Rule::SameGroups, "SAME_GROUPS", kArgument,
     "all stacked tensors have as many groups as the first, here {0}.", "pass one matrix a group."},
    {Rule::SomeGroups, "SOME_GROUPS", kArgument, "there is at least one group.", "skip the call."},
    {Rule::GroupedK, "GROUPED_K", kArgument, "k of a group is at least 1.",
     "skip the call, or clear d."},
    {Rule::GroupedAMajor, "GROUPED_A_MAJOR", kUnsupported,
     "a of a GEMM grouped along m has contiguous rows.", "use .contiguous()."},
    {Rule::GroupsApart, "GROUPS_APART", kArgument,
     "groups of d do not overlap: each has {0} rows of {1}.", "allocate d with torch.empty."},
    {Rule::GroupsContiguous, "GROUPS_CONTIGUOUS", kArgument, "{0} is contiguous.",
     "use .contiguous()."},
    {Rule::GroupAlignment, "GROUP_ALIGNMENT", kArgument,
     "groups start at multiples of a positive number.",
     "call set_mk_alignment_for_contiguous_layout(128)."},
    {Rule::GroupAlignmentK, "GROUP_ALIGNMENT_K", kArgument,
     "where k is contiguous, groups start at multiples of {0} along it.",
     "call set_mk_alignment_for_contiguous_layout with a multiple of it."},
    {Rule::LayoutInt32, "LAYOUT_INT32", kArgument, "group numbers, ends and sizes are int32.",
     "use .int()."},
    {Rule::LayoutVector, "LAYOUT_VECTOR", kArgument, "it is a contiguous vector.",
     "use .flatten().contiguous()."},
    {Rule::LayoutLength, "LAYOUT_LENGTH", kArgument, "it has {0}, here {1}.",
     "check use_psum_layout: with it there is one end a group, without it one number a row."},
    {Rule::LabelRange, "LABEL_RANGE", kArgument,
     "a row's group is -1 or from 0 to {0}, row {1} has {2}.", "mark padding with -1."},
    {Rule::LabelTile, "LABEL_TILE", kArgument,
     "the rows of an aligned tile of {0} have one group: rows {1} and {2} have {3} and {4}.",
     "start each group at a multiple of get_mk_alignment_for_contiguous_layout()."},
    {Rule::EndOrder, "END_ORDER", kArgument,
     "a group ends at or after its aligned start, and within {0}: group {1} starts at {2} and ends "
     "at {3}.",
     "give an empty group the aligned end of the one before it."},
    {Rule::CountRange, "COUNT_RANGE", kArgument,
     "a group has from 0 to {0} rows: group {1} has {2}.",
     "clamp the counts, or allocate more rows a group."},
    {Rule::KSizesGiven, "K_SIZES_GIVEN", kArgument,
     "sizes along k are given, unless use_psum_layout is set.",
     "pass ks_cpu as a list of integers."},
    {Rule::KSizesHost, "K_SIZES_HOST", kArgument, "sizes along k are a vector in host memory.",
     "use .cpu()."},
    {Rule::KSizesLength, "K_SIZES_LENGTH", kArgument,
     "there is one size along k for each of the {0} groups.", "pass 0 for an empty group."},
    {Rule::KSizesMultiple, "K_SIZES_MULTIPLE", kArgument,
     "sizes along k are multiples of {0}, 0 included.", "pad each group with zeros along k."},
    {Rule::KSizesSum, "K_SIZES_SUM", kArgument,
     "the operands have {0} along k, the sizes add up to {1}.",
     "pass the size of each group along k."},
    {Rule::KSizesLayout, "K_SIZES_LAYOUT", kArgument,
     "grouped_layout holds the sizes of ks_cpu: group {0} has {1} there and {2} here.",
     "make grouped_layout from the same list."},
    {Rule::KGroupedFlat, "K_GROUPED_FLAT", kArgument,
     "it is contiguous and holds, for each group, {0} rows of the group's k.",
     "concatenate the flattened blocks of the groups."},
    {Rule::KScales, "K_SCALES", kArgument,
     "one scale per {0} of k, new for each group, so {1} are needed.",
     "quantise each group by itself and concatenate the scales."},
    {Rule::LogitsDtype, "LOGITS_DTYPE", kArgument,
     "q and the keys are float8_e4m3fn both, or int8 both, with two E2M1 values a byte.",
     "quantise with per_token_cast_to_fp8 or per_token_cast_to_fp4, q and keys alike."},
    {Rule::LogitsScale, "LOGITS_SCALE", kArgument,
     "keys have a float32 scale each and q none; or q and keys both have int32 words with four "
     "UE8M0 exponents, one per 32 elements, which FP4 always has.",
     "pass q=(data, None) with float32 scales of the keys, or packed scales for both."},
    {Rule::LogitsWeights, "LOGITS_WEIGHTS", kArgument, "weights are float32 or bfloat16.",
     "use .float()."},
    {Rule::LogitsInt32, "LOGITS_INT32", kArgument, "{0} is int32.", "use .to(torch.int32)."},
    {Rule::LogitsRank, "LOGITS_RANK", kArgument, "{0} has {1} dimensions: {2}.",
     "use .view() with these sizes."},
    {Rule::LogitsShape, "LOGITS_SHAPE", kArgument, "{0} is ({1}), here ({2}).",
     "pass the tensor of this very call."},
    {Rule::LogitsContiguous, "LOGITS_CONTIGUOUS", kArgument, "{0} is contiguous{1}.",
     "use .contiguous()."},
    {Rule::LogitsHeads, "LOGITS_HEADS", kUnsupported, "a query has 1 to 128 heads.",
     "split the heads and add the logits of the parts."},
    {Rule::LogitsHeadDim, "LOGITS_HEAD_DIM", kUnsupported, "a head has 32, 64, 96 or 128 elements.",
     "pad q and the keys with zeros to the next of these."},
    {Rule::LogitsClean, "LOGITS_CLEAN", kArgument,
     "{0} logits are not cleaned: clean_logits is False there.",
     "pass clean_logits=False, and mask by the lengths where it matters."},
    {Rule::LogitsWidth, "LOGITS_WIDTH", kArgument, "{0} is not negative.",
     "pass the longest range of any query."},
    {Rule::LogitsSchedule, "LOGITS_SCHEDULE", kArgument,
     "schedule_meta is contiguous int32 ({0}, 2), by num_sms={1}.",
     "call get_paged_mqa_logits_metadata(context_lens, block_kv, get_num_sms()) again."},
    {Rule::LogitsCache, "LOGITS_CACHE", kArgument,
     "kv_cache is uint8 (blocks, page, 1, {0}) with strides (any multiple of 4, {0}, any, 1): a "
     "block holds the values of its keys, then a 4-byte scale a key.",
     "allocate it as torch.empty((blocks, page, 1, {0}), dtype=torch.uint8)."},
    {Rule::LogitsAligned, "LOGITS_ALIGNED", kArgument, "{0} begins at a multiple of {1} bytes.",
     "pass a copy, or a view that begins there."},
    {Rule::LogitsPage, "LOGITS_PAGE", kArgument, "a page has 1 to 65536 keys; 64 is the fastest.",
     "pass the block_kv of the cache."},
    {Rule::LogitsBlocks, "LOGITS_BLOCKS", kArgument,
     "kv_cache has a block at least, where a query may have keys.",
     "allocate one block, which lengths of 0 leave unread."},
    {Rule::SparseCount, "SPARSE_COUNT", kArgument,
     "a query has 4 to 4096 chosen blocks, a multiple of 4.",
     "pad the rows of sparse_kv_block_indices with -1."},
    {Rule::SparseBlock, "SPARSE_BLOCK", kArgument, "a chosen block has 8 or 16 keys.",
     "pass sparse_block_kv=16."},
    {Rule::SparsePage, "SPARSE_PAGE", kArgument, "a page holds whole blocks of {0} keys.",
     "choose blocks that divide the pages of the cache."},
    {Rule::SparseRows, "SPARSE_ROWS", kUnsupported, "a call has at most 2^20 queries.",
     "split the queries."},
    {Rule::SparseKeys, "SPARSE_KEYS", kArgument, "keys are counted from 0 to 2^31 - 1.",
     "pass the number of keys."},
    {Rule::SparseMetadata, "SPARSE_METADATA", kArgument,
     "metadata is contiguous uint8 with {0} bytes here, from a multiple of 8 bytes on: eight a "
     "query and chosen block.",
     "call get_sparse_mqa_logits_metadata or get_paged_sparse_mqa_logits_metadata for this q."},
    {Rule::GateDtype, "GATE_DTYPE", kArgument, "{0} is {1}.", "cast it with .to()."},
    {Rule::GateShape, "GATE_SHAPE", kArgument, "{0} is ({1}) here.",
     "pass the tensor of this very call."},
    {Rule::GateContiguous, "GATE_CONTIGUOUS", kArgument, "{0} is contiguous.",
     "use .contiguous()."},
    {Rule::GateSizes, "GATE_SIZES", kArgument,
     "a token has 1 or more elements, and there are fewer than 2^31 tokens.", "split the tokens."},
    {Rule::GateExperts, "GATE_EXPERTS", kUnsupported, "there are 1 to 512 experts.",
     "multiply with bf16_gemm_nt and choose with torch.topk."},
    {Rule::GateTopk, "GATE_TOPK", kArgument,
     "num_topk is 1 to {0}, and no more than the experts, here {1}.", "pass a number of these."},
    {Rule::GateTogether, "GATE_TOGETHER", kArgument, "{0} needs {1}, and they come together.",
     "pass both of them, or none."},
    {Rule::GateCopies, "GATE_COPIES", kArgument, "an expert has 1 to 65536 copies.",
     "give the map a column a copy."},
    {Rule::HcDtype, "HC_DTYPE", kArgument, "a is bfloat16; b, d and sqr_sum are float32.",
     "cast a with .bfloat16() and b with .float(), and allocate the outputs as float32."},
    {Rule::HcSameK, "HC_SAME_K", kArgument,
     "a is (m, k) and b is (n, k): a has k={0}, b has k={1}.",
     "transpose the operand that is stored the other way."},
    {Rule::HcSizes, "HC_SIZES", kArgument, "{0} are at least 1 (m may be 0) and below 2^31.",
     "drop the call, or split its rows."},
    {Rule::HcSplits, "HC_SPLITS", kArgument,
     "num_splits is 1 to 65535, or None for outputs without that dimension.",
     "pass num_splits=16, or leave it out."},
    {Rule::HcOutputShape, "HC_OUTPUT_SHAPE", kArgument,
     "{0} is {1} here: num_splits, where given, is its first size.",
     "allocate it with torch.empty({1}, dtype=torch.float32, device=a.device)."},
    {Rule::HcOutputContiguous, "HC_OUTPUT_CONTIGUOUS", kArgument, "{0} is contiguous.",
     "allocate it with torch.empty, and copy it into the view afterwards."},
    {Rule::HcKMajor, "HC_K_MAJOR", kArgument, "rows of {0} are contiguous: its last stride is 1.",
     "use .contiguous()."},

    {Rule::NoKernelForDevice, "NO_KERNEL_FOR_DEVICE", kUnsupported,
     "this build has no kernel of this operator for {0}.",
     "call it on cpu tensors, or use torch's own matmul on dequantised operands."},
    {Rule::TileRows, "TILE_ROWS", kUnsupported,
     "a register tile has 1 to 7 rows or a multiple of 8.", "correct the tile table."},
    {Rule::VectorBytes, "VECTOR_BYTES", kUnsupported,
     "registers of the target have 16, 32 or 64 bytes, here {0}.",
     "name an arch with one of these."},
    {Rule::Workspace, "WORKSPACE", kUnsupported,
     "a thread's workspace fits {0} bytes, this tile needs {1}.", "correct the tile table."},
    {Rule::SizeLimit, "SIZE_LIMIT", kUnsupported,
     "on CUDA each of m, n and k is at most {0}, here {1}.",
     "split the call along that direction."},
    {Rule::TileAtom, "TILE_ATOM", kUnsupported,
     "sides of a tile are whole multiples of {0}, here {1}.", "correct the tile table."},
    {Rule::Registers, "REGISTERS", kUnsupported,
     "a thread has {0} registers for sums and products, not {1}.", "correct the tile table."},
    {Rule::SmemBytes, "SMEM_BYTES", kUnsupported,
     "a block of this device has {0} bytes of shared memory, not {1}.", "correct the tile table."},
    {Rule::Sm90Operands, "SM90_OPERANDS", kUnsupported,
     "the Hopper kernels take K-major E4M3 with float32 scales of (1, 128) and (128, 128) or "
     "(1, 128), added to nothing or to a float32 d, or bfloat16; without alpha.",
     "nothing: the portable kernel takes the call."},
    {Rule::TmaAlignment, "TMA_ALIGNMENT", kUnsupported,
     "the Hopper kernel takes addresses and rows on multiples of {0} bytes.",
     "nothing: the portable kernel takes the call; align for speed."},

    {Rule::MegaPositive, "MEGA_POSITIVE", kArgument, "{0} is a positive number.",
     "pass how many there are."},
    {Rule::MegaExperts, "MEGA_EXPERTS", kArgument,
     "every rank has as many experts: a multiple of {0}.",
     "pass the number of experts of all ranks together."},
    {Rule::MegaWidth, "MEGA_WIDTH", kArgument, "{0} is a positive multiple of 128.",
     "pad the weights with zeros."},
    {Rule::MegaRing, "MEGA_RING", kArgument, "the ring holds {0} .. {1} tokens.",
     "leave it out for the default, or ask get_ring_limit_for_mega_moe."},
    {Rule::MegaTypes, "MEGA_TYPES", kArgument, "mma_type is fp8xfp4, bf16xbf16 or fp4xfp4.",
     "use one of these names."},
    {Rule::MegaLayout, "MEGA_LAYOUT", kArgument,
     "a layout is the list that get_symm_buffer_size_for_mega_moe returned.",
     "pass that list unchanged."},
    {Rule::MegaBuffer, "MEGA_BUFFER", kArgument,
     "the buffer is contiguous, one byte an element, {0} or more of them.",
     "allocate it with torch.zeros({0}, dtype=torch.int8, device=...)."},

    {Rule::KnownOp, "KNOWN_OP", kArgument, "the operators are {0}.", "use one of these names."},
    {Rule::KnownKey, "KNOWN_KEY", kArgument, "the keys of this question are {0}.",
     "use one of these keys."},
    {Rule::Described, "DESCRIBED", kArgument, "{0}.", "see csrc/control.h for the form."},

    {Rule::EinsumExpression, "EINSUM_EXPRESSION", kUnsupported,
     "Unsupported einsum expression: {0}. There are bhr,hdr->bhd, bhd,hdr->bhr, bhd,bhr->hdr and, "
     "in bfloat16, bmk,bnk->mn.",
     "write the product as one of these, or use torch.einsum."},
    {Rule::EinsumRank, "EINSUM_RANK", kArgument, "{0} has 3 dimensions, one a letter.",
     "add the missing one with [None]."},
    {Rule::EinsumBatch, "EINSUM_BATCH", kArgument,
     "all tensors have the same batch: a has {0}, dimension {2} here has {1}.",
     "check the letters of the expression against the shapes."},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < sizeof(kRules) / sizeof(kRules[0]); ++i)
    if (kRules[i].rule != static_cast<Rule>(i)) return false;
  return sizeof(kRules) / sizeof(kRules[0]) == static_cast<std::size_t>(Rule::Count);
}
static_assert(is_in_order(), "rules.hpp and this table name the same rules in the same order");

std::string fill(const char* text, std::initializer_list<Detail> details) {
  std::string filled;
  for (const char* p = text; *p != '\0'; ++p) {
    if (p[0] == '{' && p[1] >= '0' && p[1] <= '9' && p[2] == '}') {
      const auto at = static_cast<std::size_t>(p[1] - '0');
      if (at < details.size()) filled += (details.begin() + at)->text();
      p += 2;
    } else {
      filled += *p;
    }
  }
  return filled;
}

}  // namespace

const RuleInfo& rule_info(Rule rule) { return kRules[static_cast<int>(rule)]; }

std::string refusal_text(Rule rule, const Refused& what, std::initializer_list<Detail> details) {
  const RuleInfo& info = rule_info(rule);
  std::string text = "deep_gemm.";
  text.append(what.op).append(": ").append(what.argument).append(": given ").append(what.given);
  text.append(".\n  Rule ").append(info.name).append(": ").append(fill(info.sentence, details));
  text.append("\n  Fix: ").append(fill(info.fix, details));
  return text;
}

void refuse(Rule rule, const Refused& what, std::initializer_list<Detail> details) {
  using deep_jit::exception::Exception;
  using deep_jit::exception::Kind;
  throw Exception(rule_info(rule).is_unsupported ? Kind::kUnsupported : Kind::kInvalidArgument,
                  __FILE__, __LINE__, rule_info(rule).name, refusal_text(rule, what, details));
}

}  // namespace deep_gemm
