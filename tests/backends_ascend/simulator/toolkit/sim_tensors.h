// The part of AscendC's tensor classes that the examples use, on host memory: sizes, order of the
// queues and room in the unified buffer are checked, and a kernel that breaks a rule faults.
#pragma once

#include <stdlib.h>
#include <string.h>

#include <vector>

namespace AscendC {

enum class TPosition { GM, VECIN, VECOUT, VECCALC };

template <class T>
class GlobalTensor {
 public:
  void SetGlobalBuffer(T* data, uint64_t count) { data_ = data, count_ = count; }
  GlobalTensor operator[](uint64_t offset) const {
    GlobalTensor rest;
    rest.SetGlobalBuffer(data_ + offset, offset < count_ ? count_ - offset : 0);
    return rest;
  }
  T* data() const { return data_; }
  uint64_t count() const { return count_; }

 private:
  T* data_ = nullptr;
  uint64_t count_ = 0;
};

template <class T>
struct LocalTensor {
  T* data = nullptr;
  uint64_t count = 0;
};

// What InitBuffer gives a queue: buffers that go round, allocated, filled, taken, freed.
template <TPosition position, int depth>
class TQue {
 public:
  template <class T>
  LocalTensor<T> AllocTensor() {
    if (free_.empty()) return SimTrap(), LocalTensor<T>{};
    char* buffer = free_.back();
    free_.pop_back();
    return {reinterpret_cast<T*>(buffer), bytes_ / sizeof(T)};
  }
  template <class T>
  void EnQue(const LocalTensor<T>& tensor) {
    filled_.push_back(reinterpret_cast<char*>(tensor.data));
  }
  template <class T>
  LocalTensor<T> DeQue() {
    if (filled_.empty()) return SimTrap(), LocalTensor<T>{};
    char* buffer = filled_.front();
    filled_.erase(filled_.begin());
    return {reinterpret_cast<T*>(buffer), bytes_ / sizeof(T)};
  }
  template <class T>
  void FreeTensor(const LocalTensor<T>& tensor) {
    free_.push_back(reinterpret_cast<char*>(tensor.data));
  }
  void take(char* memory, int count, uint64_t bytes) {
    bytes_ = bytes;
    for (int i = 0; i < count; ++i) free_.push_back(memory + i * bytes);
  }

 private:
  std::vector<char*> free_, filled_;
  uint64_t bytes_ = 0;
};

class TPipe {
 public:
  ~TPipe() {
    for (char* memory : all_) free(memory);
  }
  template <TPosition position, int depth>
  void InitBuffer(TQue<position, depth>& queue, int count, uint64_t bytes) {
    constexpr uint64_t kUnifiedBuffer = 192 * 1024;
    used_ += count * bytes;
    if (bytes % 32 != 0 || used_ > kUnifiedBuffer) return SimTrap();
    all_.push_back(static_cast<char*>(calloc(count, bytes)));
    queue.take(all_.back(), count, bytes);
  }

 private:
  std::vector<char*> all_;
  uint64_t used_ = 0;
};

// blockLen is in bytes; one block is all that is served.
struct DataCopyExtParams {
  uint16_t blockCount;
  uint32_t blockLen, srcStride, dstStride, rsv;
};
template <class T>
struct DataCopyPadExtParams {
  bool isPad;
  uint8_t leftPadding, rightPadding;
  T paddingValue;
};

template <class T>
void DataCopyPad(const LocalTensor<T>& to, const GlobalTensor<T>& from,
                 const DataCopyExtParams& size, const DataCopyPadExtParams<T>&) {
  const bool fits = size.blockLen <= to.count * sizeof(T) &&
                    size.blockLen <= from.count() * sizeof(T) && size.blockCount == 1;
  if (!fits) return SimTrap();
  memcpy(to.data, from.data(), size.blockLen);
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& to, const LocalTensor<T>& from,
                 const DataCopyExtParams& size) {
  const bool fits = size.blockLen <= from.count * sizeof(T) &&
                    size.blockLen <= to.count() * sizeof(T) && size.blockCount == 1;
  if (!fits) return SimTrap();
  memcpy(to.data(), from.data, size.blockLen);
}

template <class T>
void Add(const LocalTensor<T>& to, const LocalTensor<T>& a, const LocalTensor<T>& b,
         int32_t count) {
  if (static_cast<uint64_t>(count) > to.count) return SimTrap();
  for (int32_t i = 0; i < count; ++i) to.data[i] = a.data[i] + b.data[i];
}

}  // namespace AscendC
