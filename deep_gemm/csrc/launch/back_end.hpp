// What the control plane asks of each back end, in one table.
//   for (const BackEnd& one : back_ends()) answer[one.name] = one.doctor();
//   rows = back_end_of("cpu").precompile(sources, {.arch = "x86-64-v3"});
// A back end more is a row in back_end.cpp and a file back_end_<name>.cpp; no question changes.
// Leaves the questions to control_*.cpp and what can be planned to plan/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <deep_jit/utils/json.hpp>

#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

struct PrecompileWish {
  std::string arch;          // empty: of this machine
  unsigned num_threads = 0;  // 0: one per processor
  bool is_dry = false;       // look, compile nothing
  std::string only;          // digests; empty: all. The others get no row
};

struct KernelRow {
  std::string name;
  std::string request;     // digest
  bool is_cached = false;  // nothing had to be compiled, or would have to be
  double ms = 0;
  std::string error;  // empty: it is in the cache, or nobody asked for that
};

struct BackEnd {
  std::string_view name;    // "host": its key in doctor's answer
  std::string_view device;  // "cpu": torch's word for it
  // {"found", "reason", "fix", ...}. Compiles nothing and starts nothing on a device.
  deep_jit::json (*doctor)();
  DeviceTraits (*traits)(std::string_view arch);  // of this machine where arch is empty
  // Rows in the order of the sources (those that `only` leaves). Null: there are no kernels to
  // compile yet.
  std::vector<KernelRow> (*precompile)(const std::vector<KernelSource>& sources,
                                       const PrecompileWish& wish);
};

std::span<const BackEnd> back_ends();
// By torch's word, "cuda:1" included; the host where none fits.
const BackEnd& back_end_of(std::string_view device);

// Of back_end_host.cpp and its kin.
extern const BackEnd kHostBackEnd, kCudaBackEnd;

}  // namespace deep_gemm
