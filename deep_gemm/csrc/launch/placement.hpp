// Where a call runs: the back end, and which of its devices.
//   Placement at{DeviceTraits::Kind::Cuda, 0, 0};
// Part of what a prepared kernel is found by. Leaves reading it off tensors to ops/args.hpp.
#pragma once

#include <deep_gemm/csrc/plan/device_traits.hpp>

namespace deep_gemm {

struct Placement {
  DeviceTraits::Kind kind = DeviceTraits::Kind::Host;
  int index = 0;
  int num_threads = 0;  // of host kernels; 0: all

  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace deep_gemm
