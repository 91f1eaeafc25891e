// The numbers that describe a device to the planner. Filled by launch/jit.cpp from a device, or
// from an arch by name; tests fill them by hand.
//   DeviceTraits traits{.kind = DeviceTraits::Kind::Host, .num_threads = 8, .vector_bytes = 32};
// Leaves asking devices to launch/.
#pragma once

#include <cstdint>
#include <string>

namespace deep_gemm {

struct DeviceTraits {
  enum class Kind : int { Host, Cuda };

  Kind kind = Kind::Host;
  std::string arch = "generic";  // "x86-64-v3", "90a"
  int num_threads = 1;           // that a launch may use
  int vector_bytes = 16;         // width of a register
  int num_vector_registers = 16;
  std::int64_t l2_bytes = 512 << 10;  // host: of one core; CUDA: of the device
  // CUDA only.
  int compute = 0;              // 90 for 9.0
  int num_sms = 0;              // that the device has; Knobs may ask for fewer
  std::int64_t smem_bytes = 0;  // a block may use, opted in

  bool is_cuda() const { return kind == Kind::Cuda; }

  friend bool operator==(const DeviceTraits&, const DeviceTraits&) = default;
};

}  // namespace deep_gemm
