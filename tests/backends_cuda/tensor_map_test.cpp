#include <deep_jit/backend/cuda/tensor_map.hpp>

#include <string>

#include "tests/support/check.hpp"

namespace {

using namespace deep_jit;

cuda::TensorMapDesc good() {
  return {.name = "a",
          .dtype = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
          .sizes = {4096, 128},
          .strides_bytes = {8192},
          .box = {64, 64},
          .swizzle = CU_TENSOR_MAP_SWIZZLE_128B};
}

std::string rule_of(const cuda::TensorMapDesc& desc, std::uint64_t address = 0x1000) {
  const auto refusal = cuda::first_broken_tensor_map_rule(desc, address);
  return refusal ? std::string(refusal->rule) : std::string();
}

// Each wrong description beside its nearest legal twin.
#define CHECK_RULE(change_wrong, change_right, rule) \
  do {                                               \
    auto desc = good();                              \
    change_wrong;                                    \
    CHECK_EQ(rule_of(desc), std::string(rule));      \
    desc = good();                                   \
    change_right;                                    \
    CHECK_EQ(rule_of(desc), std::string());          \
  } while (false)

TEST(TensorMap, AGoodDescriptionBreaksNoRule) { CHECK_EQ(rule_of(good()), std::string()); }

TEST(TensorMap, RanksOutside1To5AreRefused) {
  CHECK_RULE(desc.sizes = {}, , "TENSOR_MAP_RANK");
  CHECK_RULE(desc.sizes.assign(6, 16), , "TENSOR_MAP_RANK");
  cuda::TensorMapDesc one{.sizes = {64}, .strides_bytes = {}, .box = {16}};
  CHECK_EQ(rule_of(one), std::string());
  cuda::TensorMapDesc five{
      .sizes = {64, 2, 2, 2, 2}, .strides_bytes = {64, 128, 256, 512}, .box = {16, 1, 1, 1, 1}};
  CHECK_EQ(rule_of(five), std::string());
}

TEST(TensorMap, ListsOfAnotherLengthThanTheRankAreRefused) {
  CHECK_RULE(desc.strides_bytes.push_back(16), , "TENSOR_MAP_COUNTS");
  CHECK_RULE(desc.box.pop_back(), , "TENSOR_MAP_COUNTS");
  CHECK_RULE(desc.element_strides = {1}, (desc.element_strides = {1, 1}), "TENSOR_MAP_COUNTS");
}

TEST(TensorMap, AnAddressOffAlignmentIsRefused) {
  CHECK_EQ(rule_of(good(), 0x1008), std::string("TENSOR_MAP_ADDRESS"));
  CHECK_EQ(rule_of(good(), 0x1010), std::string());
}

TEST(TensorMap, SizesAndStridesOutOfRangeAreRefused) {
  CHECK_RULE(desc.sizes[1] = 0, desc.sizes[1] = 1, "TENSOR_MAP_SIZE");
  CHECK_RULE(desc.sizes[1] = (1ull << 32) + 1, desc.sizes[1] = 1ull << 32, "TENSOR_MAP_SIZE");
  CHECK_RULE(desc.strides_bytes[0] = 8200, desc.strides_bytes[0] = 8208, "TENSOR_MAP_STRIDE");
  CHECK_RULE(desc.strides_bytes[0] = 1ull << 40, desc.strides_bytes[0] = (1ull << 40) - 16,
             "TENSOR_MAP_STRIDE_RANGE");
}

TEST(TensorMap, BoxesThatTheHardwareCannotCopyAreRefused) {
  CHECK_RULE(desc.box[1] = 0, desc.box[1] = 1, "TENSOR_MAP_BOX");
  CHECK_RULE(desc.box[1] = 257, desc.box[1] = 256, "TENSOR_MAP_BOX");
  CHECK_RULE(desc.box[0] = 12, desc.box[0] = 16, "TENSOR_MAP_BOX_BYTES");
  CHECK_RULE(desc.box[0] = 72, desc.box[0] = 64, "TENSOR_MAP_SWIZZLE_SPAN");
  CHECK_RULE(desc.swizzle = CU_TENSOR_MAP_SWIZZLE_64B,
             (desc.swizzle = CU_TENSOR_MAP_SWIZZLE_64B, desc.box[0] = 32),
             "TENSOR_MAP_SWIZZLE_SPAN");
  CHECK_RULE((desc.element_strides = {1, 9}), (desc.element_strides = {1, 8}),
             "TENSOR_MAP_ELEMENT_STRIDE");
}

TEST(TensorMap, ARefusalNamesTensorValueRuleAndWayOut) {
  auto desc = good();
  desc.strides_bytes[0] = 8200;
  try {
    cuda::encode_tensor_map(desc, reinterpret_cast<const void*>(0x1000));
    CHECK(false);
  } catch (const exception::Exception& error) {
    const std::string text = error.what();
    for (const char* part : {"tensor map of a", "strides_bytes[0]", "8200 bytes", "(4096, 128)",
                             "multiple of 16 bytes", "pad the row to 8208 bytes"}) {
      CHECK(text.find(part) != std::string::npos);
    }
  }
}

}  // namespace

CHECK_MAIN()
