// A kernel's arguments as one block of bytes, the way the runtime copies them to the device.
//
//   const auto block = ascend::pack_arguments(x, y, n);     // {8 bytes, 8 bytes, 4 bytes, 4
//   unused} block.data(); block.size();                             // 24
//   ascend::kArgumentLayout<float*, char, double>.offsets   // {0, 8, 16}
//
// In order, each at a multiple of max(4, its own alignment), the total rounded up to 8. Bytes
// between arguments are zero, so that equal launches have equal blocks. Leaves launching to
// kernel.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/no_ref_ptr.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

inline constexpr std::size_t kLeastAlignment = 4;
inline constexpr std::size_t kBlockAlignment = 8;

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

template <std::size_t N>
struct ArgumentLayout {
  std::array<std::size_t, N> offsets{};
  std::size_t num_bytes = 0;  // of the block
  std::size_t alignment = kBlockAlignment;
};

template <class... Args>
constexpr ArgumentLayout<sizeof...(Args)> make_argument_layout() {
  ArgumentLayout<sizeof...(Args)> layout;
  std::size_t at = 0, index = 0;
  const auto place = [&](std::size_t size, std::size_t alignment) {
    const std::size_t wanted = alignment < kLeastAlignment ? kLeastAlignment : alignment;
    at = round_up(at, wanted);
    layout.offsets[index++] = at;
    at += size;
    if (wanted > layout.alignment) layout.alignment = wanted;
  };
  static_cast<void>(place);
  (place(sizeof(Args), alignof(Args)), ...);
  layout.num_bytes = round_up(at, kBlockAlignment);
  return layout;
}

template <class... Args>
inline constexpr ArgumentLayout<sizeof...(Args)> kArgumentLayout = make_argument_layout<Args...>();

template <class... Args>
class ArgumentBlock {
 public:
  static constexpr const auto& kLayout = kArgumentLayout<Args...>;

  explicit ArgumentBlock(const Args&... args) {
    static_assert((std::is_trivially_copyable_v<Args> && ...),
                  "ARGUMENT_BYTES: a kernel gets the bytes of its arguments, so each is trivially "
                  "copyable");
    static_assert((!is_no_ref_ptr<Args> && ...),
                  "ARGUMENT_BYTES: the size behind a NoRefPtr is not known; launch with an array");
    std::size_t index = 0;
    static_cast<void>(index);
    (std::memcpy(bytes_ + kLayout.offsets[index++], std::addressof(args), sizeof(Args)), ...);
  }

  void* data() { return bytes_; }
  static constexpr std::size_t size() { return kLayout.num_bytes; }

 private:
  // One byte at least: a kernel without arguments has a block too.
  alignas(
      kLayout.alignment) unsigned char bytes_[kLayout.num_bytes + (kLayout.num_bytes == 0)] = {};
};

template <class... Args>
ArgumentBlock<std::remove_cvref_t<Args>...> pack_arguments(const Args&... args) {
  return ArgumentBlock<std::remove_cvref_t<Args>...>(args...);
}

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
