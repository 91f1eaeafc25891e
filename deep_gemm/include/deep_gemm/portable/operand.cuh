// One operand of a portable GEMM: from global memory in any type, order and alignment to a tile of
// 16-bit values in shared memory, and from there to the fragments of mma.
//   Operand<ElementType::E4m3, Major::K, 16, 128, 256> a;
//   a.start(p, stride, row, rows);
//   a.read(k0, k);  ...;  a.store(shared);       // or a.copy(shared, k0, k) where kIsAsync
// K-major tiles are [rows][64 of k], others [64 of k][rows]; 16-byte pieces are swizzled by line.
// Values behind the operand's end are zeros. Leaves out: scales (scales.cuh), the pipeline
// (gemm.cuh).
#pragma once

#include <deep_gemm/abi/gemm_types.h>
#include <deep_gemm/numeric/widen_f16.cuh>
#include <deep_gemm/ptx/async_copy.cuh>
#include <deep_gemm/ptx/memory.cuh>
#include <deep_gemm/ptx/mma.cuh>

namespace deep_gemm::portable {

inline constexpr int kBlockK = 64;

template <int kRows>
inline constexpr int kTileBytes = kRows * kBlockK * 2;

// A tile in shared memory.
template <Major kMajor, int kRows>
struct TileLayout {
  static constexpr int kLineBytes = kMajor == Major::K ? kBlockK * 2 : kRows * 2;
  static constexpr int kPieces = kLineBytes / 16;
  static constexpr u32 kSwizzle = kPieces >= 8 ? 7 : kPieces - 1;

  DG_DEVICE static u32 offset(u32 line, u32 piece) {
    return line * kLineBytes + ((piece ^ (line & kSwizzle)) * 16);
  }

  // 16 rows by 16 of k as four tiles of 8 by 8: rows +0, k +0; rows +8, k +0; rows +0, k +8; rows
  // +8, k +8. With kIsB the middle two change places: mma wants both halves of k side by side.
  template <bool kIsB>
  DG_DEVICE static ptx::Words4 fragment(u32 tile, u32 row, u32 k, u32 lane) {
    const u32 matrix = lane / 8;
    const u32 more_rows = kIsB ? matrix >> 1 : matrix & 1;
    const u32 more_k = kIsB ? matrix & 1 : matrix >> 1;
    if constexpr (kMajor == Major::K) {
      return ptx::ldmatrix_x4(tile + offset(row + more_rows * 8 + (lane & 7), k / 8 + more_k));
    } else {
      return ptx::ldmatrix_x4_trans(tile +
                                    offset(k + more_k * 8 + (lane & 7), row / 8 + more_rows));
    }
  }
};

// st.shared.v4
DG_DEVICE void store_shared(u32 address, u32 x, u32 y, u32 z, u32 w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x), "r"(y), "r"(z),
               "r"(w)
               : "memory");
}

// ld.global.nc of an element's bytes; and of 16, aligned.
DG_DEVICE u32 load_byte(const u8* p) {
  u32 v;
  asm volatile("ld.global.nc.u8 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}
DG_DEVICE u32 load_half(const u8* p) {
  u16 v;
  asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(v) : "l"(p));
  return v;
}
DG_DEVICE ptx::Words4 load_16(const u8* p) {
  ptx::Words4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

template <ElementType kType, Major kMajor, int kAccess, int kRows, int kThreads>
struct Operand {
  static constexpr int kBits = kType == ElementType::Bf16 ? 16 : kType == ElementType::E4m3 ? 8 : 4;
  static constexpr bool kIsAsync = kType == ElementType::Bf16 && kAccess == 16;
  static constexpr int kElements = 128 / kBits;  // of 16 bytes
  static constexpr int kPerLine = (kMajor == Major::K ? kBlockK : kRows) / kElements;
  static constexpr int kChunks = kRows * kBlockK / kElements;
  static constexpr int kPerThread = (kChunks + kThreads - 1) / kThreads;
  static constexpr int kLineStep = kThreads / kPerLine;  // lines between two chunks of a thread
  static_assert(kPerLine >= 1 && kThreads % kPerLine == 0, "CHUNKS: threads cover whole lines");
  using Layout = TileLayout<kMajor, kRows>;

  const u8* first;  // this thread's first chunk, at k = 0
  i64 stride;
  i32 rows_left;  // along mn: from this thread's first line (K-major) or first element
  u32 line, piece;
  ptx::Words4 raw[kIsAsync ? 1 : kPerThread];

  DG_DEVICE void start(const u8* p, i64 line_stride, i32 row, i32 rows) {
    line = threadIdx.x / kPerLine;
    piece = threadIdx.x % kPerLine;
    stride = line_stride;
    const i64 inner = kMajor == Major::K ? piece * kElements : row + piece * kElements;
    const i64 outer = kMajor == Major::K ? row + static_cast<i64>(line) : line;
    first = p + outer * stride + inner * kBits / 8;
    rows_left = rows - row - static_cast<i32>(kMajor == Major::K ? line : piece * kElements);
  }

  // Elements of chunk i that exist, and where it starts.
  DG_DEVICE i32 valid(int i, i32 k0, i32 k) const {
    i32 inner, lines;
    if constexpr (kMajor == Major::K) {
      inner = k - k0 - static_cast<i32>(piece) * kElements;
      lines = rows_left - i * kLineStep;
    } else {
      inner = rows_left;
      lines = k - k0 - static_cast<i32>(line) - i * kLineStep;
    }
    if (lines <= 0 || inner <= 0 || (kChunks % kThreads != 0 && !exists(i))) return 0;
    return inner < kElements ? inner : kElements;
  }
  DG_DEVICE bool exists(int i) const {
    return kChunks % kThreads == 0 || static_cast<int>(threadIdx.x) + i * kThreads < kChunks;
  }
  DG_DEVICE const u8* chunk(int i, i32 k0) const {
    const i64 lines = i * kLineStep + (kMajor == Major::K ? 0 : k0);
    return first + lines * stride + (kMajor == Major::K ? static_cast<i64>(k0) * kBits / 8 : 0);
  }

  // A chunk that ends early: byte by byte, the last first.
  DG_DEVICE static ptx::Words4 read_part(const u8* p, i32 elements) {
    u64 low = 0, high = 0;
#pragma unroll 1
    for (i32 i = (elements * kBits + 7) / 8 - 1; i >= 0; --i) {
      high = (high << 8) | (low >> 56);
      low = (low << 8) | load_byte(p + i);
    }
    return {static_cast<u32>(low), static_cast<u32>(low >> 32), static_cast<u32>(high),
            static_cast<u32>(high >> 32)};
  }

  // A chunk at any address: all loads at once, each on its own condition.
  DG_DEVICE static ptx::Words4 read_elements(const u8* p, i32 elements) {
    u32 words[4] = {0, 0, 0, 0};
    if constexpr (kBits == 16) {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (i < elements) words[i / 2] |= load_half(p + 2 * i) << (16 * (i % 2));
    } else {
#pragma unroll
      for (int i = 0; i < 16; ++i)
        if (i * 8 / kBits < elements) words[i / 4] |= load_byte(p + i) << (8 * (i % 4));
    }
    return {words[0], words[1], words[2], words[3]};
  }

  DG_DEVICE void read(i32 k0, i32 k) {
    if constexpr (!kIsAsync) {
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
        const i32 elements = valid(i, k0, k);
        if constexpr (kAccess == 16) {
          raw[i] = {0, 0, 0, 0};
          if (elements == kElements) {
            raw[i] = load_16(chunk(i, k0));
          } else if (elements > 0) {
            raw[i] = read_part(chunk(i, k0), elements);
          }
        } else {
          raw[i] = read_elements(chunk(i, k0), elements);
        }
      }
    }
  }

  DG_DEVICE void copy(u32 tile, i32 k0, i32 k) const {
    if constexpr (kIsAsync) {
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) {
        if (!exists(i)) continue;
        const i32 elements = valid(i, k0, k);
        ptx::copy_async_16(tile + Layout::offset(line + i * kLineStep, piece),
                           elements > 0 ? chunk(i, k0) : first, elements * 2);
      }
    }
  }

  DG_DEVICE void store(u32 tile) const {
    if constexpr (!kIsAsync) {
#pragma unroll
      for (int i = 0; i < kPerThread; ++i)
        if (exists(i)) store_chunk(tile, line + i * kLineStep, raw[i]);
    }
  }

  DG_DEVICE void store_chunk(u32 tile, u32 to_line, const ptx::Words4& v) const {
    if constexpr (kBits == 16) {
      store_shared(tile + Layout::offset(to_line, piece), v.x, v.y, v.z, v.w);
    } else if constexpr (kBits == 8) {
      u32 w[8];
      numeric::widen_e4m3(v.x, w[0], w[1]);
      numeric::widen_e4m3(v.y, w[2], w[3]);
      numeric::widen_e4m3(v.z, w[4], w[5]);
      numeric::widen_e4m3(v.w, w[6], w[7]);
      store_shared(tile + Layout::offset(to_line, 2 * piece), w[0], w[1], w[2], w[3]);
      store_shared(tile + Layout::offset(to_line, 2 * piece + 1), w[4], w[5], w[6], w[7]);
    } else {
      const u32 words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        u32 w[4];
        numeric::widen_e2m1(words[i], w);
        store_shared(tile + Layout::offset(to_line, 4 * piece + i), w[0], w[1], w[2], w[3]);
      }
    }
  }
};

}  // namespace deep_gemm::portable
