// The tiles of a portable GEMM whose rows belong to groups; the layout is read on the device.
//   sched::PortableLabels<kConfig>   layout[row] names the group; padding is stored as zeros
//   sched::PortableEnds<kConfig>     layout[g] is the end of group g; starts are aligned
//   sched::PortableCounts<kConfig>   layout[g] counts the rows of group g, which has room for m
// Members as in portable_tiles.cuh. Values out of range do no harm: they are cut to what is there.
// Leaves out: groups along k (portable_k_grouped.cuh).
#pragma once

#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/sched/portable_tiles.cuh>

namespace deep_gemm::sched {

// A tile is handed out once for each group that has rows in it, smallest first. Usually that is
// one: callers give every aligned tile to one group.
template <PortableGemmConfig C>
struct PortableLabels {
  static constexpr i32 kNone = 0x7FFFFFFF;

  const PortableGemmParams& params;
  BandWalk walk;
  u32 index;
  i32 passed = -1;      // the last group that this tile was handed out for
  bool zeroes = false;  // this time padding is stored

  DG_DEVICE explicit PortableLabels(const PortableGemmParams& p)
      : params(p),
        walk{ceil_div(p.m, C.block_m), ceil_div(p.n, C.block_n), static_cast<u32>(p.band)},
        index(blockIdx.x) {}

  DG_DEVICE i32 label(i32 row) const {
    const i32 value = ptx::load_global(params.layout + row);
    return value < params.num_groups ? value : -1;
  }

  // The smallest group above `passed` with rows in the tile, and the one after it. All lanes call.
  DG_DEVICE void find(i32 first, i32& group, i32& after) const {
    i32 low = kNone, high = kNone;
    for (i32 row = first + static_cast<i32>(threadIdx.x % 32);
         row < first + C.block_m && row < params.m; row += 32) {
      const i32 value = label(row);
      if (value <= passed || value == low) continue;
      if (value < low) {
        high = low;
        low = value;
      } else {
        high = min(high, value);
      }
    }
    group = static_cast<i32>(__reduce_min_sync(0xffffffff, static_cast<u32>(low)));
    after = static_cast<i32>(
        __reduce_min_sync(0xffffffff, static_cast<u32>(low == group ? high : low)));
  }

  DG_DEVICE bool next(PortableTile& tile) {
    if (index >= walk.size()) return false;
    u32 m_tile, n_tile;
    walk.at(index, m_tile, n_tile);
    tile.row = m_tile * C.block_m;
    tile.col = n_tile * C.block_n;
    i32 group, after;
    find(tile.row, group, after);
    const i32 row = tile.row, col = tile.col;
    group_tile(params, 0, group == kNone ? 0 : group, tile);
    tile.row = row;
    tile.col = col;
    if (group == kNone) tile.k = 0;
    tile.group = group;
    zeroes = passed < 0;
    passed = after == kNone ? -1 : group;
    if (after == kNone) index += gridDim.x;
    return true;
  }

  DG_DEVICE RowUse use_of(const PortableTile& tile, i32 row) const {
    const i32 value = label(row);
    if (value < 0) return zeroes ? RowUse::Zero : RowUse::Skip;
    return value == tile.group ? RowUse::Store : RowUse::Skip;
  }
};

// Walks the groups in order: tile `rest` of the group at hand, rows first.
template <PortableGemmConfig C>
struct GroupWalk {
  u32 n_tiles, index;
  u32 before = 0;  // tiles of the groups in front
  i32 group = 0;

  DG_DEVICE explicit GroupWalk(const PortableGemmParams& p)
      : n_tiles(ceil_div(p.n, C.block_n)), index(blockIdx.x) {}

  // Whether the tile at hand lies in a group of that many rows; if not, that group is done.
  DG_DEVICE bool is_in(i32 rows, i32& row, i32& col) {
    const u32 m_tiles = ceil_div(rows, C.block_m);
    const u32 rest = index - before;
    if (rest >= m_tiles * n_tiles) {
      before += m_tiles * n_tiles;
      ++group;
      return false;
    }
    const u32 n_tile = rest / m_tiles;
    row = (rest - n_tile * m_tiles) * C.block_m;
    col = n_tile * C.block_n;
    index += gridDim.x;
    return true;
  }
};

template <PortableGemmConfig C>
struct PortableEnds {
  const PortableGemmParams& params;
  GroupWalk<C> walk;
  i32 start = 0, end = 0, next_start = 0;  // of the group at hand

  DG_DEVICE explicit PortableEnds(const PortableGemmParams& p) : params(p), walk(p) { read(); }

  DG_DEVICE i32 aligned(i32 row) const {
    const u32 alignment = params.alignment;
    const u32 up = ceil_div(row, alignment) * alignment;
    return up < static_cast<u32>(params.m) ? static_cast<i32>(up) : params.m;
  }

  DG_DEVICE void read() {
    if (walk.group >= params.num_groups) return;
    const i32 value = min(ptx::load_global(params.layout + walk.group), params.m);
    end = max(value, start);
    next_start = value > start ? aligned(value) : start;
  }

  DG_DEVICE bool next(PortableTile& tile) {
    i32 row, col;
    while (walk.group < params.num_groups) {
      const i32 rows = end == start ? 0 : (params.covers_gaps ? next_start : end) - start;
      if (walk.is_in(rows, row, col)) {
        group_tile(params, 0, walk.group, tile);
        tile.row = start + row;
        tile.col = col;
        tile.m = start + rows;
        return true;
      }
      start = next_start;
      read();
    }
    return false;
  }

  DG_DEVICE RowUse use_of(const PortableTile&, i32 row) const {
    return row < end ? RowUse::Store : RowUse::Zero;
  }
};

template <PortableGemmConfig C>
struct PortableCounts {
  const PortableGemmParams& params;
  GroupWalk<C> walk;
  i32 rows = 0;

  DG_DEVICE explicit PortableCounts(const PortableGemmParams& p) : params(p), walk(p) { read(); }

  DG_DEVICE void read() {
    if (walk.group >= params.num_groups) return;
    rows = max(0, min(ptx::load_global(params.layout + walk.group), params.m));
  }

  DG_DEVICE bool next(PortableTile& tile) {
    i32 row, col;
    while (walk.group < params.num_groups) {
      if (walk.is_in(rows, row, col)) {
        group_tile(params, walk.group, walk.group, tile);
        tile.row = row;
        tile.col = col;
        tile.m = rows;
        return true;
      }
      read();
    }
    return false;
  }

  DG_DEVICE RowUse use_of(const PortableTile&, i32) const { return RowUse::Store; }
};

}  // namespace deep_gemm::sched
