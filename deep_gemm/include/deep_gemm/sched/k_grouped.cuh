// Tiles of a GEMM grouped along k, persistent: one m x n product a group, over its part of k.
//   sched::KGrouped<kTile> schedule(params, cluster_rank);    // members as in sched::Dense
//   schedule.k_begin(), schedule.k_count()                    // of the tile handed out last
// layout[g] is k of group g, or with an alignment its end. Values out of range are cut to what is
// there. All lanes of a warp call next(). Leaves out: groups along m (m_grouped.cuh).
#pragma once

#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/sched/dense.cuh>

namespace deep_gemm::sched {

template <TileConfig C>
struct KGrouped : Dense<C> {
  static_assert(C.cluster == 1, "CLUSTER: neighbours may differ in group");
  static constexpr bool kWholeWarp = true;

  const u32 per_group;
  i32 at_group = 0, begin = 0, end = 0;

  DG_DEVICE KGrouped(const GemmParams& p, u32 cluster_rank)
      : Dense<C>(p, cluster_rank), per_group(static_cast<u32>(this->walk.size())) {
    read();
  }

  DG_DEVICE void read() {
    const i32 value = max(0, ptx::load_global(this->params.layout + at_group));
    const i32 k = this->params.k;
    end = this->params.k_alignment > 0 ? max(begin, min(value, k)) : begin + min(value, k - begin);
  }

  DG_DEVICE void advance() {
    const u32 alignment = this->params.k_alignment;
    begin = end;
    if (alignment > 0) {
      const u32 up = ceil_div(end, alignment) * alignment;
      begin = up < static_cast<u32>(this->params.k) ? static_cast<i32>(up) : this->params.k;
    }
    ++at_group;
    read();
  }

  DG_DEVICE bool next(Tile& tile) {
    const i32 group = static_cast<i32>(this->index / per_group);
    if (group >= this->params.num_groups) return false;
    while (at_group < group) advance();
    u32 m_tile, n_tile;
    this->walk.at(this->index - group * per_group, m_tile, n_tile);
    tile.row = tile.local_row = m_tile * C.block_m;
    tile.col = n_tile * C.block_n;
    tile.row_end = this->params.m;
    tile.group = group;
    this->index += this->step;
    return true;
  }

  DG_DEVICE i32 k_begin() const { return begin; }
  DG_DEVICE i32 k_count() const { return end - begin; }
};

}  // namespace deep_gemm::sched
