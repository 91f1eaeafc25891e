#include <deep_gemm/csrc/ops/hc_check.hpp>

#include <functional>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;
using namespace deep_gemm::ops;

namespace {

// m=64, n=24, k=7168, 16 splits.
HcFacts legal() {
  return {contiguous(DType::BFloat16, {64, 7168}), contiguous(DType::Float32, {24, 7168}),
          contiguous(DType::Float32, {16, 64, 24}), contiguous(DType::Float32, {16, 64}), 16};
}

struct WrongCall {
  Rule rule;
  std::function<void(HcFacts&)> spoil;
};

const WrongCall kWrongCalls[] = {
    {Rule::OneDevice, [](HcFacts& f) { f.b.device = DeviceKind::Cuda, f.b.device_index = 0; }},
    {Rule::DeviceKind,
     [](HcFacts& f) {
       for (auto* t : {&f.a, &f.b, &f.d, &f.sqr_sum}) t->device = DeviceKind::Other;
     }},
    {Rule::HcDtype, [](HcFacts& f) { f.a.dtype = DType::Float32; }},
    {Rule::HcDtype, [](HcFacts& f) { f.d.dtype = DType::BFloat16; }},
    {Rule::RankMatrix, [](HcFacts& f) { f.b = contiguous(DType::Float32, {1, 24, 7168}); }},
    {Rule::HcSameK, [](HcFacts& f) { f.b = contiguous(DType::Float32, {24, 7040}); }},
    {Rule::HcSizes, [](HcFacts& f) { f.b = contiguous(DType::Float32, {0, 7168}); }},
    {Rule::HcSizes, [](HcFacts& f) { f.a.sizes[1] = f.b.sizes[1] = std::int64_t{1} << 31; }},
    {Rule::HcSplits, [](HcFacts& f) { f.splits = 0; }},
    {Rule::HcSplits, [](HcFacts& f) { f.splits = 65536; }},
    {Rule::HcOutputShape, [](HcFacts& f) { f.splits.reset(); }},
    {Rule::HcOutputShape, [](HcFacts& f) { f.sqr_sum = contiguous(DType::Float32, {16, 63}); }},
    {Rule::HcOutputContiguous, [](HcFacts& f) { f.d.strides = {1536, 1, 64}; }},
    {Rule::HcKMajor, [](HcFacts& f) { f.a.strides = {1, 64}; }},
};

}  // namespace

TEST(HcCheck, EveryWrongCallIsRefusedByItsRuleInFiveParts) {
  std::string text;
  for (const WrongCall& wrong : kWrongCalls) {
    HcFacts facts = legal();
    wrong.spoil(facts);
    try {
      check_hc(facts);
      CHECK_EQ("accepted", rule_info(wrong.rule).name);
    } catch (const deep_jit::exception::Exception& error) {
      CHECK_EQ(error.condition(), rule_info(wrong.rule).name);
      text += std::string(error.what()) + "\n\n";
    }
  }
  CHECK_EQ(text, dj_test::golden("errors_hc.txt", text));
}

TEST(HcCheck, OneSplitAndNoneAreOneProblem) {
  HcFacts one = legal(), none = legal();
  one.splits = 1;
  one.d = contiguous(DType::Float32, {1, 64, 24}),
  one.sqr_sum = contiguous(DType::Float32, {1, 64});
  none.splits.reset();
  none.d = contiguous(DType::Float32, {64, 24}), none.sqr_sum = contiguous(DType::Float32, {64});
  CHECK(check_hc(one) == check_hc(none));
  CHECK_EQ(check_hc(one).hash(), check_hc(none).hash());
}

TEST(HcCheck, StridesOfOneRowMeanNothing) {
  HcFacts f = legal();
  f.a = contiguous(DType::BFloat16, {1, 7168});
  f.a.strides = {3, 1};
  f.d = contiguous(DType::Float32, {16, 1, 24}), f.sqr_sum = contiguous(DType::Float32, {16, 1});
  CHECK_EQ(check_hc(f).a_stride, 7168);
}

TEST(HcCheck, AMisalignedAddressIsKept) {
  HcFacts f = legal();
  f.a.address = 4096 + 2;
  CHECK_EQ(check_hc(f).alignment, 2);
}

CHECK_MAIN()
