// How a GEMM will be done on a GPU: the tuned kernel where it may run, else the portable one.
//   GemmPlan plan = plan::plan_cuda(problem, traits, knobs, op);
//   plan::portable_smem_bytes(config);   // for every family that launches the portable kernel
// Pure. Leaves the host to gemm_plan.cpp, tables to gemm_tiles_*.hpp.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/plan/gemm_tiles_portable.hpp>
#include <deep_gemm/csrc/plan/gemm_tiles_sm90.hpp>

namespace deep_gemm::plan {

GemmPlan plan_cuda(const GemmProblem& problem, const DeviceTraits& traits, const Knobs& knobs,
                   std::string_view op);

// What a launch may occupy: the device's SMs, or fewer by wish.
int usable_sms(const DeviceTraits& traits, const Knobs& knobs);

// ---- The portable kernel, for other families too ----

// The kernel of a tile for these operands; sizes, strides and d are run-time values.
PortableGemmConfig portable_config(const GemmProblem& problem, const PortableTileRow& row);
int portable_threads(const PortableGemmConfig& config);
int portable_sums(const PortableGemmConfig& config);  // registers of a thread that hold sums
std::int64_t portable_smem_bytes(const PortableGemmConfig& config);
// Whether the operands are read 16 bytes at a time: every address and line is aligned to it.
bool reads_whole_chunks(const GemmProblem& problem);

// ---- The Hopper kernels ----

// A row's tile with what follows from the problem.
TileConfig sm90_tile(const GemmProblem& problem, const TileConfig& row);
int sm90_threads(const TileConfig& tile);
std::int64_t sm90_smem_bytes(const TileConfig& tile);
// For m rows of a: how many a block brings with one copy, and the bytes of a and b that fill a
// slot. A dense, K-major a that no cluster shares is brought only as far as it goes, in whole
// atoms.
int sm90_a_box_rows(const TileConfig& tile, std::int64_t m);
int sm90_slot_bytes(const TileConfig& tile, std::int64_t m);

// The cheapest Hopper plan; none, where no row is legal.
std::optional<Sm90GemmPlan> plan_sm90(const GemmProblem& problem, const DeviceTraits& traits,
                                      const Knobs& knobs);

// Every plan that plan_cuda can pick for these operands, whatever m, n and k are. grid is 1.
std::vector<GemmPlan> reachable_cuda_plans(const GemmProblem& problem, const DeviceTraits& traits);

}  // namespace deep_gemm::plan
