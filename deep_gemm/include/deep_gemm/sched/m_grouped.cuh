// Tiles of m-grouped problems, persistent. No tile straddles groups; the layout is read on the
// device.
//   sched::ContiguousIndex<kTile>   layout[row] names the group; padding halves are stored as zeros
//   sched::ContiguousEnds<kTile>    layout[g] is the end of group g; rows past the last stay
//   sched::Masked<kTile>            layout[g] counts the rows of group g; only these are written
// Values out of range do no harm: they are cut to what is there.
// Same members as sched::Dense. Blocks of a cluster share A alone: neighbours along m may differ in
// group. Leaves out: dense problems (dense.cuh) and groups along k.
#pragma once

#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/sched/dense.cuh>
#include <deep_gemm/sched/k_grouped.cuh>

namespace deep_gemm::sched {

// A tile is handed out once for each group that has rows in it, smallest first. Usually that is
// one: callers give every aligned tile to one group. All lanes of a warp call next().
template <TileConfig C>
struct ContiguousIndex : Dense<C> {
  static_assert(C.share != Share::B, "SHARE_B_DENSE: row tiles of a cluster may differ in group");
  static constexpr bool kWholeWarp = true;
  static constexpr i32 kNone = 0x7FFFFFFF;

  i32 passed = -1;  // the last group that this tile was handed out for

  DG_DEVICE ContiguousIndex(const GemmParams& p, u32 cluster_rank) : Dense<C>(p, cluster_rank) {}

  DG_DEVICE static i32 label(const GemmParams& params, i32 row) {
    const i32 value = ptx::load_global(params.layout + row);
    return value < params.num_groups ? value : -1;
  }

  DG_DEVICE bool next(Tile& tile) {
    // One warp of the FP8 kernel looks ahead, and reads all labels together. The BF16 kernel's math
    // warps look themselves, and ptxas serialises their wgmma where this loop is unrolled.
    constexpr int kUnroll = C.type == ElementType::E4m3 ? C.block_m / 32 : 1;
    const u32 at = this->index;
    if (!Dense<C>::next(tile)) return false;
    const i32 lane = static_cast<i32>(threadIdx.x % 32);
    i32 low = kNone, high = kNone;  // the two smallest groups above `passed`
    bool is_late = false;           // rows of a group in a half that begins with padding
#pragma unroll kUnroll
    for (int i = 0; i < C.block_m / 32; ++i) {
      const i32 row = tile.row + 32 * i + lane;
      const i32 value = row < tile.row_end ? label(this->params, row) : -1;
      if (value > passed && value != low) {
        high = value < low ? low : min(high, value);
        low = min(low, value);
      }
      const i32 half = min(tile.row + 64 * (i / 2), tile.row_end - 1);
      is_late = is_late || (value >= 0 && label(this->params, half) < 0);
    }
    const i32 first = static_cast<i32>(__reduce_min_sync(0xffffffff, static_cast<u32>(low)));
    const u32 rest = static_cast<u32>(low == first ? high : low);
    const bool has_more = __reduce_min_sync(0xffffffff, rest) != static_cast<u32>(kNone);
    tile.label = first == kNone ? 0 : first;
    tile.zeroes = passed < 0;
    tile.is_mixed = has_more || !tile.zeroes || __any_sync(0xffffffff, is_late);
    passed = has_more ? first : -1;
    if (has_more) this->index = at;
    return true;
  }

  DG_DEVICE i32 group(const Tile& tile) const { return tile.label; }
  DG_DEVICE bool computes(const Tile& tile, i32 row) const {
    return tile.is_mixed || row >= tile.row_end || label(this->params, row) >= 0;
  }
  DG_DEVICE bool is_whole(const Tile& tile, i32) const { return !tile.is_mixed; }
  DG_DEVICE static RowUse use_of(const GemmParams& params, const Tile& tile, i32 row) {
    const i32 value = label(params, row);
    if (value < 0) return tile.zeroes ? RowUse::Zero : RowUse::Skip;
    return value == tile.label ? RowUse::Store : RowUse::Skip;
  }
};

template <TileConfig C>
struct ContiguousEnds : Dense<C> {
  static_assert(C.share != Share::B, "SHARE_B_DENSE: row tiles of a cluster may differ in group");

  DG_DEVICE ContiguousEnds(const GemmParams& p, u32 cluster_rank) : Dense<C>(p, cluster_rank) {
    const i32 end = ptx::load_global(p.layout + p.num_groups - 1);
    this->walk.m_tiles = ceil_div(max(0, min(end, p.m)), C.block_m);
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
  static constexpr bool kWholeWarp = false;
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
        rows(count(0)) {}

  DG_DEVICE i32 count(i32 group) const {
    return max(0, min(ptx::load_global(params.layout + group), params.m));
  }

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
      rows = count(at_group);
    }
    tile.group = at_group;
    const i64 first = static_cast<i64>(at_group) * params.m;  // below 2^31: a coordinate of the map
    tile.row = static_cast<i32>(first + tile.local_row);
    tile.row_end = static_cast<i32>(first + rows);
    index += step;
    return true;
  }

  DG_DEVICE i32 group(const Tile& tile) const { return tile.group; }
  DG_DEVICE i32 k_begin() const { return 0; }
  DG_DEVICE i32 k_count() const { return params.k; }
  DG_DEVICE bool computes(const Tile&, i32) const { return true; }
  DG_DEVICE bool is_whole(const Tile& tile, i32 row) const { return row + 16 <= tile.row_end; }
  DG_DEVICE static RowUse use_of(const GemmParams&, const Tile&, i32) { return RowUse::Store; }
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

template <TileConfig C>
struct Pick<C, Groups::KGrouped> {
  using Type = KGrouped<C>;
};

// The scheduler that a tile configuration asks for.
template <TileConfig C>
using Schedule = typename Pick<C, C.groups>::Type;

// What becomes of a tile's rows, also for who has the tile and no scheduler.
template <TileConfig C>
struct RowUses {
  const GemmParams& params;

  DG_DEVICE RowUse use_of(const Tile& tile, i32 row) const {
    return Schedule<C>::use_of(params, tile, row);
  }
};

}  // namespace deep_gemm::sched
