// Tiles of m-grouped problems, persistent. No tile straddles groups; the layout is read on the
// device.
//   sched::ContiguousIndex<kTile>   layout[row] names the group; padding halves are stored as zeros
//   sched::ContiguousEnds<kTile>    layout[g] is the end of group g; rows beyond the last are not
//   touched sched::Masked<kTile>            layout[g] counts the valid rows of group g; only these
//   are written
// Same members as sched::Dense. Blocks of a cluster share A alone: neighbours along m may differ in
// group. Leaves out: dense problems (dense.cuh) and groups along k.
#pragma once

#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/sched/dense.cuh>

namespace deep_gemm::sched {

template <TileConfig C>
struct ContiguousIndex : Dense<C> {
  static_assert(C.share != Share::B, "SHARE_B_DENSE: row tiles of a cluster may differ in group");

  DG_DEVICE ContiguousIndex(const GemmParams& p, u32 cluster_rank) : Dense<C>(p, cluster_rank) {}

  DG_DEVICE i32 group(const Tile& tile) const {
    const i32 id = ptx::load_global(this->params.layout + tile.row);
    return id < 0 ? 0 : id;
  }
  DG_DEVICE bool computes(const Tile& tile, i32 row) const {
    return row >= tile.row_end || ptx::load_global(this->params.layout + row) >= 0;
  }
};

template <TileConfig C>
struct ContiguousEnds : Dense<C> {
  static_assert(C.share != Share::B, "SHARE_B_DENSE: row tiles of a cluster may differ in group");

  DG_DEVICE ContiguousEnds(const GemmParams& p, u32 cluster_rank) : Dense<C>(p, cluster_rank) {
    const i32 end = ptx::load_global(p.layout + p.num_groups - 1);
    this->walk.m_tiles = ceil_div(end, C.block_m);
  }

  DG_DEVICE i32 group(const Tile& tile) const {
    i32 g = 0;
    while (g + 1 < this->params.num_groups &&
           ptx::load_global(this->params.layout + g) <= tile.row) {
      ++g;
    }
    return g;
  }
};

template <TileConfig C>
struct Masked {
  static_assert(C.share != Share::B, "SHARE_B_DENSE: row tiles of a cluster may differ in group");
  static constexpr u32 kSpanN = Dense<C>::kSpanN;

  const GemmParams& params;
  u32 n_tiles, index, step, rank;
  i32 at_group = 0, rows;
  u32 before = 0;  // tiles of the groups in front of at_group

  DG_DEVICE Masked(const GemmParams& p, u32 cluster_rank)
      : params(p),
        n_tiles(ceil_div(p.n, kSpanN)),
        index(cluster_index(C.cluster)),
        step(cluster_count(C.cluster)),
        rank(cluster_rank),
        rows(ptx::load_global(p.layout)) {}

  DG_DEVICE bool next(Tile& tile) {
    while (true) {
      const u32 m_tiles = ceil_div(rows, C.block_m);
      if (index - before < m_tiles * n_tiles) {
        const u32 rest = index - before;
        const u32 n_tile = rest / m_tiles;
        tile.local_row = (rest - n_tile * m_tiles) * C.block_m;
        tile.col = n_tile * kSpanN + (C.share == Share::A ? rank * C.block_n : 0);
        break;
      }
      before += m_tiles * n_tiles;
      if (++at_group == params.num_groups) return false;
      rows = ptx::load_global(params.layout + at_group);
    }
    tile.group = at_group;
    const i64 first = static_cast<i64>(at_group) * params.m;  // below 2^31: a coordinate of the map
    tile.row = static_cast<i32>(first + tile.local_row);
    tile.row_end = static_cast<i32>(first + rows);
    index += step;
    return true;
  }

  DG_DEVICE i32 group(const Tile& tile) const { return tile.group; }
  DG_DEVICE bool computes(const Tile&, i32) const { return true; }
};

template <TileConfig C, Groups Kind>
struct Pick {
  using Type = Dense<C>;
};
template <TileConfig C>
struct Pick<C, Groups::ContiguousIndex> {
  using Type = ContiguousIndex<C>;
};
template <TileConfig C>
struct Pick<C, Groups::ContiguousEnds> {
  using Type = ContiguousEnds<C>;
};
template <TileConfig C>
struct Pick<C, Groups::Masked> {
  using Type = Masked<C>;
};

// The scheduler that a tile configuration asks for.
template <TileConfig C>
using Schedule = typename Pick<C, C.groups>::Type;

}  // namespace deep_gemm::sched
