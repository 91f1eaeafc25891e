// Hyper-connection product and square sums, sm_80 and later.                       stem: hc
//   d[s,m,n] = sum over k in split s of a[m,k] * tf32(b[n,k]);   sqr_sum[s,m] = sum of a[m,k]^2
// Grid: {row tiles * splits (splits innermost), column groups}.  Roles: warps_m x warps_k warps
// alike. A is bf16 and TF32(b) is exactly a sum of two bf16 values, so mma.sync multiplies A by
// both terms. A goes from memory to registers alone: a lane's 16 bytes of a row are its share of
// two products, with k permuted in A and B alike. B's terms wait in shared memory in the order in
// which lanes read them (chunk_k), or each warp splits what it needs. Warps of one row tile add
// their sums in fixed order. A row of A that holds an infinity gives NaN where a low term is zero.
// Dependent launch: waits before the first global read, releases after the last store.
#pragma once

#include <deep_gemm/abi/hc_flat_params.h>
#include <deep_gemm/numeric/tf32.cuh>
#include <deep_gemm/ptx/griddep.cuh>
#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/ptx/mma_bf16.cuh>

namespace deep_gemm::portable {

// ---- Contract: what a plan may ask for (same words as plan/hc_legality) ----
template <HcFlatConfig C>
struct HcContract {
  static_assert(C.columns >= 8 && C.columns <= 32 && C.columns % 8 == 0,
                "COLUMNS: whole groups of 8, at most 32");
  static_assert(C.row_tiles == 1 || C.row_tiles == 2, "ROW_TILES: 1 or 2");
  static_assert(C.warps_m >= 1 && C.warps_k >= 1 && C.warps_m * C.warps_k <= 32,
                "WARPS: at most 1024 threads");
  static_assert(C.depth >= 1 && C.depth <= 6, "DEPTH: registers hold 6 pieces");
  static_assert(C.chunk_k % (32 * C.warps_k) == 0, "CHUNK: whole turns of the warps along k");
};

// ---- Derived: numbers that follow from the configuration ----
template <HcFlatConfig C>
struct HcDerived : HcContract<C> {
  static constexpr int kThreads = 32 * C.warps_m * C.warps_k;
  static constexpr int kWarpRows = 16 * C.row_tiles, kRows = kWarpRows * C.warps_m;
  static constexpr int kGroups = C.columns / 8;       // of 8 columns
  static constexpr int kPieceBytes = kGroups * 1024;  // B of 32 of k: two terms, 16 bytes a lane
  static constexpr int kTermBytes = C.chunk_k / 32 * kPieceBytes;
  static constexpr int kSums = C.columns + 1;  // of a row, its square last
  static constexpr int kSumBytes = C.warps_k == 1 ? 0 : C.warps_k * kRows * kSums * 4;
  static constexpr int kSmemBytes = kTermBytes > kSumBytes ? kTermBytes : kSumBytes;
};

// ---- Where a block and a warp stand ----
struct HcPlace {
  i32 split, row0, column0, first, end;  // of k: [first, end)
};

template <HcFlatConfig C>
DG_DEVICE HcPlace hc_place(const HcFlatParams& p) {
  HcPlace at;
  const i32 tile = static_cast<i32>(blockIdx.x) / p.splits;
  at.split = static_cast<i32>(blockIdx.x) - tile * p.splits;
  at.row0 = tile * HcDerived<C>::kRows;
  at.column0 = static_cast<i32>(blockIdx.y) * C.columns;
  const i32 blocks = (p.k + 63) / 64, base = blocks / p.splits, extra = blocks % p.splits;
  at.first = 64 * (at.split * base + min(at.split, extra));
  at.end = min(at.first + 64 * (base + (at.split < extra ? 1 : 0)), p.k);
  return at;
}

// ---- Reading ----
// Eight values of a row from k on; zero from `end` on.
template <bool IsWhole>
DG_DEVICE ptx::StreamedWords4 hc_load_a(const u16* row, i32 k, i32 end) {
  if constexpr (IsWhole) {
    return ptx::load_streamed(row + k);
  } else {
    u32 words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const u32 low = k + 2 * i < end ? row[k + 2 * i] : 0u;
      const u32 high = k + 2 * i + 1 < end ? row[k + 2 * i + 1] : 0u;
      words[i] = low | high << 16;
    }
    return {words[0], words[1], words[2], words[3]};
  }
}

// Eight values of a row of B; zero from `end` on and in rows that do not exist.
struct HcRaw {
  ptx::Floats4 first, second;
};
template <bool IsWhole>
DG_DEVICE HcRaw hc_load_b(const float* row, i32 k, i32 end, bool is_row) {
  if constexpr (IsWhole) {
    if (!is_row) return {};
    return {ptx::load_global_floats4(row + k), ptx::load_global_floats4(row + k + 4)};
  } else {
    float x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = is_row && k + i < end ? row[k + i] : 0.0f;
    return {{x[0], x[1], x[2], x[3]}, {x[4], x[5], x[6], x[7]}};
  }
}

// The same as two terms.
struct HcTerms {
  ptx::Words4 high, low;
};
DG_DEVICE void hc_split_pair(float x, float y, u32& high, u32& low) {
  const numeric::Bf16Pair first = numeric::split_tf32(__float_as_uint(x));
  const numeric::Bf16Pair second = numeric::split_tf32(__float_as_uint(y));
  high = numeric::pack_high_halves(first.high, second.high);
  low = numeric::pack_high_halves(first.low, second.low);
}
DG_DEVICE HcTerms hc_split(const HcRaw& b) {
  HcTerms t;
  hc_split_pair(b.first.x, b.first.y, t.high.x, t.low.x);
  hc_split_pair(b.first.z, b.first.w, t.high.y, t.low.y);
  hc_split_pair(b.second.x, b.second.y, t.high.z, t.low.z);
  hc_split_pair(b.second.z, b.second.w, t.high.w, t.low.w);
  return t;
}

// B's terms of k in [k0, k0 + chunk_k): piece, group of columns, term, lane. Why batches: a
// thread's loads are under way together.
template <HcFlatConfig C, int kBatch>
DG_DEVICE void hc_fill(const HcFlatParams& p, const HcPlace& at, i32 k0, u8* shared) {
  using D = HcDerived<C>;
  const i32 pieces = min((at.end - k0 + 31) / 32, C.chunk_k / 32);
  const i32 units = pieces * D::kGroups * 32;
  const i32 thread = static_cast<i32>(threadIdx.x);
#pragma unroll 1
  for (i32 first = thread; first < units; first += D::kThreads * kBatch) {
    HcRaw raw[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const i32 index = first + i * D::kThreads, unit = index / 32;
      const i32 column = at.column0 + unit % D::kGroups * 8 + index % 32 / 4;
      const i32 k = k0 + unit / D::kGroups * 32 + index % 4 * 8;
      raw[i] = hc_load_b<C.is_whole>(p.b + static_cast<i64>(column) * p.b_stride, k, at.end,
                                     column < p.n && index < units);
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const i32 index = first + i * D::kThreads;
      if (index >= units) break;
      const HcTerms terms = hc_split(raw[i]);
      u8* target = shared + index / 32 * 1024 + index % 32 * 16;
      *reinterpret_cast<ptx::Words4*>(target) = terms.high;
      *reinterpret_cast<ptx::Words4*>(target + 512) = terms.low;
    }
  }
}

// ---- One warp's work ----
// Elements from a warp's first row to a lane's: a plan for whole operands keeps strides below 2^26.
template <bool IsWhole>
struct HcOffset {
  using Type = u32;
};
template <>
struct HcOffset<false> {
  using Type = i64;
};

template <HcFlatConfig C>
struct HcWarp {
  using D = HcDerived<C>;
  static constexpr int kLoads = 2 * C.row_tiles;  // rows lane / 4, + 8, + 16, ...

  using Offset = typename HcOffset<C.is_whole>::Type;

  const u16* base;  // the warp's first row
  Offset offsets[kLoads];
  ptx::StreamedWords4 pieces[C.depth][kLoads];
  float sums[C.row_tiles][D::kGroups][4];
  float squares[kLoads];

  // Rows past the last one read that one: their sums are not stored.
  DG_DEVICE void begin(const HcFlatParams& p, i32 row0, i32 lane) {
    const i32 first = min(row0, p.m - 1);
    base = static_cast<const u16*>(p.a) + static_cast<i64>(first) * p.a_stride;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const i32 row = min(row0 + lane / 4 + 8 * i, p.m - 1);
      offsets[i] = static_cast<Offset>(row - first) * static_cast<Offset>(p.a_stride);
    }
  }

  DG_DEVICE void clear() {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) squares[i] = 0.0f;
#pragma unroll
    for (int i = 0; i < C.row_tiles * D::kGroups * 4; ++i) (&sums[0][0][0])[i] = 0.0f;
  }

  DG_DEVICE void load(int slot, i32 k, i32 end) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      pieces[slot][i] = hc_load_a<C.is_whole>(base + offsets[i], k, end);
  }

  DG_DEVICE void multiply(int slot, int group, const HcTerms& b) {
#pragma unroll
    for (int t = 0; t < C.row_tiles; ++t) {
      const ptx::StreamedWords4 &first = pieces[slot][2 * t], &second = pieces[slot][2 * t + 1];
      float (&sum)[4] = sums[t][group];
      ptx::mma_bf16(sum, first.x, second.x, first.y, second.y, b.high.x, b.high.y);
      ptx::mma_bf16(sum, first.z, second.z, first.w, second.w, b.high.z, b.high.w);
      ptx::mma_bf16(sum, first.x, second.x, first.y, second.y, b.low.x, b.low.y);
      ptx::mma_bf16(sum, first.z, second.z, first.w, second.w, b.low.z, b.low.w);
    }
  }

  DG_DEVICE void add_squares(int slot) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const ptx::StreamedWords4& v = pieces[slot][i];
      float other = 0.0f;
      numeric::add_squares_bf16(v.x, squares[i], other);
      numeric::add_squares_bf16(v.y, squares[i], other);
      numeric::add_squares_bf16(v.z, squares[i], other);
      numeric::add_squares_bf16(v.w, squares[i], other);
      squares[i] += other;
    }
  }

  // A row's squares are with four lanes.
  DG_DEVICE void finish() {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      squares[i] += __shfl_xor_sync(0xffffffff, squares[i], 1);
      squares[i] += __shfl_xor_sync(0xffffffff, squares[i], 2);
    }
  }
};

// ---- Body ----
// The warp's pieces are warp_k, warp_k + warps_k, ...: a block reads a row's bytes side by side.
template <HcFlatConfig C>
DG_DEVICE void hc_accumulate(const HcFlatParams& p, const HcPlace& at, HcWarp<C>& warp, i32 warp_k,
                             i32 lane, u8* shared) {
  using D = HcDerived<C>;
  const i32 lane_k = lane % 4 * 8, pieces = (at.end - at.first + 31) / 32;
  const auto k_of = [&](i32 turn) { return at.first + (turn * C.warps_k + warp_k) * 32; };
  const i32 turns = (pieces - warp_k + C.warps_k - 1) / C.warps_k;
#pragma unroll
  for (int i = 0; i < C.depth; ++i)
    if (i < turns) warp.load(i, k_of(i) + lane_k, at.end);
  constexpr i32 kChunkTurns = C.chunk_k == 0 ? 0x7fffffff : C.chunk_k / 32 / C.warps_k;
  if constexpr (C.chunk_k != 0) {
    hc_fill<C, C.is_whole ? 3 : 1>(p, at, at.first, shared);
    __syncthreads();
  }
  warp.clear();
  i32 in_chunk = 0;  // turns of the chunk that is in shared memory
  const i32 all_turns = (pieces + C.warps_k - 1) / C.warps_k;  // the same for every warp
  for (i32 base = 0; base < all_turns; base += C.depth) {
#pragma unroll
    for (int i = 0; i < C.depth; ++i) {
      const i32 turn = base + i;
      if (turn >= all_turns) break;
      if constexpr (C.chunk_k != 0) {
        if (in_chunk == kChunkTurns) {
          __syncthreads();
          hc_fill<C, 1>(p, at, at.first + turn * C.warps_k * 32, shared);
          __syncthreads();
          in_chunk = 0;
        }
      }
      if (turn < turns) {
        warp.add_squares(i);
        if constexpr (C.chunk_k != 0) {
          const u8* unit = shared + (in_chunk * C.warps_k + warp_k) * D::kPieceBytes + lane * 16;
#pragma unroll
          for (int g = 0; g < D::kGroups; ++g, unit += 1024)
            warp.multiply(i, g,
                          {*reinterpret_cast<const ptx::Words4*>(unit),
                           *reinterpret_cast<const ptx::Words4*>(unit + 512)});
        } else {
          HcRaw raw[D::kGroups];
#pragma unroll
          for (int g = 0; g < D::kGroups; ++g) {
            const i32 column = at.column0 + g * 8 + lane / 4;
            raw[g] = hc_load_b<C.is_whole>(p.b + static_cast<i64>(column) * p.b_stride,
                                           k_of(turn) + lane_k, at.end, column < p.n);
          }
#pragma unroll
          for (int g = 0; g < D::kGroups; ++g) warp.multiply(i, g, hc_split(raw[g]));
        }
        if (turn + C.depth < turns) warp.load(i, k_of(turn + C.depth) + lane_k, at.end);
      }
      ++in_chunk;
    }
  }
  warp.finish();
}

// The warp has the whole sums of its rows.
template <HcFlatConfig C>
DG_DEVICE void hc_store(const HcFlatParams& p, const HcPlace& at, const HcWarp<C>& warp, i32 warp_m,
                        i32 lane) {
  using D = HcDerived<C>;
  const i64 first = static_cast<i64>(at.split) * p.m;
#pragma unroll
  for (int i = 0; i < 2 * C.row_tiles; ++i) {
    const i32 row = at.row0 + warp_m * D::kWarpRows + lane / 4 + 8 * i;
    if (row >= p.m) continue;
    float* d = p.d + (first + row) * p.n + at.column0;
#pragma unroll
    for (int g = 0; g < D::kGroups; ++g) {
      const float* sum = warp.sums[i / 2][g] + i % 2 * 2;
      const i32 column = g * 8 + lane % 4 * 2;
      if (p.n % 2 == 0 && at.column0 + column + 1 < p.n) {
        *reinterpret_cast<float2*>(d + column) = float2{sum[0], sum[1]};
      } else {
        if (at.column0 + column < p.n) d[column] = sum[0];
        if (at.column0 + column + 1 < p.n) d[column + 1] = sum[1];
      }
    }
    if (at.column0 == 0 && lane % 4 == 0) p.sqr_sum[first + row] = warp.squares[i];
  }
}

// Sums of all warps to shared memory; then a thread adds those of an element, by ascending warp.
template <HcFlatConfig C>
DG_DEVICE void hc_reduce(const HcFlatParams& p, const HcPlace& at, const HcWarp<C>& warp,
                         i32 warp_m, i32 warp_k, i32 lane, float* shared) {
  using D = HcDerived<C>;
#pragma unroll
  for (int i = 0; i < 2 * C.row_tiles; ++i) {
    const i32 row = warp_m * D::kWarpRows + lane / 4 + 8 * i;
    float* target = shared + (warp_k * D::kRows + row) * D::kSums;
#pragma unroll
    for (int g = 0; g < D::kGroups; ++g) {
      target[g * 8 + lane % 4 * 2] = warp.sums[i / 2][g][i % 2 * 2];
      target[g * 8 + lane % 4 * 2 + 1] = warp.sums[i / 2][g][i % 2 * 2 + 1];
    }
    if (lane % 4 == 0) target[C.columns] = warp.squares[i];
  }
  __syncthreads();
  const i64 first = static_cast<i64>(at.split) * p.m;
  for (i32 i = static_cast<i32>(threadIdx.x); i < D::kRows * D::kSums; i += D::kThreads) {
    const i32 row = at.row0 + i / D::kSums, column = i % D::kSums;
    float sum = shared[i];
#pragma unroll
    for (int w = 1; w < C.warps_k; ++w) sum += shared[w * D::kRows * D::kSums + i];
    if (row >= p.m) continue;
    if (column == C.columns) {
      if (at.column0 == 0) p.sqr_sum[first + row] = sum;
    } else if (at.column0 + column < p.n) {
      p.d[(first + row) * p.n + at.column0 + column] = sum;
    }
  }
}

template <HcFlatConfig C>
DG_DEVICE void hc(const HcFlatParams& p, u8* shared) {
  const i32 warp_id = static_cast<i32>(threadIdx.x) / 32, lane = static_cast<i32>(threadIdx.x) % 32;
  const i32 warp_m = warp_id % C.warps_m, warp_k = warp_id / C.warps_m;
  const HcPlace at = hc_place<C>(p);
#if __CUDA_ARCH__ >= 900
  ptx::griddep_wait();
#endif
  HcWarp<C> warp;
  warp.begin(p, at.row0 + warp_m * HcDerived<C>::kWarpRows, lane);
  hc_accumulate<C>(p, at, warp, warp_k, lane, shared);
  if constexpr (C.warps_k == 1) {
    hc_store<C>(p, at, warp, warp_m, lane);
  } else {
    if constexpr (C.chunk_k != 0) __syncthreads();
    hc_reduce<C>(p, at, warp, warp_m, warp_k, lane, reinterpret_cast<float*>(shared));
  }
#if __CUDA_ARCH__ >= 900
  ptx::griddep_launch();
#endif
}

}  // namespace deep_gemm::portable
