// The tile that every scheduler hands out, and the walk over a grid of tiles that they share.
//   sched::Tile tile;  while (schedule.next(tile)) { ... }
// Leaves out: which tiles exist (dense.cuh, m_grouped.cuh).
#pragma once

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::sched {

// What becomes of a row of a tile.
enum class RowUse { Skip, Store, Zero };

// Whether a tile's rows may differ in use.
template <TileConfig C>
inline constexpr bool kHasMixedRows =
    C.groups == Groups::ContiguousIndex || C.groups == Groups::Masked;

struct Tile {
  i32 row;        // first row of A and D, over all groups
  i32 row_end;    // rows from here on are not this tile's to write
  i32 col;        // first column of D
  i32 group;      // masked: the group of the tile; others ask the scheduler
  i32 local_row;  // first row inside the group's scales
  i32 label;      // by labels: the group whose rows are computed this time
  bool is_mixed;  // by labels: rows differ in use, so each is stored by itself
  bool zeroes;    // by labels: this time padding is stored
};

// Walks a grid of m_tiles x n_tiles in bands of `band` rows, column by column inside a band, so
// that the blocks at work together touch few rows and few columns.
struct BandWalk {
  u32 m_tiles, n_tiles, band;

  DG_DEVICE u64 size() const { return static_cast<u64>(m_tiles) * n_tiles; }

  DG_DEVICE void at(u32 index, u32& m_tile, u32& n_tile) const {
    const u32 per_band = band * n_tiles;
    const u32 which = index / per_band;
    const u32 rest = index - which * per_band;
    const u32 first = which * band;
    const u32 height = m_tiles - first < band ? m_tiles - first : band;
    n_tile = rest / height;
    m_tile = first + (rest - n_tile * height);
  }
};

DG_DEVICE constexpr u32 ceil_div(u32 a, u32 b) { return (a + b - 1) / b; }

// Blocks of the grid, clusters counted once.
DG_DEVICE u32 cluster_index(u32 cluster) { return blockIdx.x / cluster; }
DG_DEVICE u32 cluster_count(u32 cluster) { return gridDim.x / cluster; }

}  // namespace deep_gemm::sched
