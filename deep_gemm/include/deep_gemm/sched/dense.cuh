// Tiles of one dense problem, persistent: cluster c takes tiles c, c + clusters, ...
//   sched::Dense<kTile> schedule(params, cluster_rank);  sched::Tile tile;
//   while (schedule.next(tile)) { ... }
// Leaves out: groups (m_grouped.cuh).
#pragma once

#include <deep_gemm/sched/tile.cuh>

namespace deep_gemm::sched {

template <TileConfig C>
struct Dense {
  static constexpr bool kWholeWarp = false;  // true: all lanes of a warp call next()
  static constexpr u32 kSpanM = C.block_m * (C.share == Share::B ? C.cluster : 1);
  static constexpr u32 kSpanN = C.block_n * (C.share == Share::A ? C.cluster : 1);

  const GemmParams& params;
  BandWalk walk;
  u32 index, step, rank;

  DG_DEVICE Dense(const GemmParams& p, u32 cluster_rank)
      : params(p),
        walk{ceil_div(p.m, kSpanM), ceil_div(p.n, kSpanN), static_cast<u32>(p.band)},
        index(cluster_index(C.cluster)),
        step(cluster_count(C.cluster)),
        rank(cluster_rank) {}

  DG_DEVICE bool next(Tile& tile) {
    if (index >= walk.size()) return false;
    u32 m_tile, n_tile;
    walk.at(index, m_tile, n_tile);
    tile.row = m_tile * kSpanM + (C.share == Share::B ? rank * C.block_m : 0);
    tile.col = n_tile * kSpanN + (C.share == Share::A ? rank * C.block_n : 0);
    tile.row_end = params.m;
    tile.local_row = tile.row;
    tile.group = 0;
    index += step;
    return true;
  }

  DG_DEVICE i32 group(const Tile&) const { return 0; }
  // The part of K of the tile handed out last.
  DG_DEVICE i32 k_begin() const { return 0; }
  DG_DEVICE i32 k_count() const { return params.k; }
  // False: the 64 rows from `row` are padding and are stored as zeros.
  DG_DEVICE bool computes(const Tile&, i32) const { return true; }
  // False: of the 16 rows from `row`, some are not to be stored; use_of() tells.
  DG_DEVICE bool is_whole(const Tile&, i32) const { return true; }
  DG_DEVICE static RowUse use_of(const GemmParams&, const Tile&, i32) { return RowUse::Store; }
};

}  // namespace deep_gemm::sched
