// What the copy engine writes into a tile is what wgmma reads by the tile's descriptor, and what
// the math warps stage is what the copy engine stores: the documented address rules, on the CPU.
#define __device__
#define __forceinline__ inline
#include <deep_gemm/layout/mn_major.cuh>
#include <deep_gemm/layout/smem_tile.cuh>
#include <deep_gemm/layout/swizzled_rows.cuh>

#include <map>

#include <tests/support/check.hpp>

using namespace deep_gemm;

namespace {

// Bits 4 to 6 of an address are mixed with bits 7 to 9, by the engine and by wgmma alike.
u32 physical(u32 address) { return address ^ ((address >> 7 & 7) << 4); }

// A tile by 16-bit elements: where each one lies, and which one it is.
struct Memory {
  std::map<u32, int> words;

  // A box of 64 elements by `outer` lines, whose elements are numbered by `id`.
  template <class Id>
  void copy_box(u32 at, int outer, const Id& id) {
    for (int line = 0; line < outer; ++line)
      for (int i = 0; i < 64; ++i)
        words[physical(at + static_cast<u32>(line) * 128 + static_cast<u32>(i) * 2)] = id(i, line);
  }
};

u32 field(u64 descriptor, int bit) { return static_cast<u32>(descriptor >> bit & 0x3FFF) << 4; }

// Element (mn, k) of an instruction, k below 16, by the rules of the 128-byte swizzle.
u32 k_major_address(u64 d, u32 mn, u32 k) {
  return physical(field(d, 0) + mn % 8 * 128 + mn / 8 * field(d, 32) + k * 2);
}
u32 mn_major_address(u64 d, u32 mn, u32 k) {
  return physical(field(d, 0) + mn % 64 * 2 + mn / 64 * field(d, 16) + k % 8 * 128 +
                  k / 8 * field(d, 32));
}

constexpr u32 kTile = 0x6000, kRows = 256, kSlot = kRows * layout::kRowBytes;

int number(u32 mn, u32 k) { return static_cast<int>(mn * 64 + k); }

}  // namespace

TEST(SmemReads, EveryStepOfAKMajorTileReadsItsOwnElements) {
  for (const u32 slot : {0u, 1u, 3u}) {
    Memory memory;
    memory.copy_box(kTile + slot * kSlot, kRows, [](int k, int row) {
      return number(static_cast<u32>(row), static_cast<u32>(k));
    });
    for (const u32 first : {0u, 64u}) {  // of a math warpgroup
      const u64 base = layout::swizzle128_descriptor(kTile + first * layout::kRowBytes) +
                       slot * layout::descriptor_bytes(kSlot);
      for (u32 step = 0; step < 4; ++step)
        for (u32 mn = 0; mn < kRows - first; ++mn)
          for (u32 k = 0; k < 16; ++k)
            CHECK_EQ(
                memory.words.at(k_major_address(base + step * layout::descriptor_bytes(32), mn, k)),
                number(first + mn, step * 16 + k));
    }
  }
}

TEST(SmemReads, EveryStepOfAnMnMajorTileReadsItsOwnElements) {
  for (const u32 slot : {0u, 1u, 3u}) {
    Memory memory;
    for (u32 chunk = 0; chunk < kRows / layout::kMnChunkRows; ++chunk)
      memory.copy_box(kTile + slot * kSlot + chunk * layout::kMnChunkBytes, 64,
                      [chunk](int i, int k) {
                        return number(chunk * 64 + static_cast<u32>(i), static_cast<u32>(k));
                      });
    for (const u32 first : {0u, 64u}) {
      const u64 base = layout::mn_major_descriptor(kTile + first * layout::kRowBytes) +
                       slot * layout::descriptor_bytes(kSlot);
      for (u32 step = 0; step < 4; ++step) {
        const u64 d = base + step * layout::descriptor_bytes(layout::kMnStepBytes);
        for (u32 mn = 0; mn < kRows - first; ++mn)
          for (u32 k = 0; k < 16; ++k)
            CHECK_EQ(memory.words.at(mn_major_address(d, mn, k)),
                     number(first + mn, step * 16 + k));
      }
    }
  }
}

TEST(SmemReads, DescriptorsNameTheirSwizzleAndWrapNowhere) {
  CHECK_EQ(layout::swizzle128_descriptor(kTile) >> 62, 1u);
  CHECK_EQ(layout::mn_major_descriptor(kTile) >> 62, 1u);
  CHECK_EQ(layout::swizzled_rows_descriptor<128>(kTile), layout::swizzle128_descriptor(kTile));
  // Slots and steps are added to the whole word: the start must not run into the next field.
  constexpr u32 kLast = 232448 - 1024;
  CHECK_EQ(field(layout::mn_major_descriptor(0) + layout::descriptor_bytes(kLast), 16),
           layout::kMnChunkBytes);
  CHECK_EQ(field(layout::mn_major_descriptor(kLast), 0), kLast);
}

TEST(SmemReads, StagedFloatsAreStoredWhereTheyBelong) {
  std::map<u32, int> staged;  // by address of a pair
  for (u32 lane = 0; lane < 32; ++lane)
    for (u32 j = 0; j < 4; ++j)
      for (u32 half = 0; half < 2; ++half) {
        const u32 row = lane / 4 + 8 * half, column = 8 * j + lane % 4 * 2;
        CHECK(
            staged
                .emplace(layout::swizzle128_pair(lane, row, j), static_cast<int>(row * 32 + column))
                .second);
      }
  for (u32 row = 0; row < 16; ++row)
    for (u32 column = 0; column < 32; column += 2)
      CHECK_EQ(staged.at(physical(row * 128 + column * 4)), static_cast<int>(row * 32 + column));
}

TEST(SmemReads, StagedRowsAreReadBackOnceEachChunkFromWhereTheCopyEngineWouldTakeIt) {
  std::map<u32, int> seen;  // chunks of 16 bytes, by their number
  for (u32 begin = 0; begin < 16; begin += layout::kStoreRows)
    for (u32 lane = 0; lane < 32; ++lane) {
      const u32 row = begin + layout::staged_row(lane), bytes = layout::staged_bytes(lane);
      CHECK_EQ(layout::staged_chunk(lane, begin), physical(row * 128 + bytes));
      ++seen[row * 8 + bytes / 16];
    }
  CHECK_EQ(seen.size(), std::size_t{16 * 8});
  for (const auto& [chunk, times] : seen) CHECK(chunk < 16 * 8 && times == 1);
  // Lanes that store together, 8 to a row, store one run of memory.
  for (u32 lane = 1; lane < 32; ++lane)
    if (lane % 8 != 0) {
      CHECK_EQ(layout::staged_row(lane), layout::staged_row(lane - 1));
      CHECK_EQ(layout::staged_bytes(lane), layout::staged_bytes(lane - 1) + 16);
    }
}

CHECK_MAIN()
