// The tiles of a portable GEMM grouped along k: one m x n product a group, over its part of k.
//   sched::PortableKGroups<kConfig>     layout[g] is k of group g, or with an alignment its end
//   sched::PortableKFlat<kConfig>       the same; operands hold one [mn, k of g] block a group
// Members as in portable_tiles.cuh. Each group starts a new scale along k, and a new word where
// four share one. Values out of range are cut to what is there. Leaves out: groups along m.
#pragma once

#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/sched/portable_tiles.cuh>

namespace deep_gemm::sched {

template <PortableGemmConfig C, bool kIsFlat>
struct PortableAlongK {
  const PortableGemmParams& params;
  BandWalk walk;
  u32 index, per_group;
  i32 group = 0, begin = 0, end = 0;  // of the group at hand
  i64 a_scales = 0, b_scales = 0;     // in front of it

  DG_DEVICE explicit PortableAlongK(const PortableGemmParams& p)
      : params(p),
        walk{ceil_div(p.m, C.block_m), ceil_div(p.n, C.block_n), static_cast<u32>(p.band)},
        index(blockIdx.x),
        per_group(walk.m_tiles * walk.n_tiles) {
    read();
  }

  DG_DEVICE i32 aligned(i32 k) const {
    const u32 alignment = params.alignment;
    const u32 up = ceil_div(k, alignment) * alignment;
    return up < static_cast<u32>(params.k) ? static_cast<i32>(up) : params.k;
  }

  DG_DEVICE void read() {
    const i32 value = max(0, ptx::load_global(params.layout + group));
    const i32 left = params.k - begin;
    end = params.alignment > 0 ? max(begin, min(value, params.k)) : begin + min(value, left);
  }

  DG_DEVICE static i64 scales_of(const PortableScale& s, i32 k) {
    if constexpr (C.scale_k == 0) return 0;
    const u32 count = ceil_div(k, static_cast<u32>(C.scale_k) << s.k_shift);
    return s.type == ScaleType::Ue8m0x4 ? ceil_div(count, 4) : count;
  }

  DG_DEVICE void advance() {
    const i32 k = end - begin;
    const u32 alignment = params.alignment;
    const i32 covered = params.covers_gaps ? ceil_div(k, alignment) * alignment : k;
    a_scales += scales_of(params.a_scale, covered);
    b_scales += scales_of(params.b_scale, covered);
    begin = params.alignment > 0 ? aligned(end) : end;
    ++group;
    read();
  }

  DG_DEVICE static i64 bytes(ElementType type, i64 elements) {
    return type == ElementType::Bf16   ? elements * 2
           : type == ElementType::E2m1 ? elements / 2
                                       : elements;
  }

  template <ElementType kType, Major kMajor>
  DG_DEVICE const u8* place(const PortableOperand& x, i32 mn, i64& stride) const {
    const u8* base = static_cast<const u8*>(x.data);
    if constexpr (kIsFlat) {
      stride = bytes(kType, end - begin);
      return base + bytes(kType, begin) * mn;
    }
    stride = x.stride;
    return base + (kMajor == Major::K ? bytes(kType, begin) : begin * x.stride);
  }

  DG_DEVICE bool next(PortableTile& tile) {
    const u32 at = index / per_group;
    if (at >= static_cast<u32>(params.num_groups)) return false;
    while (group < static_cast<i32>(at)) advance();
    u32 m_tile, n_tile;
    walk.at(index - at * per_group, m_tile, n_tile);
    group_tile(params, group, group, tile);
    tile.a = place<C.a, C.a_major>(params.a, params.m, tile.a_stride);
    tile.b = place<C.b, C.b_major>(params.b, params.n, tile.b_stride);
    tile.a_scale = moved<float>(params.a_scale.data, a_scales * params.a_scale.stride_k);
    tile.b_scale = moved<float>(params.b_scale.data, b_scales * params.b_scale.stride_k);
    tile.k = end - begin;
    tile.row = m_tile * C.block_m;
    tile.col = n_tile * C.block_n;
    index += gridDim.x;
    return true;
  }

  DG_DEVICE RowUse use_of(const PortableTile&, i32) const { return RowUse::Store; }
};

template <PortableGemmConfig C>
struct PortableKGroups : PortableAlongK<C, false> {
  using PortableAlongK<C, false>::PortableAlongK;
};
template <PortableGemmConfig C>
struct PortableKFlat : PortableAlongK<C, true> {
  using PortableAlongK<C, true>::PortableAlongK;
};

}  // namespace deep_gemm::sched
