// What every host GEMM launch needs: parameters of a plan, scratch memory, a compiled kernel.
//   HostGemmParams params = host_gemm_params(problem, plan);   // all but addresses
//   params.workspace = host_scratch(bytes);
//   auto kernel = compile_host(source);     // null: nobody could compile it
// Leaves grids and addresses to <stem>_host.cpp.
#pragma once

#include <cstddef>
#include <memory>

#include <deep_jit/backend/host/backend.hpp>

#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

HostGemmParams host_gemm_params(const GemmProblem& problem, const HostGemmPlan& plan);

// At least that many bytes, 64-byte aligned, of the calling thread: for all threads of its launch,
// never shared by the launches of two threads. It grows to the largest request and goes with its
// thread.
void* host_scratch(std::size_t bytes);

// Throws Toolchain when compiling fails; null on a machine without compiler, where caches hold
// nothing.
std::shared_ptr<deep_jit::host::Kernel> compile_host(const KernelSource& source);

}  // namespace deep_gemm
