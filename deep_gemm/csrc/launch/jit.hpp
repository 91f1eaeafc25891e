// The runtimes, and what they say about devices: the only place above a back end that knows one.
//   std::shared_ptr<host::Kernel> kernel = host_jit().compile(source.name, source.text, options);
//   const DeviceTraits traits = host_traits({}, 8);
// Leaves plans to plan/ and parameters to <stem>_host.cpp.
#pragma once

#include <string_view>

#include <deep_jit/backend/host/backend.hpp>

#include <deep_gemm/csrc/launch/placement.hpp>
#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

// Made at the first use, from the package's root at that time.
deep_jit::Runtime<deep_jit::Host>& host_jit();

// Of an arch by name ("x86-64-v4"), or of this machine. num_threads 0: all of this machine.
DeviceTraits host_traits(std::string_view arch, int num_threads);

// Of the device where a call runs.
DeviceTraits traits_at(const Placement& placement);

deep_jit::host::CompilerOptions host_options(const KernelSource& source, std::string_view arch);

// Whether a compiler can be found, and if not, why.
bool has_host_compiler(std::string* why_not);

}  // namespace deep_gemm
