#include <deep_gemm/csrc/ops/gate_check.hpp>

#include <functional>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;
using namespace deep_gemm::ops;

namespace {

// 6 tokens of 128 elements, 4 of 64 experts each, with everything that may be given.
GateFacts legal() {
  return {.x = contiguous(DType::BFloat16, {6, 128}),
          .weight = contiguous(DType::BFloat16, {64, 128}),
          .topk = 4,
          .indices = contiguous(DType::Int64, {6, 4}),
          .weights = contiguous(DType::Float32, {6, 4}),
          .mask = contiguous(DType::Bool, {6}),
          .bias = contiguous(DType::Float32, {64}),
          .image_bias = contiguous(DType::Float32, {64}),
          .image_mask = contiguous(DType::UInt8, {6}),
          .fixed_mask = contiguous(DType::Bool, {6}),
          .physical_map = contiguous(DType::Int32, {64, 3}),
          .num_copies = contiguous(DType::Int64, {64}),
          .fixed = contiguous(DType::Int64, {6, 4})};
}

struct WrongCall {
  Rule rule;
  std::function<void(GateFacts&)> spoil;
};

const WrongCall kWrongCalls[] = {
    {Rule::DeviceKind, [](GateFacts& f) { f.x.device = DeviceKind::Other; }},
    {Rule::OneDevice, [](GateFacts& f) { f.bias->device = DeviceKind::Cuda; }},
    {Rule::GateDtype, [](GateFacts& f) { f.x.dtype = DType::Float32; }},
    {Rule::GateDtype, [](GateFacts& f) { f.indices.dtype = DType::Int32; }},
    {Rule::GateDtype, [](GateFacts& f) { f.mask->dtype = DType::Float32; }},
    {Rule::GateShape, [](GateFacts& f) { f.x = contiguous(DType::BFloat16, {128}); }},
    {Rule::GateShape, [](GateFacts& f) { f.weight = contiguous(DType::BFloat16, {64, 64}); }},
    {Rule::GateShape, [](GateFacts& f) { f.fixed = contiguous(DType::Int64, {6, 5}); }},
    {Rule::GateContiguous, [](GateFacts& f) { f.weight.strides[0] = 160; }},
    {Rule::GateSizes, [](GateFacts& f) { f.x = contiguous(DType::BFloat16, {6, 0}); }},
    {Rule::GateExperts, [](GateFacts& f) { f.weight = contiguous(DType::BFloat16, {513, 128}); }},
    {Rule::GateTopk, [](GateFacts& f) { f.topk = 0; }},
    {Rule::GateTopk, [](GateFacts& f) { f.topk = 33; }},
    {Rule::GateTogether, [](GateFacts& f) { f.image_mask.reset(); }},
    {Rule::GateTogether, [](GateFacts& f) { f.physical_map.reset(); }},
    {Rule::GateTogether, [](GateFacts& f) { f.fixed.reset(); }},
    {Rule::GateCopies, [](GateFacts& f) { f.physical_map = contiguous(DType::Int32, {64, 0}); }},
};

}  // namespace

TEST(GateCheck, EveryWrongCallIsRefusedByItsRuleInFiveParts) {
  std::string text;
  for (const WrongCall& wrong : kWrongCalls) {
    GateFacts facts = legal();
    wrong.spoil(facts);
    try {
      check_gate(facts);
      CHECK_EQ("accepted", rule_info(wrong.rule).name);
    } catch (const deep_jit::exception::Exception& error) {
      CHECK_EQ(error.condition(), rule_info(wrong.rule).name);
      text += std::string(error.what()) + "\n\n";
    }
  }
  CHECK_EQ(text, dj_test::golden("errors_gate.txt", text));
}

TEST(GateCheck, ALegalCallBecomesAProblem) {
  const GateProblem p = check_gate(legal());
  CHECK_EQ(p.to_string(), "rows6 hidden128 experts64 topk4 mapped");
  CHECK(p.max_copies == 3 && p.fixed_words == 2 && p.map_words == 1 && p.copies_words == 2);
  GateFacts bare = legal();
  bare.mask = bare.bias = bare.image_bias = bare.image_mask = std::nullopt;
  bare.fixed_mask = bare.physical_map = bare.num_copies = bare.fixed = std::nullopt;
  CHECK_EQ(check_gate(bare).max_copies, 0);
  CHECK(!(check_gate(bare) == p) && check_gate(bare).hash() != p.hash());
}

TEST(GateCheck, StridesOfDirectionsOfSizeOneMeanNothing) {
  GateFacts f = legal();
  f.x = contiguous(DType::BFloat16, {1, 128});
  f.indices = contiguous(DType::Int64, {1, 4});
  f.weights = contiguous(DType::Float32, {1, 4});
  f.mask = f.image_mask = f.fixed_mask = contiguous(DType::Bool, {1});
  f.fixed = contiguous(DType::Int64, {1, 4});
  f.x.strides[0] = 7;
  CHECK_EQ(check_gate(f).rows, 1);
}

CHECK_MAIN()
