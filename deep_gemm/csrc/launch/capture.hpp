// Whether torch's current stream is being captured into a graph, where nothing may synchronise.
//   if (is_capturing(placement)) ...
// Leaves what to do then to ops/.
#pragma once

#include <deep_gemm/csrc/launch/placement.hpp>

namespace deep_gemm {

bool is_capturing(const Placement& placement);

}  // namespace deep_gemm
