// What a CUDA GEMM costs, in cycles of the device.
//   double cycles = plan::portable_cycles(problem, row, traits, num_sms);
// Models to rank tiles of one kernel by, not promises. Leaves legality to gemm_legality.
#pragma once

#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/plan/gemm_tiles_portable.hpp>
#include <deep_gemm/csrc/plan/gemm_tiles_sm90.hpp>
#include <deep_gemm/csrc/problem/gemm_problem.hpp>

namespace deep_gemm::plan {

double portable_cycles(const GemmProblem& problem, const PortableTileRow& row, int num_sms);
double sm90_cycles(const GemmProblem& problem, const Sm90TileRow& row, int num_sms);

}  // namespace deep_gemm::plan
