#include <deep_gemm/csrc/ops/grouped_check.hpp>

#include <functional>

#include <deep_gemm/csrc/ops/grouped_values.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;
using namespace deep_gemm::ops;

namespace {

// 3 groups, n=256, k=512; masked with room for 64 rows each.
MGroupedFacts masked() {
  MGroupedFacts f;
  f.op = "m_grouped_fp8_gemm_nt_masked";
  f.grouping = Grouping::Counts;
  f.is_scaled = true;
  f.a = contiguous(DType::Float8E4m3, {3, 64, 512});
  f.a_scale = contiguous(DType::Float32, {3, 64, 4});
  f.b = contiguous(DType::Float8E4m3, {3, 256, 512});
  f.b_scale = contiguous(DType::Float32, {3, 2, 4});
  f.d = contiguous(DType::BFloat16, {3, 64, 256});
  f.layout = contiguous(DType::Int32, {3});
  return f;
}

MGroupedFacts contiguous(Grouping grouping) {
  MGroupedFacts f = masked();
  f.op = "m_grouped_fp8_gemm_nt_contiguous";
  f.grouping = grouping;
  f.a = contiguous(DType::Float8E4m3, {384, 512});
  f.a_scale = contiguous(DType::Float32, {384, 4});
  f.d = contiguous(DType::BFloat16, {384, 256});
  f.layout = contiguous(DType::Int32, {grouping == Grouping::Labels ? 384 : 3});
  return f;
}

// 2 groups of 128 and 384 along k, m=64, n=96.
KGroupedFacts along_k() {
  KGroupedFacts f;
  f.op = "k_grouped_fp8_gemm_nt_contiguous";
  f.storage = KStorage::Flat;
  f.is_scaled = true;
  f.a = contiguous(DType::Float8E4m3, {512 * 64});
  f.a_scale = contiguous(DType::Float32, {64, 4});
  f.b = contiguous(DType::Float8E4m3, {512 * 96});
  f.b_scale = contiguous(DType::Float32, {96, 4});
  f.d = contiguous(DType::Float32, {2, 64, 96});
  f.layout = contiguous(DType::Int32, {2});
  f.ks = {128, 384};
  return f;
}

template <class Facts>
struct WrongCall {
  Rule rule;
  std::function<void(Facts&)> spoil;
};

const WrongCall<MGroupedFacts> kWrongMasked[] = {
    {Rule::RankGroups, [](auto& f) { f.b = contiguous(DType::Float8E4m3, {256, 512}); }},
    {Rule::RankGroups, [](auto& f) { f.d = contiguous(DType::BFloat16, {64, 256}); }},
    {Rule::SameGroups, [](auto& f) { f.a.sizes[0] = 2; }},
    {Rule::SomeGroups,
     [](auto& f) {
       for (auto* t : {&f.a, &f.a_scale, &f.b, &f.b_scale, &f.d, &f.layout}) t->sizes[0] = 0;
     }},
    {Rule::GroupedK,
     [](auto& f) {
       for (auto* t : {&f.a, &f.a_scale, &f.b, &f.b_scale}) t->sizes[2] = 0;
     }},
    {Rule::GroupedAMajor, [](auto& f) { f.a.strides = {64 * 512, 1, 64}; }},
    {Rule::GroupsApart, [](auto& f) { f.d.strides[0] = 256; }},
    {Rule::GroupAlignment, [](auto& f) { f.alignment = 0; }},
    {Rule::LayoutInt32, [](auto& f) { f.layout.dtype = DType::Int64; }},
    {Rule::LayoutVector, [](auto& f) { f.layout.strides[0] = 2; }},
    {Rule::LayoutLength, [](auto& f) { f.layout.sizes[0] = 4; }},
    {Rule::OneDevice, [](auto& f) { f.layout.device = DeviceKind::Cuda; }},
};

const WrongCall<KGroupedFacts> kWrongAlongK[] = {
    {Rule::GroupsContiguous, [](auto& f) { f.d.strides[1] = 128; }},
    {Rule::SameGroups, [](auto& f) { f.c = contiguous(DType::Float32, {3, 64, 96}); }},
    {Rule::GroupAlignmentK,
     [](auto& f) {
       f.use_ends = true;
       f.alignment = 96;
     }},
    {Rule::KSizesGiven, [](auto& f) { f.ks.reset(); }},
    {Rule::KSizesLength, [](auto& f) { f.ks = {512}; }},
    {Rule::KSizesMultiple, [](auto& f) { f.ks = {100, 412}; }},
    {Rule::KSizesSum, [](auto& f) { f.ks = {128, 128}; }},
    {Rule::KGroupedFlat, [](auto& f) { f.a.sizes[0] -= 1; }},
    {Rule::KScales, [](auto& f) { f.a_scale = contiguous(DType::Float32, {64, 3}); }},
};

struct WrongValues {
  Rule rule;
  Grouping grouping;
  std::vector<std::int32_t> values;
};

const WrongValues kWrongValues[] = {
    {Rule::LabelRange, Grouping::Labels, {0, 0, 3}},
    {Rule::LabelRange, Grouping::Labels, {0, -2, 0}},
    {Rule::LabelTile, Grouping::Labels, {-1, 1, -1, 2}},
    {Rule::EndOrder, Grouping::Ends, {1, 1, 4}},
    {Rule::EndOrder, Grouping::Ends, {2, 4, 17}},
    {Rule::CountRange, Grouping::Counts, {0, 17, 1}},
    {Rule::CountRange, Grouping::Counts, {-1, 0, 0}},
    {Rule::KSizesLayout, Grouping::Sizes, {4, 8, 5}},
};

GroupedProblem small(Grouping grouping) {
  GroupedProblem p;
  p.grouping = grouping;
  p.num_groups = 3;
  p.gemm.m = p.gemm.k = 16;
  p.alignment = 4;
  return p;
}

template <class Call>
std::string refusal(Rule rule, const Call& call) {
  try {
    call();
    CHECK_EQ("accepted", rule_info(rule).name);
  } catch (const deep_jit::exception::Exception& error) {
    CHECK_EQ(error.condition(), rule_info(rule).name);
    return std::string(error.what()) + "\n\n";
  }
  return {};
}

}  // namespace

TEST(GroupedCheck, RefusalsAreTheCommittedOnes) {
  std::string text;
  for (const auto& wrong : kWrongMasked) {
    MGroupedFacts facts = masked();
    wrong.spoil(facts);
    text += refusal(wrong.rule, [&] { check_m_grouped(facts); });
  }
  for (const auto& wrong : kWrongAlongK) {
    KGroupedFacts facts = along_k();
    wrong.spoil(facts);
    text += refusal(wrong.rule, [&] { check_k_grouped(facts); });
  }
  for (const auto& wrong : kWrongValues)
    text += refusal(wrong.rule, [&] {
      check_values("op", small(wrong.grouping), std::vector<std::int64_t>{4, 8, 4}, wrong.values);
    });
  CHECK_EQ(text, dj_test::golden("errors_grouped.txt", text));
}

TEST(GroupedCheck, AMaskedCallIsItsGroupAndTheWaysBetweenGroups) {
  const GroupedProblem p = check_m_grouped(masked());
  CHECK_EQ(p.num_groups, 3);
  CHECK(p.gemm.m == 64 && p.gemm.n == 256 && p.gemm.k == 512);
  CHECK(p.a_group == 64 * 512 && p.b_group == 256 * 512 && p.d_group == 64 * 256);
  CHECK(p.a_scale_group == 64 * 4 && p.b_scale_group == 2 * 4);
}

TEST(GroupedCheck, ContiguousLayoutsShareRows) {
  for (const Grouping grouping : {Grouping::Labels, Grouping::Ends}) {
    const GroupedProblem p = check_m_grouped(contiguous(grouping));
    CHECK(p.gemm.m == 384 && p.a_group == 0 && p.d_group == 0);
    CHECK_EQ(p.b_group, 256 * 512);
  }
}

TEST(GroupedCheck, GroupsAlongAContiguousKStartWhereTheirSizesSay) {
  KGroupedFacts f;
  f.op = "k_grouped_bf16_gemm_tn_contiguous";
  f.a = contiguous(DType::BFloat16, {512, 64});
  f.b = contiguous(DType::BFloat16, {512, 96});
  f.d = contiguous(DType::Float32, {2, 64, 96});
  f.layout = contiguous(DType::Int32, {2});
  f.ks = {131, 381};
  CHECK_EQ(check_k_grouped(f).gemm.alignment, 16);
  f.b.strides = {1, 512};  // a view whose k is contiguous
  CHECK_EQ(check_k_grouped(f).gemm.alignment, 2);
  f.use_ends = true;
  CHECK_EQ(check_k_grouped(f).gemm.alignment, 16);
  f.alignment = 4;
  CHECK_EQ(check_k_grouped(f).gemm.alignment, 8);
}

TEST(GroupedCheck, GroupsThatStartBesideAnAlignedAddressLowerWhatIsKnown) {
  MGroupedFacts f = masked();
  f.b.strides[0] = 256 * 512 + 8;
  CHECK_EQ(check_m_grouped(f).gemm.alignment, 8);
  f = masked();
  f.d.strides[0] = 64 * 256 + 1;
  CHECK_EQ(check_m_grouped(f).gemm.d_alignment, 2);
}

TEST(GroupedCheck, FlatBlocksAreCountedByTheOutput) {
  const GroupedProblem p = check_k_grouped(along_k());
  CHECK(p.is_flat && p.gemm.m == 64 && p.gemm.n == 96 && p.gemm.k == 512);
  CHECK_EQ(p.gemm.a_scale.stride_mn, 4);
  CHECK(p.gemm.accumulate == Accumulate::None);
}

TEST(GroupedCheck, ScalesOfEndsCoverRoundedSizesWhereThereAreEnough) {
  KGroupedFacts f = along_k();
  f.op = "k_grouped_fp8_gemm_tn_contiguous";
  f.storage = KStorage::Rows;
  f.use_ends = true;
  f.gran_k = 32;
  f.a = contiguous(DType::Float8E4m3, {512, 64});
  f.b = contiguous(DType::Float8E4m3, {512, 96});
  for (const std::int64_t rows : {16, 12}) {
    f.a_scale = contiguous(DType::Float32, {rows, 64});
    f.b_scale = contiguous(DType::Float32, {rows, 96});
    CHECK_EQ(check_k_grouped(f).scales_aligned, rows == 16);
  }
}

TEST(GroupedCheck, RightValuesPass) {
  check_values("op", small(Grouping::Labels), {}, {0, 0, 0, -1, -1, -1, 2, 2, 1});
  check_values("op", small(Grouping::Ends), {}, {3, 4, 16});
  check_values("op", small(Grouping::KEnds), {}, {0, 0, 0});
  check_values("op", small(Grouping::Counts), {}, {0, 16, 1});
}

CHECK_MAIN()
