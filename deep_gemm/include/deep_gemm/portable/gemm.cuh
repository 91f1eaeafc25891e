// GEMM of any operands on any GPU from sm_80 on.     stem: gemm
//   d[m,n] = alpha * sum over uses of  a_scale[m,u] * b_scale[n,u] * dot(a[m,u], b[n,u])  + c[m,n]
// Grid: persistent, any number of blocks; a scheduler hands out tiles (sched/portable_tiles.cuh).
// Every warp loads and multiplies. E4M3 and E2M1 are widened exactly to fp16 on their way into
// shared memory; bf16 is copied there. The tensor cores sum scale_k of K from zero; the fp32 sum
// over these is kept beside it, K ascending. Tails arrive as zeros, and are cut at the store.
#pragma once

#include <deep_gemm/abi/portable_gemm_params.h>
#include <deep_gemm/portable/operand.cuh>
#include <deep_gemm/portable/scales.cuh>
#include <deep_gemm/portable/store.cuh>
#include <deep_gemm/ptx/griddep.cuh>
#include <deep_gemm/sched/portable_tiles.cuh>

namespace deep_gemm::portable {

// ---- Contract: what a plan may ask for (same words as plan/gemm_legality) ----
template <PortableGemmConfig C>
struct Contract {
  static_assert(C.block_m % (16 * C.warps_m) == 0, "M_ATOM: 16 rows an mma");
  static_assert(C.block_n % (16 * C.warps_n) == 0, "N_ATOM: 16 columns a fragment load");
  static_assert(C.stages >= 2, "RING_DEPTH: load and math must overlap");
  static_assert((C.a == ElementType::Bf16) == (C.b == ElementType::Bf16), "TYPES: bf16 with bf16");
  static_assert(C.scale_k == 0 || C.scale_k == 32 || C.scale_k == 64 || C.scale_k == 128,
                "SCALE_K: 32, 64 or 128");
};

// ---- Derived: numbers that follow from the tile ----
template <PortableGemmConfig C>
struct Derived : Contract<C> {
  static constexpr int kThreads = 32 * C.warps_m * C.warps_n;
  static constexpr int kWarpM = C.block_m / C.warps_m, kWarpN = C.block_n / C.warps_n;
  static constexpr int kFragsM = kWarpM / 16, kFragsN = kWarpN / 8;
  static constexpr bool kIsScaled = C.scale_k != 0;
  using A = Operand<C.a, C.a_major, C.a_bytes, C.block_m, kThreads>;
  using B = Operand<C.b, C.b_major, C.b_bytes, C.block_n, kThreads>;
  using AScales = Scales<C.block_m, kThreads, C.scale_k>;
  using BScales = Scales<C.block_n, kThreads, C.scale_k>;
};

// ---- Shared memory: one struct, order is the layout ----
template <PortableGemmConfig C>
struct Smem {
  using D = Derived<C>;
  alignas(128) u8 a[C.stages][kTileBytes<C.block_m>];
  alignas(128) u8 b[C.stages][kTileBytes<C.block_n>];
  float a_scale[C.stages][D::kIsScaled ? D::AScales::kFloats : 1];
  float b_scale[C.stages][D::kIsScaled ? D::BScales::kFloats : 1];
};

// ---- A tile: one program for every thread ----
template <PortableGemmConfig C>
struct Product {
  using D = Derived<C>;
  using Sums = float[D::kFragsM][D::kFragsN][4];

  Smem<C>& smem;
  typename D::A a;
  typename D::B b;
  typename D::AScales a_scales;
  typename D::BScales b_scales;
  const u32 lane, warp_row, warp_col;  // of this warp in the tile

  DG_DEVICE explicit Product(Smem<C>& s)
      : smem(s),
        lane(threadIdx.x % 32),
        warp_row(threadIdx.x / 32 % C.warps_m * D::kWarpM),
        warp_col(threadIdx.x / 32 / C.warps_m * D::kWarpN) {}

  DG_DEVICE void start(const PortableGemmParams& params, const sched::PortableTile& tile) {
    a.start(tile.a, tile.a_stride, tile.row, tile.m);
    b.start(tile.b, tile.b_stride, tile.col, tile.n);
    if constexpr (D::kIsScaled) {
      a_scales.start(params.a_scale, tile.a_scale, tile.row, tile.m);
      b_scales.start(params.b_scale, tile.b_scale, tile.col, tile.n);
    }
  }

  DG_DEVICE u32 a_tile(u32 slot) const {
    return static_cast<u32>(__cvta_generic_to_shared(smem.a[slot]));
  }
  DG_DEVICE u32 b_tile(u32 slot) const {
    return static_cast<u32>(__cvta_generic_to_shared(smem.b[slot]));
  }

  DG_DEVICE void begin_fill(u32 slot, i32 k0, i32 k) {
    a.copy(a_tile(slot), k0, k);
    b.copy(b_tile(slot), k0, k);
    a.read(k0, k);
    b.read(k0, k);
    a_scales.read(k0, k);
    b_scales.read(k0, k);
  }
  DG_DEVICE void end_fill(u32 slot) {
    a.store(a_tile(slot));
    b.store(b_tile(slot));
    if constexpr (D::kIsScaled) {
      a_scales.store(smem.a_scale[slot]);
      b_scales.store(smem.b_scale[slot]);
    }
  }

  DG_DEVICE static void clear(Sums& sums) {
#pragma unroll
    for (int i = 0; i < D::kFragsM; ++i)
#pragma unroll
      for (int j = 0; j < D::kFragsN; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[i][j][e] = 0.0f;
  }

  using Row = ptx::Words4[D::kFragsN / 2];  // B, 16 of K

  DG_DEVICE ptx::Words4 load_a(u32 slot, int step, int i) const {
    return D::A::Layout::template fragment<false>(a_tile(slot), warp_row + 16 * i, 16 * step, lane);
  }
  DG_DEVICE void load_b(Row& row, u32 slot, int step) const {
#pragma unroll
    for (int j = 0; j < D::kFragsN / 2; ++j)
      row[j] =
          D::B::Layout::template fragment<true>(b_tile(slot), warp_col + 16 * j, 16 * step, lane);
  }

  DG_DEVICE static void multiply(float (&sums)[D::kFragsN][4], const ptx::Words4& a, const Row& b) {
    constexpr bool kIsBf16 = C.a == ElementType::Bf16;
#pragma unroll
    for (int j = 0; j < D::kFragsN / 2; ++j) {
      ptx::mma_m16n8k16<kIsBf16>(sums[2 * j], a, b[j].x, b[j].y);
      ptx::mma_m16n8k16<kIsBf16>(sums[2 * j + 1], a, b[j].z, b[j].w);
    }
  }

  // Scales what the tensor cores summed into `sums`, and clears it.
  DG_DEVICE void promote(Sums& sums, Sums& product, u32 slot, int use) const {
    const float* rows = &smem.a_scale[slot][use * C.block_m + warp_row + lane / 4];
    const float* cols = &smem.b_scale[slot][use * C.block_n + warp_col + lane % 4 * 2];
#pragma unroll
    for (int i = 0; i < D::kFragsM; ++i) {
      const float top = rows[16 * i], bottom = rows[16 * i + 8];
#pragma unroll
      for (int j = 0; j < D::kFragsN; ++j) {
        const float left = cols[8 * j], right = cols[8 * j + 1];
        sums[i][j][0] += product[i][j][0] * (top * left);
        sums[i][j][1] += product[i][j][1] * (top * right);
        sums[i][j][2] += product[i][j][2] * (bottom * left);
        sums[i][j][3] += product[i][j][3] * (bottom * right);
      }
    }
    clear(product);
  }

  // Fragments are loaded one product ahead, so that the tensor cores do not wait for them.
  DG_DEVICE void multiply_tile(Sums& sums, Sums& product, u32 slot, bool is_block_end) const {
    constexpr int kSteps = kBlockK / 16;
    Row b, next_b;
    load_b(b, slot, 0);
    ptx::Words4 a = load_a(slot, 0, 0), next_a;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < D::kFragsM; ++i) {
        if (i + 1 < D::kFragsM) {
          next_a = load_a(slot, step, i + 1);
        } else if (step + 1 < kSteps) {
          next_a = load_a(slot, step + 1, 0);
          load_b(next_b, slot, step + 1);
        }
        multiply(D::kIsScaled ? product[i] : sums[i], a, b);
        a = next_a;
      }
#pragma unroll
      for (int j = 0; j < D::kFragsN / 2; ++j) b[j] = next_b[j];
      if constexpr (C.scale_k == 32)
        if (step % 2 == 1) promote(sums, product, slot, step / 2);
    }
    if constexpr (D::kIsScaled && C.scale_k >= kBlockK)
      if (is_block_end) promote(sums, product, slot, 0);
  }

  DG_DEVICE void run(Sums& sums, i32 k) {
    const i32 tiles = (k + kBlockK - 1) / kBlockK;
    Sums product;
    clear(sums);
    if constexpr (D::kIsScaled) clear(product);
    __syncthreads();  // the tile before may still be read
#pragma unroll 1
    for (i32 i = 0; i < C.stages - 1; ++i) {
      begin_fill(i, i * kBlockK, k);  // behind the end: zeros
      end_fill(i);
      ptx::copy_async_commit();
    }
    u32 slot = 0, fill = C.stages - 1;
#pragma unroll 1
    for (i32 i = 0; i < tiles; ++i) {
      ptx::copy_async_wait<C.stages - 2>();
      __syncthreads();
      const i32 ahead = i + C.stages - 1;
      if (ahead < tiles) begin_fill(fill, ahead * kBlockK, k);
      ptx::copy_async_commit();
      multiply_tile(sums, product, slot, C.scale_k != 128 || i % 2 == 1 || i + 1 == tiles);
      if (ahead < tiles) end_fill(fill);
      slot = slot + 1 == C.stages ? 0 : slot + 1;
      fill = fill + 1 == C.stages ? 0 : fill + 1;
    }
    ptx::copy_async_wait<0>();
  }
};

// ---- Body ----
template <PortableGemmConfig C, class Schedule>
DG_DEVICE void gemm(const PortableGemmParams& params, u8* shared) {
  using D = Derived<C>;
#if __CUDA_ARCH__ >= 900
  ptx::griddep_wait();
#endif
  Schedule schedule(params);
  Product<C> product(*reinterpret_cast<Smem<C>*>(shared));
  sched::PortableTile tile;
  while (schedule.next(tile)) {
    float sums[D::kFragsM][D::kFragsN][4];
    product.start(params, tile);
    product.run(sums, tile.k);
    store<D::kFragsM, D::kFragsN>(params, schedule, tile, sums, product.warp_row, product.warp_col,
                                  product.lane);
  }
#if __CUDA_ARCH__ >= 900
  ptx::griddep_launch();
#endif
}

}  // namespace deep_gemm::portable
