// The loader roles of the Hopper FP8 GEMM: who fills the ring's slots. Split from fp8_gemm.cuh for
// length.
//   sm90::Fp8Copy<kTile>::run(params, smem, rank);                   // a warp: A and B
//   sm90::Fp8Scales<kTile>(params, smem, lane).run();                // two warps: their scales
// Leaves out: the math role and the body (fp8_gemm.cuh).
#pragma once

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/pipe/ring.cuh>
#include <deep_gemm/ptx/fence.cuh>
#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/ptx/tma.cuh>
#include <deep_gemm/sm90/fp8_gemm_tile.cuh>

namespace deep_gemm::sm90 {

// One thread copies A and B; a block of a cluster brings its part of the shared operand to all.
template <TileConfig C>
struct Fp8Copy {
  using D = Fp8Derived<C>;

  DG_DEVICE static void load(void* slot, const TensorMap& map, u64* bar, i32 k, i32 row,
                             bool shared) {
    if (shared) {
      ptx::tma_load_2d_multicast(slot, &map, bar, k, row, static_cast<u16>((1 << C.cluster) - 1));
    } else {
      ptx::tma_load_2d(slot, &map, bar, k, row);
    }
  }

  DG_DEVICE static void run(const GemmParams& params, Fp8Smem<C>& smem, u32 rank) {
    constexpr bool kShareA = C.share == Share::A, kShareB = C.share == Share::B;
    const u32 a_part = kShareA ? rank * D::kABoxRows : 0;
    const u32 b_part = kShareB ? rank * D::kBBoxRows : 0;
    const i32 k_steps = D::k_steps(params.k);
    // Rows of a slot that no box brings make rows of d that nobody stores.
    const u32 bytes =
        C.groups == Groups::Dense ? static_cast<u32>(params.slot_bytes) : D::kABytes + D::kBBytes;
    pipe::Cursor<C.stages> at;
    if (!ptx::elect_one()) return;
    for (u32 number = 0;; ++number) {
      const Fp8Handed& handed = smem.board.wait(number);
      if (!(handed.use & Fp8Handed::kExists)) return;
      const i32 a_row = handed.tile.row + a_part;
      const i64 b_row = static_cast<i64>(handed.b_group) * params.n + handed.tile.col + b_part;
      for (i32 kb = 0; kb < k_steps; ++kb, at.advance()) {
        smem.ring.wait_empty(at);
        smem.ring.expect(at, bytes);
        u64* bar = smem.ring.full_bar(at);
        load(smem.a[at.slot] + a_part * C.block_k, params.a, bar, kb * C.block_k, a_row, kShareA);
        load(smem.b[at.slot] + b_part * C.block_k, params.b, bar, kb * C.block_k,
             static_cast<i32>(b_row), kShareB);
      }
    }
  }
};

// Two warps bring the scales of a slot: rows of A as they lie in memory, B's spread over columns.
// They read windows of slots, one window ahead, a contiguous row of A in one access of 16 bytes.
template <TileConfig C>
struct Fp8Scales {
  using D = Fp8Derived<C>;
  static constexpr int kLines = D::kScaleRows + D::kScaleColumns;
  static constexpr int kWindow =
      kLines > 3 ? (kLines > 4 ? 1 : 2) : 4;  // what 40 registers hold twice
  using Values = float[kLines][kWindow];

  const GemmParams& params;
  Fp8Smem<C>& smem;
  const u32 lane;
  const i32 k_blocks, k_steps;
  u32 number = 0;                 // of the next tile
  const float* a[D::kScaleRows];  // this lane's rows and columns of the tile
  const float* b[D::kScaleColumns];

  DG_DEVICE Fp8Scales(const GemmParams& p, Fp8Smem<C>& s, u32 l)
      : params(p),
        smem(s),
        lane(l),
        k_blocks(sched::ceil_div(p.k, C.block_k)),
        k_steps(D::k_steps(p.k)) {}

  DG_DEVICE bool next_tile() {
    const Fp8Handed& handed = smem.board.wait(number);
    ++number;
    if (!(handed.use & Fp8Handed::kExists)) return false;
    const sched::Tile& tile = handed.tile;
#pragma unroll
    for (int i = 0; i < D::kScaleRows; ++i) {
      const i32 row =
          min(tile.local_row + static_cast<i32>(lane) + 32 * D::kScaleWarps * i, params.m - 1);
      a[i] = params.a_scale + tile.group * params.a_scale_group + row * params.a_scale_row;
    }
#pragma unroll
    for (int i = 0; i < D::kScaleColumns; ++i) {
      const i32 at = static_cast<i32>(lane) + 32 * D::kScaleWarps * i;
      const i32 span = min(at, D::kBScales - 1) * D::kScaleSpan;
      const i32 block = min(tile.col + span, params.n - 1) / C.b_scale_rows;
      b[i] = params.b_scale + handed.b_group * params.b_scale_group + block * params.b_scale_block;
    }
    return true;
  }

  // Zero beyond the last block: what makes the number of steps even has no scale.
  DG_DEVICE float one(const float* scales, i32 kb, i64 stride) const {
    const float v = ptx::load_global(scales + min(kb, k_blocks - 1) * stride);
    return kb < k_blocks ? v : 0.0f;
  }

  DG_DEVICE void read(i32 kb, Values& v) const {
#pragma unroll
    for (int i = 0; i < D::kScaleRows; ++i) {
      if (kWindow == 4 && params.a_scale_vector) {
        const ptx::Floats4 f = ptx::load_global_floats4(a[i] + kb);
        v[i][0] = f.x, v[i][1 % kWindow] = f.y, v[i][2 % kWindow] = f.z, v[i][3 % kWindow] = f.w;
      } else {
#pragma unroll
        for (int j = 0; j < kWindow; ++j) {
          v[i][j] = one(a[i], kb + j, params.a_scale_k);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < D::kScaleColumns; ++i) {
#pragma unroll
      for (int j = 0; j < kWindow; ++j) {
        v[D::kScaleRows + i][j] = one(b[i], kb + j, params.b_scale_k);
      }
    }
  }

  DG_DEVICE void publish(pipe::Cursor<C.stages>& at, const Values& v, int j) {
    smem.ring.wait_empty(at);
#pragma unroll
    for (int i = 0; i < D::kScaleRows; ++i) {
      smem.a_scale[at.slot][lane + 32 * D::kScaleWarps * i] = v[i][j];
    }
#pragma unroll
    for (int i = 0; i < D::kScaleColumns; ++i) {
      const u32 column = lane + 32 * D::kScaleWarps * i;
      if (column < D::kBScales) smem.b_scale[at.slot][column] = v[D::kScaleRows + i][j];
    }
    smem.ring.publish(at, lane % 32);
    at.advance();
  }

  // Why the first turn publishes nothing: one place that reads and one that asks for a tile compile
  // a tenth faster than a first window in front of the loop.
  DG_DEVICE void run() {
    pipe::Cursor<C.stages> at;
    Values now, next;
    bool more;
    i32 kb = k_steps, filled = 0;
    do {
#pragma unroll
      for (int j = 0; j < kWindow; ++j) {
        if (j < filled) publish(at, now, j);
        if (j == 0) {  // behind the first slot, which the math warps may be waiting for
          if (kb >= k_steps) kb = 0;
          more = kb > 0 || next_tile();
          if (more) read(kb, next);
        }
      }
      filled = min(k_steps - kb, kWindow);
      kb += kWindow;
#pragma unroll
      for (int i = 0; i < kLines; ++i) {
#pragma unroll
        for (int j = 0; j < kWindow; ++j) now[i][j] = next[i][j];
      }
    } while (more);
  }
};

}  // namespace deep_gemm::sm90
