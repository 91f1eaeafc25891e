// The state of the simulated runtime and what every call does first: was aclInit called, is this
// the process that called it, has the thread a device, is this call to fail.
//
//   SIM_ENTER(aclrtMalloc, Needs::kDevice);      // returns the code of the call when it is to fail
//   return fail(ACL_ERROR_RT_PARAM_INVALID, "size is 0");
//
// Leaves each group of calls to its acl_*.cpp.
#pragma once

#include <acl/acl_rt.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sim {

enum class Needs { kNothing, kInit, kDevice };

struct Soc {
  std::string name;
  std::int64_t ai_cores, cube_cores, vector_cores, lanes, ub_bytes, l2_bytes, memory_bytes, arch;
};

struct Allocation {
  std::size_t size = 0;
  int device = 0;
  bool is_freed = false;
};

struct Stream {
  int device = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<aclError()>> tasks;
  bool is_busy = false, is_ending = false;
  aclError error = ACL_SUCCESS;  // the first one, told by the next synchronisation
  std::string words;
  std::thread worker;
};

// Never destroyed: threads may still run tasks while the process ends.
struct State {
  std::mutex mutex;
  bool is_initialised = false;
  int pid = 0;
  std::vector<Soc> socs;
  std::map<std::string, long> calls;
  std::map<std::string, std::pair<int, int>> failures;  // function -> {calls left, code}
  std::map<std::uintptr_t, Allocation> allocations;     // by address; freed ones stay known
  std::map<Stream*, std::unique_ptr<Stream>> streams;
  std::map<int, Stream*> default_streams;
  std::vector<std::string> violations;
  std::atomic<long> latency_us{0};
  std::atomic<bool> names_are_halves{false}, is_old{false};
};

State& state();
int& current_device();  // of the thread; -1: none

// Remembers the words for aclGetRecentErrMsg and returns the code.
aclError fail(aclError code, const std::string& words);
void violate(const std::string& what);
aclError enter(const char* function, Needs needs);

// The stream of a handle, or the default one of the thread's device; nullptr for a stranger's.
Stream* find_stream(aclrtStream handle);
aclError enqueue(Stream& stream, std::function<aclError()> task);
// Waits, and gives what went wrong since the last time.
aclError drain(Stream& stream);
aclError drain_device(int device);

// Whether [address, address + size) lies in one living allocation.
bool is_device_memory(const void* address, std::size_t size);
// A word of an argument block that points into freed memory; 0: none.
std::uintptr_t find_freed(const std::vector<unsigned char>& block);

}  // namespace sim

#define SIM_API extern "C" __attribute__((visibility("default")))
#define SIM_ENTER(function, needs)                                                       \
  if (const aclError sim_code_ = sim::enter(#function, needs); sim_code_ != ACL_SUCCESS) \
  return sim_code_
