// The context a launch or a load runs in: the primary one of the kernel's device, as torch and the
// CUDA runtime use, without disturbing what the thread had.
//
//   cuda::PrimaryContext primary(device_index);            // retained, released with the object
//   { cuda::ContextScope scope(primary); ... }             // current here, the old one afterwards
//
// Leaves streams to kernel.hpp. A context of the caller's own on the same device is left in place.
#pragma once

#include <deep_jit/backend/cuda/driver.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

class PrimaryContext {
 public:
  explicit PrimaryContext(int device_index) : device_index_(device_index) {
    driver::ensure_initialized();
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuDeviceGet(&device_, device_index));
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuDevicePrimaryCtxRetain(&context_, device_));
  }
  // At process exit the driver may be gone already; its answer is of no use then.
  ~PrimaryContext() { driver::lazy_cuDevicePrimaryCtxRelease(device_); }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  CUcontext get() const { return context_; }
  CUdevice get_device() const { return device_; }
  int get_device_index() const { return device_index_; }

 private:
  int device_index_ = 0;
  CUdevice device_{};
  CUcontext context_ = nullptr;
};

// Keeps a current context of the same device, makes the primary one current otherwise. A thread
// that had none keeps the primary one, as after the runtime's first call.
class ContextScope {
 public:
  explicit ContextScope(const PrimaryContext& primary) {
    CUcontext current = nullptr;
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuCtxGetCurrent(&current));
    if (current == primary.get()) [[likely]]
      return;
    is_primary_ = false;
    if (current == nullptr) {
      DJ_CUDA_DRIVER_CHECK(driver::lazy_cuCtxSetCurrent(primary.get()));
      is_primary_ = true;
      return;
    }
    CUdevice device{};
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuCtxGetDevice(&device));
    if (device == primary.get_device()) return;
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuCtxPushCurrent(primary.get()));
    is_primary_ = true;
    is_pushed_ = true;
  }
  ~ContextScope() {
    CUcontext ignored = nullptr;
    if (is_pushed_) driver::lazy_cuCtxPopCurrent(&ignored);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  // False: the caller's own context of this device is current, where handles of the primary
  // context are not valid.
  bool is_primary() const { return is_primary_; }

 private:
  bool is_primary_ = true;
  bool is_pushed_ = false;
};

// Lets a thread that captures a graph load a kernel: the calls a load makes are refused in the
// stricter modes, and would spoil the capture, though they put nothing into it.
class RelaxedCaptureScope {
 public:
  RelaxedCaptureScope() {
    DJ_CUDA_DRIVER_CHECK(driver::lazy_cuThreadExchangeStreamCaptureMode(&mode_));
  }
  ~RelaxedCaptureScope() { driver::lazy_cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCaptureScope(const RelaxedCaptureScope&) = delete;
  RelaxedCaptureScope& operator=(const RelaxedCaptureScope&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
