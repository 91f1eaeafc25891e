// Streams: one thread each, tasks in order, the first error told by the next synchronisation.
#include <chrono>

#include "tests/backends_ascend/simulator/core.hpp"

namespace sim {
namespace {

void work(Stream& stream) {
  current_device() = stream.device;
  std::unique_lock<std::mutex> lock(stream.mutex);
  while (true) {
    stream.changed.wait(lock, [&] { return !stream.tasks.empty() || stream.is_ending; });
    if (stream.tasks.empty()) return;
    const auto task = std::move(stream.tasks.front());
    stream.tasks.pop_front();
    stream.is_busy = true;
    const bool is_lost = stream.error != ACL_SUCCESS;
    lock.unlock();
    if (const long wait = state().latency_us)
      std::this_thread::sleep_for(std::chrono::microseconds(wait));
    // After an error nothing more runs, as on a device.
    const aclError code = is_lost ? ACL_SUCCESS : task();
    const char* words = code == ACL_SUCCESS ? nullptr : aclGetRecentErrMsg();
    lock.lock();
    if (code != ACL_SUCCESS) {
      stream.error = code;
      stream.words = words == nullptr ? "" : words;
    }
    stream.is_busy = false;
    stream.changed.notify_all();
  }
}

Stream* create(int device) {
  auto made = std::make_unique<Stream>();
  Stream* stream = made.get();
  stream->device = device;
  stream->worker = std::thread([stream] { work(*stream); });
  state().streams[stream] = std::move(made);
  return stream;
}

}  // namespace

Stream* find_stream(aclrtStream handle) {
  const std::lock_guard<std::mutex> guard(state().mutex);
  if (handle == nullptr) {
    Stream*& stream = state().default_streams[current_device()];
    if (stream == nullptr) stream = create(current_device());
    return stream;
  }
  const auto found = state().streams.find(static_cast<Stream*>(handle));
  return found == state().streams.end() ? nullptr : found->first;
}

aclError enqueue(Stream& stream, std::function<aclError()> task) {
  if (stream.device != current_device())
    return fail(ACL_ERROR_RT_STREAM_CONTEXT, "the stream is another device's");
  const std::lock_guard<std::mutex> guard(stream.mutex);
  stream.tasks.push_back(std::move(task));
  stream.changed.notify_all();
  return ACL_SUCCESS;
}

aclError drain(Stream& stream) {
  std::unique_lock<std::mutex> lock(stream.mutex);
  stream.changed.wait(lock, [&] { return stream.tasks.empty() && !stream.is_busy; });
  const aclError code = stream.error;
  stream.error = ACL_SUCCESS;
  if (code != ACL_SUCCESS) {
    constexpr std::size_t kTag = sizeof("EZ9999: simulated: ") - 1;
    fail(code, stream.words.size() > kTag ? stream.words.substr(kTag) : stream.words);
  }
  return code;
}

aclError drain_device(int device) {
  std::vector<Stream*> streams;
  {
    const std::lock_guard<std::mutex> guard(state().mutex);
    for (const auto& one : state().streams)
      if (one.first->device == device) streams.push_back(one.first);
  }
  aclError first = ACL_SUCCESS;
  for (Stream* stream : streams)
    if (const aclError code = drain(*stream); first == ACL_SUCCESS) first = code;
  return first;
}

}  // namespace sim

using sim::fail;
using sim::Needs;
using sim::state;

SIM_API aclError aclrtCreateStream(aclrtStream* stream) {
  SIM_ENTER(aclrtCreateStream, Needs::kDevice);
  const std::lock_guard<std::mutex> guard(state().mutex);
  *stream = sim::create(sim::current_device());
  return ACL_SUCCESS;
}

SIM_API aclError aclrtDestroyStream(aclrtStream handle) {
  SIM_ENTER(aclrtDestroyStream, Needs::kInit);
  std::unique_ptr<sim::Stream> stream;
  {
    const std::lock_guard<std::mutex> guard(state().mutex);
    const auto found = state().streams.find(static_cast<sim::Stream*>(handle));
    if (found == state().streams.end()) return fail(ACL_ERROR_RT_INVALID_HANDLE, "no such stream");
    stream = std::move(found->second);
    state().streams.erase(found);
  }
  {
    const std::lock_guard<std::mutex> guard(stream->mutex);
    stream->is_ending = true;
    stream->changed.notify_all();
  }
  stream->worker.join();
  return ACL_SUCCESS;
}

SIM_API aclError aclrtSynchronizeStream(aclrtStream handle) {
  SIM_ENTER(aclrtSynchronizeStream, Needs::kDevice);
  sim::Stream* stream = sim::find_stream(handle);
  if (stream == nullptr) return fail(ACL_ERROR_RT_INVALID_HANDLE, "no such stream");
  return sim::drain(*stream);
}

SIM_API aclError aclrtSynchronizeDevice() {
  SIM_ENTER(aclrtSynchronizeDevice, Needs::kDevice);
  return sim::drain_device(sim::current_device());
}
