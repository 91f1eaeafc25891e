// The tiles a host GEMM may use. Tables only: gemm_legality filters, gemm_cost_host ranks.
// To tune a machine, change this file and look at the golden plans that move.
#pragma once

#include <cstdint>

namespace deep_gemm::plan {

// Register tiles, first match wins: registers of that width, at least that many of them.
struct RegisterTileRow {
  int vector_bytes, num_registers;
  int rows, vectors;
  const char* why;
};

inline constexpr RegisterTileRow kRegisterTiles[] = {
    // bytes regs  rows vectors
    {64, 32, 8, 2, "16 sums hide the latency of two units; 8 broadcasts come from memory"},
    {32, 16, 6, 2, "12 sums, 2 of b and 1 of a fill 15 of 16 registers"},
    {16, 32, 6, 4, "24 sums, 4 of b; columns stay 16, as with 32 bytes"},
    {16, 16, 6, 2, "as with 32 bytes, half as wide"},
};

// Blocks of the grid, rows by columns; rows are rounded up to the register tile.
struct BlockRow {
  std::int64_t block_m, block_n;
  const char* why;
};

inline constexpr BlockRow kHostBlocks[] = {
    {8, 64, "one token: short blocks, so that every thread streams its part of b"},
    {8, 256, "one token, long k: fewer, longer blocks"},
    {48, 128, "few tokens on many threads"},
    {48, 512, "few tokens"},
    {96, 256, "m of a hundred, or many threads"},
    {192, 256, "sums and panels of a stay in 512 KB of L2"},
    {192, 512, "half the packing of a"},
    {384, 512, "least packing; sums stream from L3"},
    {384, 1024, "large n on few threads"},
};

// Of K between two looks at the sums: what a scale covers, or this where there are none.
inline constexpr int kUnscaledBlockK = 256;

}  // namespace deep_gemm::plan
