// A warp's 16 rows -> bf16 or float32 in global memory, row by row, as the scheduler says: for
// tiles whose rows differ in use, or that are narrower than a copy engine's box.
//   epi::copy_rows_by_use<u16, 128>(schedule, tile, stage, d, stride, num_cols, row);    // staged
//   epi::stage_rows_by_use<128, 2>(schedule, tile, sum, stage, d, stride, num_cols, row);
//   epi::store_rows_by_use<16>(schedule, tile, sum, d, stride, col, num_cols, row);
// d: row 0, column 0 of the tile's group. Its rows begin on 16 bytes, and num_cols fill whole ones.
// row: the warp's first, inside the tile. Leaves out: whole tiles (store_tma.cuh, store_f32.cuh).
#pragma once

#include <deep_gemm/epi/store_f32.cuh>
#include <deep_gemm/epi/store_tma.cuh>
#include <deep_gemm/layout/smem_tile.cuh>
#include <deep_gemm/ptx/fence.cuh>
#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/sched/tile.cuh>

namespace deep_gemm::epi {

// The pieces of 128 bytes a row in which N columns are staged: how many, where they begin, how sums
// come there.
template <class T, int N>
struct Staged {
  static constexpr int kPieces = pieces_of(N);
  DG_DEVICE static constexpr i32 column(int piece) { return piece_column(N, piece); }
  DG_DEVICE static void stage(const float (&sum)[N / 2], int piece, u8* buffer) {
    stage_piece_bf16<N>(sum, piece, buffer);
  }
};
template <int N>
struct Staged<float, N> {
  static constexpr int kPieces = N / kF32Columns;
  DG_DEVICE static constexpr i32 column(int piece) { return kF32Columns * piece; }
  DG_DEVICE static void stage(const float (&sum)[N / 2], int piece, u8* buffer) {
    stage_piece_f32<N>(sum, piece, buffer);
  }
};

// Staged pieces [First, End), one buffer each from `stage` on, which may be overwritten afterwards.
// Why not from the registers: an unrolled store for each costs a third of a kernel's time to
// compile.
template <class T, int N, int First = 0, int End = Staged<T, N>::kPieces, class Schedule>
DG_DEVICE void copy_rows_by_use(const Schedule& schedule, const sched::Tile& tile, u8* stage, T* d,
                                i64 stride, i32 num_cols, i32 row) {
  const u32 lane = threadIdx.x % 32;
  const i32 own = tile.row + row + static_cast<i32>(lane % 16);
  const sched::RowUse use = own < tile.row_end ? schedule.use_of(tile, own) : sched::RowUse::Skip;
  // Bit r: of row r.
  const u32 written = __ballot_sync(0xffffffff, use != sched::RowUse::Skip);
  const u32 summed = __ballot_sync(0xffffffff, use == sched::RowUse::Store);
  ptx::warp_sync();  // the pieces are staged
#pragma unroll 1
  for (u32 begin = 0; begin < 16; begin += layout::kStoreRows) {
    const u32 r = begin + layout::staged_row(lane);
    T* to = d + (tile.local_row + row + static_cast<i32>(r)) * stride;
#pragma unroll
    for (int i = First; i < End; ++i) {
      const i32 at = tile.col + Staged<T, N>::column(i) +
                     static_cast<i32>(layout::staged_bytes(lane) / sizeof(T));
      ptx::Words4 v =
          ptx::load_shared_words4(ptx::shared_address(stage) + (i - First) * kStageBytes +
                                  layout::staged_chunk(lane, begin));
      if (!(summed >> r & 1)) v = {};
      if ((written >> r & 1) && at < num_cols) ptx::store_global(to + at, v);
    }
  }
  ptx::warp_sync();
}

// The same from the sums, through the `Slots` buffers from `stage` on.
template <int N, int Slots, int First = 0, class Schedule, class T>
DG_DEVICE void stage_rows_by_use(const Schedule& schedule, const sched::Tile& tile,
                                 const float (&sum)[N / 2], u8* stage, T* d, i64 stride,
                                 i32 num_cols, i32 row) {
  constexpr int kPieces = Staged<T, N>::kPieces;
  constexpr int kEnd = First + Slots < kPieces ? First + Slots : kPieces;
  // Ordering: the copy engine has read what the tile before staged.
  if (First == 0 && threadIdx.x % 32 == 0) ptx::bulk_wait_read<0>();
  ptx::warp_sync();
#pragma unroll
  for (int i = First; i < kEnd; ++i) {
    Staged<T, N>::stage(sum, i, stage + (i - First) * kStageBytes);
  }
  copy_rows_by_use<T, N, First, kEnd>(schedule, tile, stage, d, stride, num_cols, row);
  if constexpr (kEnd < kPieces) {
    stage_rows_by_use<N, Slots, kEnd>(schedule, tile, sum, stage, d, stride, num_cols, row);
  }
}

// Of a tile narrower than a piece, straight from the sums.
template <int N, class Schedule, class T>
DG_DEVICE void store_rows_by_use(const Schedule& schedule, const sched::Tile& tile,
                                 const float (&sum)[N / 2], T* d, i64 stride, i32 col, i32 num_cols,
                                 i32 row) {
  const i32 lane = static_cast<i32>(threadIdx.x % 32);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 r = row + lane / 4 + 8 * half;
    if (tile.row + r >= tile.row_end) continue;
    const sched::RowUse use = schedule.use_of(tile, tile.row + r);
    if (use == sched::RowUse::Skip) continue;
    T* to = d + (tile.local_row + r) * stride;
#pragma unroll
    for (int j = 0; j < N / 8; ++j) {
      const float* pair = sum + 4 * j + 2 * half;
      const bool is_zero = use == sched::RowUse::Zero;
      if constexpr (sizeof(T) == sizeof(float)) {
        const i32 at = col + 8 * j + lane % 4 * 2;
        if (at < num_cols) to[at] = is_zero ? 0.0f : pair[0];
        if (at + 1 < num_cols) to[at + 1] = is_zero ? 0.0f : pair[1];
      } else {
        const u32 packed = is_zero ? 0 : ptx::pack_bf16(pair[0], pair[1]);
        const i32 at = col + 8 * j + lane % 4 * 2;
        if (at < num_cols) to[at] = static_cast<u16>(packed);
        if (at + 1 < num_cols) to[at + 1] = static_cast<u16>(packed >> 16);
      }
    }
  }
}

}  // namespace deep_gemm::epi
