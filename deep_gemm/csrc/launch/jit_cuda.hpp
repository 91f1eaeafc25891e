// The CUDA runtime of this package, and what it says about GPUs.
//   auto kernel = compile_cuda(source, device_index);     // loaded for that device
//   kernel->launch({.grid_dim = 132, .block_dim = 384}, params);      // torch's current stream
//   const DeviceTraits traits = cuda_traits("90a", 0);    // by name: no device needed
// Leaves plans to plan/ and parameters to <stem>_cuda.cpp.
#pragma once

#include <memory>
#include <string_view>

#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/runtime/runtime.hpp>

#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

// Made at the first use; touches no device by itself.
deep_jit::Runtime<deep_jit::CUDA>& cuda_jit();

// Of an arch by name ("90a"), of a typical member; or, where it is empty, of the device `index`.
DeviceTraits cuda_traits(std::string_view arch, int index);

// Whichever device is current: compiles for, and loads on, the device `index`.
std::shared_ptr<deep_jit::cuda::Kernel> compile_cuda(const KernelSource& source, int index);

}  // namespace deep_gemm
