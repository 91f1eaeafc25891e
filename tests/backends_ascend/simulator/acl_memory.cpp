// Device memory: host memory whose every allocation is known, with a guard behind each.
#include <cstdlib>
#include <cstring>

#include "tests/backends_ascend/simulator/core.hpp"

namespace sim {
namespace {

constexpr std::size_t kGuard = 64;
constexpr unsigned char kGuardByte = 0xa5;

// The allocation that holds an address; nullptr for a stranger's.
const std::pair<const std::uintptr_t, Allocation>* holder(std::uintptr_t address) {
  auto found = state().allocations.upper_bound(address);
  if (found == state().allocations.begin()) return nullptr;
  --found;
  return address < found->first + found->second.size + kGuard ? &*found : nullptr;
}

bool is_guard_whole(std::uintptr_t address, std::size_t size) {
  const auto* guard = reinterpret_cast<const unsigned char*>(address + size);
  for (std::size_t i = 0; i < kGuard; ++i)
    if (guard[i] != kGuardByte) return false;
  return true;
}

}  // namespace

bool is_device_memory(const void* address, std::size_t size) {
  const std::lock_guard<std::mutex> guard(state().mutex);
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const auto* found = holder(start);
  return found != nullptr && !found->second.is_freed &&
         start + size <= found->first + found->second.size;
}

std::uintptr_t find_freed(const std::vector<unsigned char>& block) {
  const std::lock_guard<std::mutex> guard(state().mutex);
  for (std::size_t at = 0; at + 8 <= block.size(); at += 8) {
    std::uintptr_t word = 0;
    std::memcpy(&word, block.data() + at, sizeof word);
    const auto* found = holder(word);
    if (found != nullptr && found->second.is_freed) return word;
  }
  return 0;
}

}  // namespace sim

using sim::fail;
using sim::Needs;
using sim::state;

SIM_API aclError aclrtMalloc(void** pointer, size_t size, aclrtMemMallocPolicy) {
  SIM_ENTER(aclrtMalloc, Needs::kDevice);
  if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "an allocation of 0 bytes");
  void* memory = std::aligned_alloc(512, (size + sim::kGuard + 511) / 512 * 512);
  if (memory == nullptr) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of memory");
  std::memset(memory, 0x7f, size);
  std::memset(static_cast<char*>(memory) + size, sim::kGuardByte, sim::kGuard);
  const std::lock_guard<std::mutex> guard(state().mutex);
  state().allocations[reinterpret_cast<std::uintptr_t>(memory)] = {size, sim::current_device(),
                                                                   false};
  *pointer = memory;
  return ACL_SUCCESS;
}

// The memory is kept, so that its address stays known as freed.
SIM_API aclError aclrtFree(void* pointer) {
  SIM_ENTER(aclrtFree, Needs::kInit);
  bool is_whole = true;
  {
    const std::lock_guard<std::mutex> guard(state().mutex);
    const auto found = state().allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (found == state().allocations.end() || found->second.is_freed)
      return fail(ACL_ERROR_RT_PARAM_INVALID, "no such allocation");
    found->second.is_freed = true;
    is_whole = sim::is_guard_whole(found->first, found->second.size);
  }
  if (!is_whole) sim::violate("a write beyond the end of an allocation");
  return ACL_SUCCESS;
}

namespace {

aclError check_copy(void* to, std::size_t room, const void* from, std::size_t size,
                    aclrtMemcpyKind kind) {
  if (size > room) return fail(ACL_ERROR_INVALID_PARAM, "more bytes than the destination has");
  const bool to_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  const bool from_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  if (to_device && !sim::is_device_memory(to, size))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "the destination is no device memory");
  if (from_device && !sim::is_device_memory(from, size))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "the source is no device memory");
  return ACL_SUCCESS;
}

}  // namespace

// Does not wait for streams, as the real one does not for those that do not block.
SIM_API aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t size,
                             aclrtMemcpyKind kind) {
  SIM_ENTER(aclrtMemcpy, Needs::kDevice);
  if (const aclError code = check_copy(to, room, from, size, kind)) return code;
  std::memcpy(to, from, size);
  return ACL_SUCCESS;
}

SIM_API aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t size,
                                  aclrtMemcpyKind kind, aclrtStream handle) {
  SIM_ENTER(aclrtMemcpyAsync, Needs::kDevice);
  sim::Stream* stream = sim::find_stream(handle);
  if (stream == nullptr) return fail(ACL_ERROR_RT_INVALID_HANDLE, "no such stream");
  if (const aclError code = check_copy(to, room, from, size, kind)) return code;
  return sim::enqueue(*stream, [=] {
    std::memcpy(to, from, size);
    return ACL_SUCCESS;
  });
}
