// The storing warp of the Hopper FP8 GEMM: looks up the tiles for all roles, ahead of them, and
// stores what the math warps have staged. Split from fp8_gemm.cuh for length.
//   sm90::Fp8Store<kTile>(params, smem, rank, lane).run();           // a warp
// Leaves out: rows that differ in use, which the math warps store (fp8_gemm.cuh).
#pragma once

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/epi/store_tma.cuh>
#include <deep_gemm/ptx/mbarrier.cuh>
#include <deep_gemm/ptx/tma.cuh>
#include <deep_gemm/sched/m_grouped.cuh>
#include <deep_gemm/sm90/fp8_gemm_tile.cuh>

namespace deep_gemm::sm90 {

template <TileConfig C>
struct Fp8Store {
  using D = Fp8Derived<C>;

  const GemmParams& params;
  Fp8Smem<C>& smem;
  const u32 lane;
  sched::Schedule<C> schedule;
  bool has_more = true;

  DG_DEVICE Fp8Store(const GemmParams& p, Fp8Smem<C>& s, u32 rank, u32 l)
      : params(p), smem(s), lane(l), schedule(p, rank) {}

  DG_DEVICE u32 use_of(const sched::Tile& tile) const {
    const i32 row = tile.row + static_cast<i32>(lane) * 16;
    const i32 half = tile.row + static_cast<i32>(min(lane, C.math_warpgroups - 1)) * 64;
    const bool is_inside = lane < 4 * C.math_warpgroups && row < tile.row_end;
    const bool is_whole = schedule.is_whole(tile, row);
    const u32 zeroed = __ballot_sync(0xffffffff, !schedule.computes(tile, half));
    const u32 copied = __ballot_sync(0xffffffff, is_inside && is_whole);
    const u32 by_rows = __ballot_sync(0xffffffff, is_inside && !is_whole);
    constexpr u32 kWarpgroups = (1u << C.math_warpgroups) - 1;
    return Fp8Handed::kExists | (zeroed & kWarpgroups) * Fp8Handed::zeroed(0) |
           copied * Fp8Handed::copied(0) | by_rows * Fp8Handed::by_rows(0);
  }

  // The next tile onto the board; behind the last one a place that says so.
  DG_DEVICE void hand_out(u32 number) {
    Fp8Handed handed;
    has_more = schedule.next(handed.tile);
    handed.use = 0;
    if (has_more) {
      handed.b_group = schedule.group(handed.tile);
      handed.use = use_of(handed.tile);
    }
    if (lane == 0) {
      smem.board.at(number) = handed;
      ptx::mbarrier_arrive(&smem.board.full[number % Fp8Board::kTiles]);
    }
    ptx::warp_sync();
  }

  // A tile's copies out, once it is staged; math warps that store themselves are waited for.
  DG_DEVICE void store(const Fp8Handed& handed, u32 phase) {
    constexpr u32 kPieces = epi::pieces_of(C.block_n);
    const u32 warp = lane % 4, piece = lane / 4;  // of a warpgroup; of its columns
    const sched::Tile tile = handed.tile;
    const u32 use = handed.use;
#pragma unroll
    for (u32 warpgroup = 0; warpgroup < C.math_warpgroups; ++warpgroup) {
      while (!ptx::mbarrier_try_wait(&smem.staged[warpgroup], phase)) {
      }
      if constexpr (D::kStoresApart) {
        const u32 math_warp = 4 * warpgroup + warp;
        if (piece < kPieces && (use & Fp8Handed::copied(math_warp))) {
          ptx::tma_store_3d(&params.d, smem.stage[math_warp] + piece * epi::kStageBytes,
                            tile.col + epi::piece_column(C.block_n, piece),
                            tile.local_row + static_cast<i32>(math_warp) * 16, tile.group);
        }
        ptx::bulk_commit();
      }
    }
    if constexpr (D::kStoresApart) {
      ptx::bulk_wait_read<0>();
      ptx::warp_sync();
      if (lane < C.math_warpgroups) ptx::mbarrier_arrive(&smem.drained[lane]);
    }
    ptx::warp_sync();  // no lane reads the place any more, which the next tile overwrites
  }

  DG_DEVICE void run() {
    constexpr u32 kAhead = Fp8Board::kTiles - 1;
    for (u32 i = 0;; ++i) {
      if (has_more) hand_out(i);
      if (i < kAhead) continue;
      const u32 tile = i - kAhead;
      const Fp8Handed& handed = smem.board.at(tile);
      if (!(handed.use & Fp8Handed::kExists)) break;
      store(handed, tile % 2);
    }
    ptx::bulk_wait<0>();
  }
};

}  // namespace deep_gemm::sm90
