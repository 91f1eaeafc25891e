// Indexer logits over contiguous or paged keys, any GPU from sm_80 on.            stem: logits
//   logits[i,j] = kv_scale[j] * sum over h of weights[i,h] * max(0, dot(q[i,h], kv[j]))
//   for starts[i] <= j < ends[i]; MX operands are dequantised first and have no kv_scale
// Grid: {tiles of 128 keys, groups of queries}; paged {slots of the schedule, blocks that share
// one}. A warp keeps 32 keys in registers as bf16, which holds every product of an FP8 or FP4 value
// and its UE8M0 scale; the block widens a query's heads into shared memory, and each warp
// multiplies them, eight heads at a time. Order: dot as the tensor core adds, heads ascending by
// fours, then over the four threads of a row. Hence a logit's bits depend on its own query and key
// alone.
#pragma once

#include <deep_gemm/abi/logits_params.h>
#include <deep_gemm/portable/dependent.cuh>
#include <deep_gemm/portable/widen_bf16.cuh>
#include <deep_gemm/ptx/memory.cuh>

namespace deep_gemm::portable {

// ---- Contract: what a plan may ask for (same words as plan/logits_plan) ----
template <LogitsConfig C>
struct LogitsContract {
  static_assert(C.head_dim % 32 == 0 && C.head_dim >= 32 && C.head_dim <= 128,
                "HEAD_DIM: 32, 64, 96 or 128");
};

// ---- Derived: numbers that follow from the configuration ----
template <LogitsConfig C>
struct LogitsDerived : LogitsContract<C> {
  static constexpr bool kIsMx = C.type != LogitsType::Fp8, kIsFp4 = C.type == LogitsType::Fp4Mx;
  static constexpr int kChunks = C.head_dim / 32;  // a chunk shares an MX scale
  static constexpr int kRowBytes = C.head_dim / (kIsFp4 ? 2 : 1);
  static constexpr int kPartBytes = kIsFp4 ? 4 : 8;  // eight elements: a thread's of a chunk
  // Bytes of a head in shared memory: rows begin half a line apart, so that two rows of 64 bytes
  // lie in different banks.
  static constexpr int kPitch = C.head_dim * 2 % 128 == 64 ? C.head_dim * 2 : C.head_dim * 2 + 64;
  static constexpr int kWarps = kPortableLogitsThreads / 32;
  static constexpr int kSets = kPortableLogitsKeys / kWarps / 16;  // of 16 keys a warp
};

// Eight elements at `data` as pairs of bf16, dequantised. Alignment: 4 bytes; FP8: 8 unless told.
template <LogitsConfig C>
DG_DEVICE void load_part(const u8* data, bool is_aligned, u32 exponent, u32 (&pairs)[4]) {
  using D = LogitsDerived<C>;
  const u32* words = reinterpret_cast<const u32*>(data);
  if constexpr (D::kIsFp4) {
    widen_e2m1(__ldg(words), pairs);
  } else {
    u32 codes[2];
    if (is_aligned) {
      const uint2 both = __ldg(reinterpret_cast<const uint2*>(data));
      codes[0] = both.x;
      codes[1] = both.y;
    } else {
      codes[0] = __ldg(words);
      codes[1] = __ldg(words + 1);
    }
    widen_e4m3(codes, pairs);
  }
  if constexpr (D::kIsMx) scale_ue8m0(pairs, exponent);
}

// ---- Keys: where they lie, and a warp's 32 of them in registers ----
template <LogitsConfig C>
struct KeyAt {
  const u8* data;
  const u32* scale;

  DG_DEVICE static KeyAt find(const LogitsParams& params, i64 group, i64 j) {
    constexpr i64 kBytes = LogitsDerived<C>::kRowBytes;
    if constexpr (C.is_paged) {
      const i64 page = j / params.page, at = j - page * params.page;
      const i64 block = __ldg(params.table + group * params.table_stride + page);
      const u8* base = static_cast<const u8*>(params.kv) + block * params.block_stride;
      return {base + at * kBytes, reinterpret_cast<const u32*>(base + params.page * kBytes) + at};
    } else {
      return {static_cast<const u8*>(params.kv) + j * params.kv_stride,
              static_cast<const u32*>(params.kv_scale) + j};
    }
  }
};

template <LogitsConfig C>
struct FoundKey {
  KeyAt<C> at;
  bool is_key;
};

template <LogitsConfig C>
struct Keys {
  using D = LogitsDerived<C>;
  u32 a[D::kSets][D::kChunks][2][4];  // rows lane / 4 and that plus 8
  i64 own;                            // the key whose logit this lane stores
  float scale;                        // of that key

  // find(j) is where the key of column j of the tile lies, and whether it exists; the others are
  // zero, and what is read in their place is any memory of a key's size.
  template <class Find>
  DG_DEVICE void load_found(const LogitsParams& params, i64 tile, const Find& find) {
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const i64 base = tile + warp * (16 * D::kSets);
    const u64 bits = reinterpret_cast<u64>(params.kv) | static_cast<u64>(params.block_stride);
    const bool is_aligned = !C.is_paged || bits % 8 == 0;
#pragma unroll
    for (int set = 0; set < D::kSets; ++set) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const FoundKey<C> found = find(base + set * 16 + half * 8 + lane / 4);
        u32 scales = 0;
        if constexpr (D::kIsMx) scales = __ldg(found.at.scale);
#pragma unroll
        for (int chunk = 0; chunk < D::kChunks; ++chunk) {
          load_part<C>(found.at.data + (4 * chunk + lane % 4) * D::kPartBytes, is_aligned,
                       scales >> (8 * chunk) & 0xFFu, a[set][chunk][half]);
          if (!found.is_key) {
#pragma unroll
            for (int i = 0; i < 4; ++i) a[set][chunk][half][i] = 0;
          }
        }
      }
    }
    // After `reduce` lane 4r + c has key r of half c % 2 of set c / 2.
    own = base + (lane % 4 / 2) * 16 + (lane % 2) * 8 + lane / 4;
    scale = 1.0f;
    if constexpr (!D::kIsMx) {
      const FoundKey<C> found = find(own);
      if (found.is_key) scale = __uint_as_float(__ldg(found.at.scale));
    }
  }

  // Keys [first, last) exist.
  DG_DEVICE void load(const LogitsParams& params, i64 group, i64 tile, i64 first, i64 last) {
    load_found(params, tile, [&](i64 j) {
      const bool is_key = j >= first && j < last;
      return FoundKey<C>{KeyAt<C>::find(params, group, is_key ? j : first), is_key};
    });
  }
};

// ---- Queries: one row's heads in shared memory, as bf16, with their weights ----
template <LogitsConfig C>
struct Heads {
  using D = LogitsDerived<C>;

  DG_DEVICE static float* weights(u8* shared, i32 padded) {
    return reinterpret_cast<float*>(shared + padded * D::kPitch);
  }

  // All threads; heads past the last are zero.
  DG_DEVICE static void load(const LogitsParams& params, i64 row, i32 padded, u8* shared) {
    for (i32 i = threadIdx.x; i < padded * D::kChunks * 4; i += kPortableLogitsThreads) {
      const i32 head = i / (D::kChunks * 4), part = i % (D::kChunks * 4);
      u32 pairs[4] = {0, 0, 0, 0};
      if (head < params.heads) {
        const i64 at = row * params.heads + head;
        u32 scales = 0;
        if constexpr (D::kIsMx) scales = __ldg(static_cast<const u32*>(params.q_scale) + at);
        load_part<C>(static_cast<const u8*>(params.q) + at * D::kRowBytes + part * D::kPartBytes,
                     true, scales >> (8 * (part / 4)) & 0xFFu, pairs);
      }
      *reinterpret_cast<uint4*>(shared + head * D::kPitch + part * 16) =
          make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    }
    for (i32 head = threadIdx.x; head < padded; head += kPortableLogitsThreads) {
      const i64 at = row * params.weights_stride + head;
      float weight = 0.0f;
      if (head < params.heads) {
        weight =
            params.bf16_weights
                ? __uint_as_float(
                      static_cast<u32>(__ldg(static_cast<const u16*>(params.weights) + at)) << 16)
                : __ldg(static_cast<const float*>(params.weights) + at);
      }
      weights(shared, padded)[head] = weight;
    }
  }
};

// ---- A warp: its keys against the heads in shared memory ----
template <LogitsConfig C>
DG_DEVICE float weigh(const Keys<C>& keys, u8* shared, i32 padded) {
  using D = LogitsDerived<C>;
  static_assert(D::kSets == 2, "a lane stores one key of four");
  const u32 lane = threadIdx.x % 32;
  const float* weights = Heads<C>::weights(shared, padded) + lane % 4 * 2;
  const u8* row = shared + lane / 4 * D::kPitch + lane % 4 * 16;
  float sum[D::kSets][2] = {};
  for (i32 head = 0; head < padded; head += 8, row += 8 * D::kPitch) {
    float dot[D::kSets][4] = {};
#pragma unroll
    for (int chunk = 0; chunk < D::kChunks; ++chunk) {
      const uint4 b = *reinterpret_cast<const uint4*>(row + chunk * 64);
#pragma unroll
      for (int set = 0; set < D::kSets; ++set) {
        const auto& a = keys.a[set][chunk];
        ptx::mma_bf16(dot[set], a[0][0], a[1][0], a[0][1], a[1][1], b.x, b.y);
        ptx::mma_bf16(dot[set], a[0][2], a[1][2], a[0][3], a[1][3], b.z, b.w);
      }
    }
    const float w0 = weights[head], w1 = weights[head + 1];
#pragma unroll
    for (int set = 0; set < D::kSets; ++set) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        sum[set][half] = __fmaf_rn(w0, ptx::relu(dot[set][2 * half]), sum[set][half]);
        sum[set][half] = __fmaf_rn(w1, ptx::relu(dot[set][2 * half + 1]), sum[set][half]);
      }
    }
  }
  // Of two sums a lane keeps the one that its bit names and gets the neighbour's part of it.
  const auto trade = [lane](float zero, float one, u32 bit) {
    const bool is_second = (lane & bit) != 0;
    return (is_second ? one : zero) + __shfl_xor_sync(0xffffffff, is_second ? zero : one, bit);
  };
  return trade(trade(sum[0][0], sum[0][1], 1), trade(sum[1][0], sum[1][1], 1), 2);
}

DG_DEVICE void store_logit(const LogitsParams& params, i64 row, i64 column, float x) {
  const i64 at = row * params.logits_stride + column;
  if (params.bf16_logits) {
    static_cast<u16*>(params.logits)[at] = static_cast<u16>(ptx::pack_bf16(x, 0.0f));
  } else {
    static_cast<float*>(params.logits)[at] = x;
  }
}

// ---- One tile of keys against the rows [row0, row1) ----
template <LogitsConfig C>
struct Tile {
  const LogitsParams& params;
  u8* shared;
  i32 padded;
  i64 loaded = -1;  // the row whose heads are in shared memory

  DG_DEVICE i64 start_of(i64 row) const {
    return C.is_paged ? 0 : max(static_cast<i64>(__ldg(params.starts + row)), i64{0});
  }
  DG_DEVICE i64 end_of(i64 row) const {
    return min(static_cast<i64>(__ldg(params.ends + row)), params.keys);
  }

  // Keys from `last` on are another block's.
  DG_DEVICE void run(i64 group, i64 row0, i64 row1, i64 tile, i64 last) {
    i64 low = last, high = tile;
    for (i64 row = row0; row < row1; ++row) {
      const i64 start = max(start_of(row), tile), end = min(end_of(row), last);
      if (start >= end) continue;
      low = min(low, start);
      high = max(high, end);
    }
    Keys<C> keys;
    if (low < high) {
      keys.load(params, group, tile, low, high);
    } else if (!params.clean) {
      return;
    } else {
      keys.own = tile + threadIdx.x;  // any key of the tile, each once
    }
    for (i64 row = row0; row < row1; ++row) {
      const i64 start = start_of(row), end = end_of(row);
      float logit = 0.0f;
      if (max(start, tile) < min(end, last)) {  // the same for the whole block
        if (loaded != row) {
          __syncthreads();
          Heads<C>::load(params, row, padded, shared);
          loaded = row;
          __syncthreads();
        }
        logit = weigh<C>(keys, shared, padded) * keys.scale;
      }
      const bool is_inside = keys.own >= start && keys.own < end;
      if (keys.own >= last || !(is_inside || (params.clean && keys.own < params.keys))) continue;
      const i64 column = keys.own - (params.compressed ? start : 0);
      if (column < params.width)
        store_logit(params, row, column, is_inside ? logit : __uint_as_float(0xFF800000u));
    }
  }
};

// ---- Body ----
template <LogitsConfig C>
DG_DEVICE void mqa_logits(const LogitsParams& params, u8* shared) {
  wait_for_dependency();
  Tile<C> work{params, shared, (params.heads + 7) / 8 * 8};
  if constexpr (!C.is_paged) {
    const i64 tile = static_cast<i64>(blockIdx.x) * kPortableLogitsKeys;
    const i64 row0 = static_cast<i64>(blockIdx.y) * params.block_rows;
    work.run(0, row0, min(row0 + params.block_rows, params.rows), tile,
             min(tile + kPortableLogitsKeys, params.keys));
  } else {
    const i32* slot = params.schedule + 2 * blockIdx.x;
    const i64 first_request = __ldg(slot), first_tile = __ldg(slot + 1);
    const i64 last_request = __ldg(slot + 2), last_tile = __ldg(slot + 3);
    const i64 requests = params.rows / params.next_n;
    for (i64 request = first_request; request <= last_request && request < requests; ++request) {
      const i64 row0 = request * params.next_n, row1 = row0 + params.next_n;
      const i64 begin = request == first_request ? first_tile * kScheduleKeys : 0;
      i64 end = work.end_of(row1 - 1);
      if (request == last_request) end = min(end, last_tile * kScheduleKeys);
      for (i64 tile = begin + static_cast<i64>(blockIdx.y) * kPortableLogitsKeys; tile < end;
           tile += static_cast<i64>(gridDim.y) * kPortableLogitsKeys) {
        work.run(request, row0, row1, tile, min(tile + kPortableLogitsKeys, end));
      }
    }
  }
  release_dependents();
}

}  // namespace deep_gemm::portable
