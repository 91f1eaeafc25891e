// Initialisation, devices, messages, and the switches of sim.h.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/backends_ascend/simulator/core.hpp"
#include "tests/backends_ascend/simulator/sim.h"

namespace sim {
namespace {

thread_local std::string recent_words;
thread_local std::string told_words;

// Orders of magnitude of each generation; tests read them back, nothing is planned with them.
Soc soc_of(const std::string& name) {
  constexpr std::int64_t kKb = 1024, kMb = 1024 * kKb, kGb = 1024 * kMb;
  if (name.rfind("Ascend950", 0) == 0)
    return {name, 32, 32, 64, 32, 256 * kKb, 128 * kMb, 128 * kGb, 3510};
  if (name.rfind("Ascend310P", 0) == 0)
    return {name, 8, 8, 7, 0, 256 * kKb, 16 * kMb, 24 * kGb, 2002};
  if (name.rfind("Ascend910", 0) == 0)
    return {name, 24, 24, 48, 0, 192 * kKb, 192 * kMb, 64 * kGb, 2201};
  return {name, 1, 1, 1, 0, 192 * kKb, kMb, kGb, 0};
}

void read_environment(State& state) {
  const char* list = std::getenv("ASCEND_SIM_SOCS");
  std::string text = list == nullptr ? "Ascend910B2,Ascend910B2" : list;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    state.socs.push_back(soc_of(text.substr(at, end - at)));
    at = end + 1;
  }
  if (const char* time = std::getenv("ASCEND_SIM_LATENCY_US")) state.latency_us = std::atol(time);
  if (const char* order = std::getenv("ASCEND_SIM_FAIL")) {
    char function[64] = {};
    int nth = 0, code = 0;
    if (std::sscanf(order, "%63[^:]:%d:%d", function, &nth, &code) == 3)
      state.failures[function] = {nth, code};
  }
}

}  // namespace

State& state() {
  static State* const one = [] {
    auto* made = new State;
    read_environment(*made);
    return made;
  }();
  return *one;
}

int& current_device() {
  static thread_local int device = -1;
  return device;
}

aclError fail(aclError code, const std::string& words) {
  recent_words = "EZ9999: simulated: " + words;
  return code;
}

void violate(const std::string& what) {
  const std::lock_guard<std::mutex> guard(state().mutex);
  state().violations.push_back(what);
}

aclError enter(const char* function, Needs needs) {
  State& all = state();
  const std::lock_guard<std::mutex> guard(all.mutex);
  ++all.calls[function];
  if (const auto found = all.failures.find(function); found != all.failures.end()) {
    if (--found->second.first == 0) {
      const int code = found->second.second;
      all.failures.erase(found);
      return fail(code, std::string(function) + " fails as asked for");
    }
  }
  if (needs == Needs::kNothing) return ACL_SUCCESS;
  if (!all.is_initialised) return fail(ACL_ERROR_UNINITIALIZE, "aclInit was not called");
  if (all.pid != getpid())
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "the process was forked after aclInit");
  if (needs == Needs::kDevice && current_device() < 0)
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device");
  return ACL_SUCCESS;
}

}  // namespace sim

using sim::fail;
using sim::Needs;
using sim::state;

SIM_API aclError aclInit(const char*) {
  SIM_ENTER(aclInit, Needs::kNothing);
  const std::lock_guard<std::mutex> guard(state().mutex);
  if (state().is_initialised && state().pid == getpid())
    return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit was called before");
  state().is_initialised = true;
  state().pid = getpid();
  return ACL_SUCCESS;
}

SIM_API aclError aclFinalize() {
  SIM_ENTER(aclFinalize, Needs::kInit);
  const std::lock_guard<std::mutex> guard(state().mutex);
  state().is_initialised = false;
  return ACL_SUCCESS;
}

// As the real one: reading takes the words.
SIM_API const char* aclGetRecentErrMsg() {
  if (sim::recent_words.empty()) return nullptr;
  sim::told_words = std::move(sim::recent_words);
  sim::recent_words.clear();
  return sim::told_words.c_str();
}

SIM_API const char* aclrtGetSocName() {
  const int device = sim::current_device();
  return device < 0 ? nullptr : state().socs[static_cast<std::size_t>(device)].name.c_str();
}

SIM_API aclError aclrtSetDevice(int32_t device) {
  SIM_ENTER(aclrtSetDevice, Needs::kInit);
  if (device < 0 || static_cast<std::size_t>(device) >= state().socs.size())
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "no device " + std::to_string(device));
  sim::current_device() = device;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtGetDevice(int32_t* device) {
  SIM_ENTER(aclrtGetDevice, Needs::kDevice);
  *device = sim::current_device();
  return ACL_SUCCESS;
}

SIM_API aclError aclrtGetDeviceCount(uint32_t* count) {
  SIM_ENTER(aclrtGetDeviceCount, Needs::kInit);
  *count = static_cast<uint32_t>(state().socs.size());
  return ACL_SUCCESS;
}

SIM_API aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr attribute, int64_t* value) {
  SIM_ENTER(aclrtGetDeviceInfo, Needs::kInit);
  if (device >= state().socs.size())
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "no device " + std::to_string(device));
  const sim::Soc& soc = state().socs[device];
  switch (attribute) {
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
      *value = soc.ai_cores;
      break;
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      *value = soc.cube_cores;
      break;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      *value = soc.vector_cores;
      break;
    case ACL_DEV_ATTR_WARP_SIZE:
      *value = soc.lanes;
      break;
    case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE:
      *value = soc.ub_bytes;
      break;
    case ACL_DEV_ATTR_MAX_BLOCK_PER_GRID:
      *value = 65535;
      break;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      *value = soc.memory_bytes;
      break;
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = soc.l2_bytes;
      break;
    case ACL_DEV_ATTR_NPU_ARCH:
      if (state().is_old || soc.arch == 0)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "this release has no such attribute");
      *value = soc.arch;
      break;
    default:
      return fail(ACL_ERROR_RT_PARAM_INVALID, "attribute " + std::to_string(attribute));
  }
  return ACL_SUCCESS;
}

SIM_API void sim_fail(const char* function, int nth, int code) {
  const std::lock_guard<std::mutex> guard(state().mutex);
  state().failures.erase(function);
  if (nth > 0) state().failures[function] = {nth, code};
}

SIM_API void sim_latency_us(long microseconds) { state().latency_us = microseconds; }

SIM_API long sim_calls(const char* function) {
  const std::lock_guard<std::mutex> guard(state().mutex);
  return state().calls[function];
}

SIM_API const char* sim_violations(void) {
  static thread_local std::string text;
  const std::lock_guard<std::mutex> guard(state().mutex);
  text.clear();
  for (const std::string& one : state().violations) text += one + "\n";
  return text.c_str();
}

SIM_API void sim_names_are_halves(int is_so) { state().names_are_halves = is_so != 0; }
SIM_API void sim_is_old(int is_so) { state().is_old = is_so != 0; }
