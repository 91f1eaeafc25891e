// What a Hopper GEMM launch hands to its kernel, and the tile that the kernel is compiled for.
//   GemmParams params{...};  void* args[] = {&params};      // one argument, __grid_constant__
//   constexpr TileConfig kTile{.block_m = 256, .block_n = 128, .stages = 4, .cluster = 2};
// Read by host and device: no function. Leaves out: who fills it (csrc/launch) and which tile a
// problem gets (csrc/plan).
#pragma once

#include <deep_gemm/abi/gemm_types.h>

namespace deep_gemm {

// A CUtensorMap, by size and alignment.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

// How the rows of D map to groups.
enum class Groups : int {
  Dense = 0,            // one problem
  ContiguousIndex = 1,  // layout[m]: the group of each row, negative for padding
  ContiguousEnds = 2,   // layout[g]: end row of group g; starts are aligned to block_m
  Masked = 3,           // layout[g]: valid rows of group g; every group has m rows
  KGrouped = 4,         // layout[g]: elements of K of group g, or their end; D has a matrix a group
};

// Which operand the blocks of a cluster share: they stand side by side along the other one.
enum class Share : int { None = 0, A = 1, B = 2 };

// What a product is added to.
enum class AddTo : int {
  Nothing = 0,
  D = 1,  // float32: the copy engine adds
  C = 2,  // read by the math warps, rows and groups as in d; may be d
};

struct TileConfig {
  int block_m = 128;  // rows of a block's tile; each math warpgroup owns block_m / math_warpgroups
  int block_n = 128;  // columns of a block's tile
  int block_k = 128;  // bytes of K a ring slot
  int stages = 4;     // ring slots
  int math_warpgroups = 2;  // 1 to 3
  int n_parts = 1;          // products a K block: 1, or 2 of half the columns
  int products = 1;     // 2: the next product is under way while this one is scaled into the sum
  int store_slots = 2;  // 2 KB staging buffers a math warp
  int cluster = 1;      // blocks that share an operand
  Share share = Share::None;
  Groups groups = Groups::Dense;
  ElementType type = ElementType::E4m3;          // of both operands: E4m3 with scales, Bf16 without
  Major a_major = Major::K, b_major = Major::K;  // Mn: Bf16 alone
  int b_scale_rows = 128;                        // rows of b a scale: 128 or 1
  OutputType d_type = OutputType::Bf16;
  AddTo add_to = AddTo::Nothing;
};

struct GemmParams {
  // Boxes are 128 bytes of what is contiguous, under the 128-byte swizzle. Of K-major operands:
  // [rows, k], as many rows as one block brings: of a dense a no more than whole atoms of 8 for its
  // m rows. Of Mn-major ones: [k, rows], 64 of k.
  TensorMap a;
  TensorMap b;  // E4m3: groups are rows of one matrix; Bf16 and grouped along m: a third dimension
  TensorMap d;  // [groups, m, n] (one group unless masked or along k), box of 16 rows of one group
  const float* a_scale;                               // one a row and 128 of k
  const float* b_scale;                               // one a b_scale_rows and 128 of k
  const int* layout;                                  // by Groups; null when dense
  long long a_scale_row, a_scale_k, a_scale_group;    // strides in elements
  long long b_scale_block, b_scale_k, b_scale_group;  // strides in elements
  int m;                                              // rows; a group's rows when masked
  int n, k;
  int num_groups;      // 1 when dense
  int band;            // cluster tiles along m that are walked together, for L2
  int a_scale_vector;  // 1: a_scale_k is 1, k a multiple of 512, base and other strides of 16 bytes
  void* d_data;        // what map d covers, for rows that are stored by themselves
  long long d_row, d_group;  // strides in elements, of c too
  const void* c;             // null unless the tile adds to it
  int k_alignment;           // grouped along k: 0, or layout holds ends and starts are aligned so
  int slot_bytes;            // dense: of a and b, that fill a ring slot
};

static_assert(sizeof(TensorMap) == 128 && alignof(TensorMap) == 64);
static_assert(sizeof(GemmParams) == 576 && alignof(GemmParams) == 64);
#ifndef __CUDACC_RTC__  // NVRTC has no offsetof; the sizes above still hold there
static_assert(__builtin_offsetof(GemmParams, a_scale) == 384 &&
              __builtin_offsetof(GemmParams, m) == 456);
#endif

}  // namespace deep_gemm
