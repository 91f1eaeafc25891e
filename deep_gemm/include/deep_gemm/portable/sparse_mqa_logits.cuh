// Indexer logits over chosen blocks of keys, any GPU from sm_80 on.  stem: sparse_logits
// Column j * sparse_block + o of a query is the logit of token o of its j-th block, as its entry
// says (abi/sparse_params.h); -inf where that is not visible.
// Grid: {queries, blocks that share the columns of one}. A block widens its query's heads into
// shared memory once; then every warp takes tiles of columns, 32 at a time, by itself. Order and
// bits of a logit: those of mqa_logits.cuh.
#pragma once

#include <deep_gemm/abi/sparse_params.h>
#include <deep_gemm/portable/mqa_logits.cuh>

namespace deep_gemm::portable {

// The key of a column; where it is not visible, the query's own memory is read instead.
template <LogitsConfig C>
DG_DEVICE FoundKey<C> find_sparse(const LogitsParams& params, i64 row, i64 column) {
  using D = LogitsDerived<C>;
  const FoundKey<C> none{
      {static_cast<const u8*>(params.q), static_cast<const u32*>(params.q_scale)}, false};
  if (column >= params.width) return none;
  const i64 index = row * (params.width / C.sparse_block) + column / C.sparse_block;
  const int2 words = __ldg(reinterpret_cast<const int2*>(params.schedule) + index);
  const i32 offset = static_cast<i32>(column % C.sparse_block);
  const i32 low = words.y & 0xFFFF, high = words.y >> 16;  // as SparseEntry has them
  if (offset < low || offset >= high) return none;
  const u8* kv = static_cast<const u8*>(params.kv);
  if constexpr (C.is_paged) {
    const i64 token = static_cast<i64>(words.x) * C.sparse_block + offset;
    const i64 page = token / params.page, at = token - page * params.page;
    const u8* base = kv + page * params.block_stride;
    const u8* scales = base + static_cast<i64>(params.page) * D::kRowBytes;
    return {{base + at * D::kRowBytes, reinterpret_cast<const u32*>(scales) + at}, true};
  } else {
    const i64 token = static_cast<i64>(words.x) + offset;
    return {{kv + token * params.kv_stride, static_cast<const u32*>(params.kv_scale) + token},
            true};
  }
}

// ---- Body ----
template <LogitsConfig C>
DG_DEVICE void sparse_mqa_logits(const LogitsParams& params, u8* shared) {
  static_assert(C.sparse_block == 8 || C.sparse_block == 16, "SPARSE_BLOCK: 8 or 16");
  wait_for_dependency();
  const i32 padded = (params.heads + 7) / 8 * 8;
  const i64 row = blockIdx.x;
  Heads<C>::load(params, row, padded, shared);
  __syncthreads();
  for (i64 tile = static_cast<i64>(blockIdx.y) * kPortableLogitsKeys; tile < params.width;
       tile += static_cast<i64>(gridDim.y) * kPortableLogitsKeys) {
    Keys<C> keys;
    keys.load_found(params, tile, [&](i64 j) { return find_sparse<C>(params, row, j); });
    const float logit = weigh<C>(keys, shared, padded) * keys.scale;
    if (keys.own < params.width) {
      const bool is_visible = find_sparse<C>(params, row, keys.own).is_key;
      store_logit(params, row, keys.own, is_visible ? logit : __uint_as_float(0xFF800000u));
    }
  }
  release_dependents();
}

}  // namespace deep_gemm::portable
