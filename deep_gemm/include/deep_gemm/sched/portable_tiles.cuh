// The tiles of a portable GEMM: what every scheduler hands to the kernel, and the dense one.
//   sched::PortableDense<kConfig> schedule(params);  sched::PortableTile tile;
//   while (schedule.next(tile)) { ... }
// A scheduler is a class with these members, made once by every thread of a block, all of which get
// the same tiles in the same order:
//   Scheduler(const PortableGemmParams&);
//   bool next(PortableTile& tile);                        // false: this block is done
//   RowUse use_of(const PortableTile& tile, i32 row);     // row of the tile's group, below tile.m
// It fills `tile` with group_tile() and then moves its pointers. Leaves out: groups.
#pragma once

#include <deep_gemm/abi/portable_gemm_params.h>
#include <deep_gemm/sched/tile.cuh>

namespace deep_gemm::sched {

// A product of its own: d[row.., col..] of an m x n matrix, over all of k.
struct PortableTile {
  const u8 *a, *b;         // element (0, 0) of the group's operands
  i64 a_stride, b_stride;  // bytes
  const void *a_scale, *b_scale;
  i64 d, c;  // element (0, 0) of the group's outputs, in elements from params.d and params.c
  i32 m, n, k;
  i32 row, col;
  i32 group;
};

template <class T>
DG_DEVICE const void* moved(const void* p, i64 elements) {
  return static_cast<const T*>(p) + elements;
}

// The tile of group `a_group` of A and `b_group` of B; D goes with A's.
DG_DEVICE void group_tile(const PortableGemmParams& p, i32 a_group, i32 b_group,
                          PortableTile& tile) {
  tile.a = static_cast<const u8*>(p.a.data) + a_group * p.a.group;
  tile.b = static_cast<const u8*>(p.b.data) + b_group * p.b.group;
  tile.a_stride = p.a.stride;
  tile.b_stride = p.b.stride;
  tile.a_scale = moved<float>(p.a_scale.data, a_group * p.a_scale.group);
  tile.b_scale = moved<float>(p.b_scale.data, b_group * p.b_scale.group);
  tile.d = a_group * p.d_group;
  tile.c = a_group * p.c_group;
  tile.m = p.m;
  tile.n = p.n;
  tile.k = p.k;
  tile.group = b_group;
}

// One matrix, or num_groups of the same size (a batch).
template <PortableGemmConfig C>
struct PortableDense {
  const PortableGemmParams& params;
  BandWalk walk;
  u32 index, per_group;

  DG_DEVICE explicit PortableDense(const PortableGemmParams& p)
      : params(p),
        walk{ceil_div(p.m, C.block_m), ceil_div(p.n, C.block_n), static_cast<u32>(p.band)},
        index(blockIdx.x),
        per_group(walk.m_tiles * walk.n_tiles) {}

  DG_DEVICE bool next(PortableTile& tile) {
    const u32 group = index / per_group;
    if (group >= static_cast<u32>(params.num_groups)) return false;
    u32 m_tile, n_tile;
    walk.at(index - group * per_group, m_tile, n_tile);
    group_tile(params, static_cast<i32>(group), static_cast<i32>(group), tile);
    tile.row = m_tile * C.block_m;
    tile.col = n_tile * C.block_n;
    index += gridDim.x;
    return true;
  }

  DG_DEVICE RowUse use_of(const PortableTile&, i32) const { return RowUse::Store; }
};

}  // namespace deep_gemm::sched
