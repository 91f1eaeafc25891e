#include <deep_gemm/csrc/ops/gemm_check.hpp>

#include <functional>

#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;
using namespace deep_gemm::ops;

namespace {

TensorFacts tensor(DType dtype, std::int64_t rows, std::int64_t cols) {
  TensorFacts t;
  t.dtype = dtype;
  t.rank = 2;
  t.sizes = {rows, cols};
  t.strides = {cols, 1};
  return t;
}

// m=64, n=256, k=512, default recipe.
GemmFacts legal() {
  GemmFacts f;
  f.op = "fp8_gemm_nt";
  f.a = tensor(DType::Float8E4m3, 64, 512);
  f.a_scale = tensor(DType::Float32, 64, 4);
  f.b = tensor(DType::Float8E4m3, 256, 512);
  f.b_scale = tensor(DType::Float32, 2, 4);
  f.d = tensor(DType::BFloat16, 64, 256);
  return f;
}

GemmFacts legal_bf16() {
  GemmFacts f;
  f.op = "bf16_gemm_nt";
  f.a = tensor(DType::BFloat16, 64, 512);
  f.b = tensor(DType::BFloat16, 256, 512);
  f.d = tensor(DType::Float32, 64, 256);
  return f;
}

struct WrongCall {
  Rule rule;
  std::function<void(GemmFacts&)> spoil;
  bool is_bf16 = false;
};

const WrongCall kWrongCalls[] = {
    {Rule::OneDevice, [](GemmFacts& f) { f.b.device = DeviceKind::Cuda, f.b.device_index = 0; }},
    {Rule::DeviceKind,
     [](GemmFacts& f) {
       for (auto* t : {&f.a, &f.a_scale, &f.b, &f.b_scale, &f.d}) t->device = DeviceKind::Other;
     }},
    {Rule::DtypeFp8, [](GemmFacts& f) { f.a.dtype = DType::Float8E5m2; }},
    {Rule::DtypeBf16, [](GemmFacts& f) { f.b.dtype = DType::Float16; }, true},
    {Rule::DtypeScale, [](GemmFacts& f) { f.a_scale.dtype = DType::Float8E8m0; }},
    {Rule::DtypeOut, [](GemmFacts& f) { f.d.dtype = DType::Float16; }},
    {Rule::DtypeC, [](GemmFacts& f) { f.c = tensor(DType::Float32, 64, 256); }},
    {Rule::RankMatrix, [](GemmFacts& f) { f.a.rank = 3, f.a.sizes = {1, 64, 512}; }},
    {Rule::SameK, [](GemmFacts& f) { f.b = tensor(DType::Float8E4m3, 256, 640); }},
    {Rule::ShapeD, [](GemmFacts& f) { f.d = tensor(DType::BFloat16, 64, 255); }},
    {Rule::ShapeC, [](GemmFacts& f) { f.c = tensor(DType::BFloat16, 1, 256); }},
    {Rule::RecipeWhole, [](GemmFacts& f) { f.recipe = {1, 128, 0, 128}; }},
    {Rule::RecipeGranMn, [](GemmFacts& f) { f.recipe = {1, 64, 128, 128}; }},
    {Rule::RecipeGranK, [](GemmFacts& f) { f.recipe = {1, 128, 16, 16}; }},
    {Rule::ScaleRows, [](GemmFacts& f) { f.b_scale = tensor(DType::Float32, 256, 4); }},
    {Rule::ScaleColumns, [](GemmFacts& f) { f.a_scale = tensor(DType::Float32, 64, 3); }},
    {Rule::UnitStride, [](GemmFacts& f) { f.a.strides = {1024, 2}; }},
    {Rule::OutUnitStride, [](GemmFacts& f) { f.d.strides = {1, 64}; }},
    {Rule::OutRows, [](GemmFacts& f) { f.d.strides = {128, 1}; }},
    {Rule::AliasLayout,
     [](GemmFacts& f) {
       f.c = f.d;
       f.c->address = f.d.address = 4096;
       f.c->strides = {512, 1};
     }},
};

}  // namespace

TEST(GemmCheck, EveryWrongCallIsRefusedByItsRuleInFiveParts) {
  std::string text;
  for (const WrongCall& wrong : kWrongCalls) {
    GemmFacts facts = wrong.is_bf16 ? legal_bf16() : legal();
    wrong.spoil(facts);
    try {
      wrong.is_bf16 ? check_bf16_gemm(facts) : check_scaled_gemm(facts);
      CHECK_EQ("accepted", rule_info(wrong.rule).name);
    } catch (const deep_jit::exception::Exception& error) {
      CHECK_EQ(error.condition(), rule_info(wrong.rule).name);
      text += std::string(error.what()) + "\n\n";
    }
  }
  CHECK_EQ(text, dj_test::golden("errors.txt", text));
}

TEST(GemmCheck, RuleNamesAreDistinct) {
  for (int i = 0; i < static_cast<int>(Rule::Count); ++i)
    for (int j = 0; j < i; ++j)
      CHECK(std::string_view(rule_info(static_cast<Rule>(i)).name) !=
            rule_info(static_cast<Rule>(j)).name);
}

TEST(GemmCheck, TransposedLayoutsAreTheSameProblemWithOtherMajors) {
  GemmFacts f = legal();
  f.op = "fp8_gemm_tn";
  f.layout = kTn;
  f.a = tensor(DType::Float8E4m3, 512, 64);
  f.a_scale = tensor(DType::Float32, 4, 64);
  f.b = tensor(DType::Float8E4m3, 512, 256);
  f.b_scale = tensor(DType::Float32, 4, 2);
  const GemmProblem p = check_scaled_gemm(f);
  CHECK_EQ(p.m, 64);
  CHECK_EQ(p.n, 256);
  CHECK_EQ(p.k, 512);
  CHECK(p.a.major == Major::Mn && p.b.major == Major::Mn);
  CHECK_EQ(p.a_scale.stride_mn, 1);
  CHECK_EQ(p.a_scale.stride_k, 64);
}

TEST(GemmCheck, ATransposedViewOfKMajorStorageIsKMajor) {
  GemmFacts f = legal();
  f.op = "fp8_gemm_nn";
  f.layout = kNn;
  f.b.sizes = {512, 256};
  f.b.strides = {1, 512};
  f.b_scale.sizes = {4, 2};
  f.b_scale.strides = {1, 4};
  CHECK(check_scaled_gemm(f) == check_scaled_gemm(legal()));
}

TEST(GemmCheck, StridesOfDirectionsOfSizeOneMeanNothing) {
  GemmFacts f = legal();
  f.a = tensor(DType::Float8E4m3, 1, 512);
  f.a_scale = tensor(DType::Float32, 1, 4);
  f.d = tensor(DType::BFloat16, 1, 256);
  const GemmProblem plain = check_scaled_gemm(f);
  f.a_scale.strides = {977, 1};
  f.d.strides = {3, 1};
  CHECK(check_scaled_gemm(f) == plain);
}

TEST(GemmCheck, PackedScalesCountFourToAnInt32AndDefaultToOneARow) {
  GemmFacts f = legal();
  f.a_scale = tensor(DType::Int32, 64, 1);
  f.b_scale = tensor(DType::Int32, 256, 1);
  const GemmProblem p = check_scaled_gemm(f);
  CHECK(p.b_scale.type == ScaleType::Ue8m0x4);
  CHECK_EQ(p.b_scale.gran_mn, 1);
}

TEST(GemmCheck, TwoValuesAByteCountTwiceAlongTheContiguousDirection) {
  GemmFacts f = legal();
  f.b = tensor(DType::Int8, 256, 256);
  CHECK_EQ(check_scaled_gemm(f).k, 512);
}

TEST(GemmCheck, EmptySizesAreLegal) {
  GemmFacts f = legal();
  f.a = tensor(DType::Float8E4m3, 0, 512);
  f.a_scale = tensor(DType::Float32, 0, 4);
  f.d = tensor(DType::BFloat16, 0, 256);
  CHECK_EQ(check_scaled_gemm(f).m, 0);
}

TEST(GemmCheck, ACThatIsDAccumulatesInPlace) {
  GemmFacts f = legal_bf16();
  f.d.address = 4096;
  f.c = f.d;
  CHECK(check_bf16_gemm(f).accumulate == Accumulate::InPlace);
  f.c->address = 1 << 20;
  CHECK(check_bf16_gemm(f).accumulate == Accumulate::FromC);
}

CHECK_MAIN()
