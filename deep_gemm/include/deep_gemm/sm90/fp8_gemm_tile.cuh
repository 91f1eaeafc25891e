// The tile of the Hopper FP8 GEMM: what a plan may ask for, what follows from it, and how shared
// memory is laid out. Split from fp8_gemm.cuh for length; its sections come first in the kernel's
// order.
//   using D = sm90::Fp8Derived<kTile>;   D::kThreads, D::kABoxRows, sizeof(sm90::Fp8Smem<kTile>)
// Leaves out: the roles and the body (fp8_gemm.cuh).
#pragma once

#include <deep_gemm/abi/gemm_params.h>
#include <deep_gemm/epi/store_tile.cuh>
#include <deep_gemm/pipe/ring.cuh>
#include <deep_gemm/ptx/mbarrier.cuh>
#include <deep_gemm/sched/tile.cuh>

namespace deep_gemm::sm90 {

// ---- Contract: what a plan may ask for (same words as plan/gemm_legality) ----
template <TileConfig C>
struct Fp8Contract {
  static_assert(C.type == ElementType::E4m3 && C.a_major == Major::K && C.b_major == Major::K,
                "ELEMENT_TYPE: K-major E4M3 operands");
  static_assert(C.b_scale_rows == 128 || C.b_scale_rows == 1, "SCALE_ROWS: 128 rows of b, or one");
  static_assert(C.add_to != AddTo::D || C.d_type == OutputType::F32, "ADD_TO_D: float32");
  static_assert(C.block_k == 128, "K_BLOCK: scales cover 128 channels");
  static_assert(C.stages >= 2, "RING_DEPTH: load and math must overlap");
  static_assert(C.math_warpgroups >= 1 && C.math_warpgroups <= 3, "MATH_WARPGROUPS: 1 to 3");
  static_assert(C.block_m == 64 * C.math_warpgroups, "M_ATOM: 64 rows a math warpgroup");
  static_assert(C.n_parts == 1 || C.n_parts == 2, "N_PARTS: one or two products a K block");
  static_assert(C.products == 2, "PRODUCTS: the next one is under way while one is scaled");
  static_assert(C.stages >= 4 / C.n_parts, "RING_DEPTH: two products hold two slots");
  static_assert(C.block_n % 16 == 0 && C.block_n >= 32 && C.block_n <= 256, "N_ATOM: 16 columns");
  static_assert(C.block_n >= 64 || (C.groups == Groups::Dense && C.add_to != AddTo::D),
                "N_NARROW: stored row by row, so not added to d");
  // Whether a warp of its own stores; float32 outputs, and tiles narrower than a store box, are
  // stored by the math warps.
  static constexpr bool kStoresApart = C.d_type == OutputType::Bf16 && C.block_n >= 64;
  static_assert(!kStoresApart || C.store_slots * 64 >= C.block_n,
                "STORE_SLOTS: a whole tile is staged");
  static_assert(C.cluster == 1 || C.share != Share::None, "CLUSTER: blocks share an operand");
  static_assert(C.share != Share::A || C.block_m % (8 * C.cluster) == 0,
                "SHARE: whole swizzle atoms");
  static_assert(C.share != Share::B || C.block_n % (8 * C.cluster) == 0,
                "SHARE: whole swizzle atoms");
};

// ---- Derived: numbers that follow from the tile ----
template <TileConfig C>
struct Fp8Derived : Fp8Contract<C> {
  static constexpr int kMathThreads = 128 * C.math_warpgroups;
  static constexpr int kThreads = kMathThreads + 128;
  static constexpr int kLoaderRegs = C.math_warpgroups == 3 ? 32 : C.math_warpgroups == 2 ? 40 : 96;
  static constexpr int kMathRegs = C.math_warpgroups == 3   ? 160
                                   : C.math_warpgroups == 2 ? 232
                                                            : 240;
  // Columns of a tile's products. Two are cut at a multiple of 32: a scale then covers as many
  // columns as it can.
  static constexpr int kPartN = C.n_parts == 1 ? C.block_n : (C.block_n / 2 + 31) / 32 * 32;
  static constexpr int kSecondN = C.n_parts == 1 ? C.block_n : C.block_n - kPartN;
  // Scales of B: one for the most columns that a block of 128 never cuts, wherever the tile starts.
  static constexpr bool kScalesEachColumn = C.b_scale_rows == 1;
  static constexpr int kCuts = C.block_n | kPartN | 128;
  static constexpr int kScaleSpan = kScalesEachColumn ? 1 : kCuts & -kCuts;
  static constexpr int kBScales = C.block_n / kScaleSpan;
  static constexpr int kABytes = C.block_m * C.block_k, kBBytes = C.block_n * C.block_k;
  static constexpr int kABoxRows = C.block_m / (C.share == Share::A ? C.cluster : 1);
  static constexpr int kBBoxRows = C.block_n / (C.share == Share::B ? C.cluster : 1);
  // Which scheduler hands out tiles with padding to zero.
  static constexpr bool kHasPadding = C.groups == Groups::ContiguousIndex;
  static constexpr int kScaleWarps = 2;
  static constexpr int kScaleRows = C.block_m / (32 * kScaleWarps);  // that a lane loads
  static constexpr int kScaleColumns = kScalesEachColumn ? (C.block_n + 63) / 64 : 1;
  static_assert(C.block_n / 2 + (kPartN + kSecondN) / 2 <= (C.math_warpgroups == 3 ? 128 : 200),
                "REGISTERS: the sum and two products must fit");
  // Blocks along K that a tile takes. Products come in pairs: with one part a block of zeros may
  // follow.
  DG_DEVICE static i32 k_steps(i32 k) {
    const i32 blocks = static_cast<i32>(sched::ceil_div(k, C.block_k));
    return C.n_parts == 1 ? blocks + (blocks & 1) : blocks;
  }
};

// ---- Tiles handed out: who looks them up is the storing warp, ahead of all roles ----
struct alignas(16) Fp8Handed {
  sched::Tile tile;
  i32 b_group;  // whose rows of b
  u32 use;      // bits: below

  static constexpr u32 kExists = 1;
  // Rows of warpgroup w are padding; the storing warp copies out those of math warp w; that warp
  // stores them itself.
  DG_DEVICE static constexpr u32 zeroed(u32 w) { return 1u << (1 + w); }
  DG_DEVICE static constexpr u32 copied(u32 w) { return 1u << (4 + w); }
  DG_DEVICE static constexpr u32 by_rows(u32 w) { return 1u << (16 + w); }
};

// A place is written again once the tile in it is staged: everyone is past it then, as the tile
// after it has been started.
struct Fp8Board {
  static constexpr u32 kTiles = 4;

  Fp8Handed place[kTiles];
  u64 full[kTiles];  // one arrival: the storing warp

  DG_DEVICE Fp8Handed& at(u32 number) { return place[number % kTiles]; }
  // The number-th tile of this block, once it is known.
  DG_DEVICE const Fp8Handed& wait(u32 number) {
    while (!ptx::mbarrier_try_wait(&full[number % kTiles], number / kTiles % 2)) {
    }
    return at(number);
  }
};

// ---- Shared memory: one struct, order is the layout ----
template <TileConfig C>
struct Fp8Smem {
  using D = Fp8Derived<C>;
  alignas(1024) u8 a[C.stages][D::kABytes];  // 128-byte swizzle
  alignas(1024) u8 b[C.stages][D::kBBytes];  // 128-byte swizzle
  alignas(1024) u8 stage[4 * C.math_warpgroups][C.store_slots * epi::kStageBytes];  // the same
  alignas(128) float a_scale[C.stages][C.block_m];
  alignas(16) float b_scale[C.stages][(D::kBScales + 3) / 4 * 4];
  Fp8Board board;
  // staged: four math warps, by warpgroup; drained: the storing warp.
  u64 staged[C.math_warpgroups], drained[C.math_warpgroups];
  // full: the copying warp, which announces the bytes, and each scale warp; empty: every math warp
  pipe::Ring<C.stages, C.cluster> ring;
};

// ---- Barriers: every named barrier of this kernel ----
// None: the mbarriers of ring and board, and `staged` and `drained` between math and storing warps.

}  // namespace deep_gemm::sm90
