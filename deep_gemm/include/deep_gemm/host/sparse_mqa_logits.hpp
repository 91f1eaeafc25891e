// Indexer logits over chosen blocks of keys, on a CPU.               stem: sparse_logits
// Column j * sparse_block + o of a query is the logit of token o of its j-th block, as its entry
// says (abi/sparse_params.h); -inf where that is not visible.
// Grid: {tiles of kHostLogitsKeys columns, queries}; a block decodes the keys of its columns and
// runs its query over them. Order and bits of a logit: those of mqa_logits.hpp.
//   constexpr LogitsConfig kConfig{.sparse_block = 16, ...};
//   extern "C" void host_fp8_sparse_mqa_logits(const DjHostBlock* block, void* const* args) {
//     deep_gemm::host::sparse_mqa_logits<kConfig>(*block,
//         *static_cast<const LogitsParams*>(args[0]));
//   }
#pragma once

#include <deep_gemm/abi/sparse_params.h>
#include <deep_gemm/host/mqa_logits.hpp>

namespace deep_gemm::host {

// Where the key of a visible column lies; no data: it is not visible.
template <LogitsConfig C>
inline KeyAt sparse_key_at(const LogitsParams& p, std::int64_t row, std::int64_t column) {
  constexpr std::int64_t kBytes = LogitsDerived<C>::kRowBytes;
  if (column >= p.width) return {};
  const std::int64_t at = row * (p.width / C.sparse_block) + column / C.sparse_block;
  const SparseEntry entry = reinterpret_cast<const SparseEntry*>(p.schedule)[at];
  const auto offset = static_cast<int>(column % C.sparse_block);
  if (offset < entry.low || offset >= entry.high) return {};
  const auto* kv = static_cast<const std::uint8_t*>(p.kv);
  if constexpr (C.is_paged) {
    const std::int64_t token = std::int64_t{entry.first} * C.sparse_block + offset;
    const std::uint8_t* base = kv + token / p.page * p.block_stride;
    return {base + token % p.page * kBytes, base + p.page * kBytes + token % p.page * 4};
  } else {
    const std::int64_t token = std::int64_t{entry.first} + offset;
    return {kv + token * p.kv_stride, static_cast<const std::uint8_t*>(p.kv_scale) + token * 4};
  }
}

// ---- Body: one block of the grid ----
template <LogitsConfig C>
void sparse_mqa_logits(const DjHostBlock& block, const LogitsParams& p) {
  static_assert(C.sparse_block == 8 || C.sparse_block == 16, "SPARSE_BLOCK: 8 or 16");
  const std::int64_t tile = std::int64_t{block.index[0]} * kHostLogitsKeys, row = block.index[1];
  LogitsScratch<C> scratch;
  bool is_visible[kHostLogitsKeys];
  decode_found<C>(
      [&](int c) {
        const KeyAt at = sparse_key_at<C>(p, row, tile + c);
        is_visible[c] = at.data != nullptr;
        return at;
      },
      scratch);
  std::memset(scratch.sums, 0, sizeof(scratch.sums));
  weigh_row<C>(p, row, scratch);
  for (int c = 0; c < kHostLogitsKeys && tile + c < p.width; ++c) {
    const float logit = scratch.sums[c] * scratch.scale[c];
    store_logit(p, row, tile + c, is_visible[c] ? logit : -__builtin_inff());
  }
}

}  // namespace deep_gemm::host
