// What becomes of a warp's 16 rows of sums once a tile is done, as its configuration says: added to
// c or d or to nothing, as bf16 or float32, by the copy engine or row by row.
//   epi::store_tile<kTile>(schedule, tile, sum, stage, params, row);    // row: the warp's, in the
//   tile
// Leaves out: the ways to store (store_tma.cuh, store_f32.cuh, store_rows.cuh).
#pragma once

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/epi/add_rows.cuh>
#include <deep_gemm/epi/store_f32.cuh>
#include <deep_gemm/epi/store_rows.cuh>
#include <deep_gemm/epi/store_tma.cuh>
#include <deep_gemm/sched/m_grouped.cuh>

namespace deep_gemm::epi {

template <OutputType Type>
struct ElementOf {
  using T = u16;
};
template <>
struct ElementOf<OutputType::F32> {
  using T = float;
};

template <TileConfig C>
DG_DEVICE void add_c(const sched::Tile& tile, float (&sum)[C.block_n / 2], const GemmParams& params,
                     i32 row) {
  using T = typename ElementOf<C.d_type>::T;
  const i64 first = tile.group * params.d_group + (tile.local_row + row) * params.d_row + tile.col;
  add_rows<C.block_n>(sum, static_cast<const T*>(params.c) + first, params.d_row,
                      tile.row_end - tile.row - row, params.n - tile.col);
}

template <TileConfig C, class Schedule>
DG_DEVICE void store_tile(const Schedule& schedule, const sched::Tile& tile,
                          float (&sum)[C.block_n / 2], u8* stage, const GemmParams& params,
                          i32 row) {
  if (tile.row + row >= tile.row_end) return;
  if constexpr (C.add_to == AddTo::C) add_c<C>(tile, sum, params, row);
  using T = typename ElementOf<C.d_type>::T;
  T* d = static_cast<T*>(params.d_data) + tile.group * params.d_group;
  const sched::RowUses<C> uses{params};
  if constexpr (C.block_n < 64) {  // a box would hold columns of the next tile
    store_rows_by_use<C.block_n>(uses, tile, sum, d, params.d_row, tile.col, params.n, row);
  } else if (sched::kHasMixedRows<C> &&  // asked of all lanes: ptxas sees that they go one way
             !__all_sync(0xffffffff, schedule.is_whole(tile, tile.row + row))) {
    stage_rows_by_use<C.block_n, C.store_slots>(uses, tile, sum, stage, d, params.d_row, params.n,
                                                row);
  } else if constexpr (C.d_type == OutputType::F32) {
    store_rows_f32<C.block_n, C.store_slots, C.add_to == AddTo::D>(
        sum, stage, params.d, tile.col, tile.local_row + row, tile.group);
  } else {
    store_rows_bf16<C.block_n, C.store_slots>(sum, stage, params.d, tile.col, tile.local_row + row,
                                              tile.group);
  }
}

}  // namespace deep_gemm::epi
