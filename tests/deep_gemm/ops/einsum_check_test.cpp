#include <deep_gemm/csrc/ops/einsum_check.hpp>

#include <functional>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;
using namespace deep_gemm::ops;

namespace {

TensorFacts tensor(std::int64_t x, std::int64_t y, std::int64_t z) {
  TensorFacts t;
  t.dtype = DType::BFloat16;
  t.rank = 3;
  t.sizes = {x, y, z};
  t.strides = {y * z, z, 1};
  t.address = 4096;
  return t;
}

// b=4, h=8, d=128, r=512.
EinsumFacts legal(const char* expr = "bhr,hdr->bhd") {
  EinsumFacts f;
  f.op = "einsum";
  f.expr = expr;
  f.a = tensor(4, 8, 512);
  f.b = tensor(8, 128, 512);
  f.d = tensor(4, 8, 128);
  return f;
}

struct WrongCall {
  Rule rule;
  std::function<void(EinsumFacts&)> spoil;
};

const WrongCall kWrongCalls[] = {
    {Rule::EinsumExpression, [](EinsumFacts& f) { f.expr = "ij,jk->ik"; }},
    {Rule::EinsumRank, [](EinsumFacts& f) { f.a.rank = 2; }},
    {Rule::EinsumRank, [](EinsumFacts& f) { f.d.rank = 2; }},
    {Rule::EinsumBatch, [](EinsumFacts& f) { f.b = tensor(7, 128, 512); }},
    {Rule::SameK, [](EinsumFacts& f) { f.b = tensor(8, 128, 500); }},
    {Rule::ShapeD, [](EinsumFacts& f) { f.d = tensor(4, 8, 100); }},
    {Rule::AliasLayout,
     [](EinsumFacts& f) {
       f.c = f.d;
       f.c->strides[1] = 256;
     }},
};

}  // namespace

TEST(EinsumCheck, EveryWrongCallIsRefusedByItsRuleInFiveParts) {
  std::string text;
  for (const WrongCall& wrong : kWrongCalls) {
    EinsumFacts facts = legal();
    wrong.spoil(facts);
    try {
      check_bf16_einsum(facts);
      CHECK_EQ("accepted", rule_info(wrong.rule).name);
    } catch (const deep_jit::exception::Exception& error) {
      CHECK_EQ(error.condition(), rule_info(wrong.rule).name);
      text += std::string(error.what()) + "\n\n";
    }
  }
  CHECK_EQ(text, dj_test::golden("errors_einsum.txt", text));
}

TEST(EinsumCheck, AHeadIsAProductAndItsStepsAreBytes) {
  const BatchedGemm g = check_bf16_einsum(legal());
  CHECK_EQ(g.batch, 8);
  CHECK(g.problem.m == 4 && g.problem.n == 128 && g.problem.k == 512);
  CHECK_EQ(g.step.a, 512 * 2);
  CHECK_EQ(g.step.b, 128 * 512 * 2);
  CHECK_EQ(g.step.d, 128 * 2);
  CHECK_EQ(g.problem.a.stride_bytes, 8 * 512 * 2);
  CHECK_EQ(g.problem.d_stride, 8 * 128);
}

TEST(EinsumCheck, TheOtherFormsReadTheSameTensorsOtherwise) {
  EinsumFacts f = legal("bhd,hdr->bhr");
  f.a = tensor(4, 8, 128), f.b = tensor(8, 128, 512), f.d = tensor(4, 8, 512);
  const BatchedGemm back = check_bf16_einsum(f);
  CHECK(back.problem.n == 512 && back.problem.k == 128 && back.problem.b.major == Major::Mn);
  f = legal("bhd,bhr->hdr");
  f.a = tensor(4, 8, 128), f.b = tensor(4, 8, 512), f.d = tensor(8, 128, 512);
  const BatchedGemm gradient = check_bf16_einsum(f);
  CHECK(gradient.problem.m == 128 && gradient.problem.k == 4);
  CHECK(gradient.problem.a.major == Major::Mn && gradient.problem.b.major == Major::Mn);
}

TEST(EinsumCheck, TheLeastAlignedBatchCounts) {
  EinsumFacts f = legal();
  CHECK_EQ(check_bf16_einsum(f).problem.alignment, 16);
  f.a.strides = {8 * 516, 516, 1};
  CHECK_EQ(check_bf16_einsum(f).problem.alignment, 8);
}

CHECK_MAIN()
