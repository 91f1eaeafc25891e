// Programmatic dependent launch in kernels for every generation: nothing before Hopper, where
// launches of a stream never overlap.
//   portable::wait_for_dependency();   // before the first global read
//   portable::release_dependents();    // after the last store
#pragma once

#include <deep_gemm/ptx/griddep.cuh>

namespace deep_gemm::portable {

DG_DEVICE void wait_for_dependency() {
#if __CUDA_ARCH__ >= 900
  ptx::griddep_wait();
#endif
}

DG_DEVICE void release_dependents() {
#if __CUDA_ARCH__ >= 900
  ptx::griddep_launch();
#endif
}

}  // namespace deep_gemm::portable
