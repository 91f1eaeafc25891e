// Programmatic dependent launch. Both are no-ops in a launch without the attribute.
//   ptx::griddep_wait();      // before the first global read
//   ptx::griddep_launch();    // after the last store
// Leaves out: whether a launch uses the attribute (launch/).
#pragma once

#include <deep_gemm/ptx/types.cuh>

namespace deep_gemm::ptx {

// griddepcontrol.wait: until the grids before this one are complete and flushed.
DG_DEVICE void griddep_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// griddepcontrol.launch_dependents
DG_DEVICE void griddep_launch() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

}  // namespace deep_gemm::ptx
