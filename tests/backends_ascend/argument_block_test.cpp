#include <deep_jit/backend/ascend/argument_block.hpp>

#include <cstdint>

#include "tests/support/check.hpp"

namespace {

using namespace deep_jit;
using ascend::kArgumentLayout;

struct alignas(32) Wide {
  double values[4];
};
struct Odd {
  char bytes[3];
};

template <class T>
T at(const void* block, std::size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(block) + offset, sizeof value);
  return value;
}

}  // namespace

TEST(ArgumentBlock, OffsetsFollowTheRules) {
  // Worked out by hand: at least 4, else the type's own alignment; the whole a multiple of 8.
  constexpr auto small = kArgumentLayout<char, char, short, bool>;
  CHECK(small.offsets == std::array<std::size_t, 4>{0, 4, 8, 12});
  CHECK_EQ(small.num_bytes, 16u);
  constexpr auto mixed = kArgumentLayout<float*, int, double, char>;
  CHECK(mixed.offsets == std::array<std::size_t, 4>{0, 8, 16, 24});
  CHECK_EQ(mixed.num_bytes, 32u);
  constexpr auto wide = kArgumentLayout<int, Wide, Odd>;
  CHECK(wide.offsets == std::array<std::size_t, 3>{0, 32, 64});
  CHECK_EQ(wide.num_bytes, 72u);
  CHECK_EQ(wide.alignment, 32u);
  CHECK_EQ(kArgumentLayout<>.num_bytes, 0u);
  CHECK_EQ(kArgumentLayout<char>.num_bytes, 8u);
}

TEST(ArgumentBlock, HoldsTheValuesAndZeroesBetween) {
  int number = 7;
  auto block = ascend::pack_arguments(&number, 'x', 2.5, std::int16_t{-3});
  CHECK_EQ(block.size(), 32u);
  CHECK(at<int*>(block.data(), 0) == &number);
  CHECK(at<char>(block.data(), 8) == 'x');
  CHECK_EQ(at<double>(block.data(), 16), 2.5);
  CHECK_EQ(at<std::int16_t>(block.data(), 24), -3);
  for (const std::size_t gap : {9, 10, 11, 12, 13, 14, 15, 26, 27, 31})
    CHECK_EQ(static_cast<int>(at<unsigned char>(block.data(), gap)), 0);
}

TEST(ArgumentBlock, IsAlignedForItsWidestArgument) {
  for (int i = 0; i < 8; ++i) {
    auto plain = ascend::pack_arguments(i);
    auto wide = ascend::pack_arguments(i, Wide{});
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(plain.data()) % 8, 0u);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(wide.data()) % 32, 0u);
  }
  auto none = ascend::pack_arguments();
  CHECK(none.data() != nullptr);
}

CHECK_MAIN()
