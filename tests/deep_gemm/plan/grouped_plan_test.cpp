#include <deep_gemm/csrc/plan/grouped_plan.hpp>

#include <set>

#include <deep_gemm/csrc/plan/group_ranges.hpp>
#include <deep_gemm/csrc/plan/grouped_plan_cuda.hpp>
#include <deep_gemm/csrc/plan/grouped_tiles_sm90.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/deep_gemm/plan/gemm_problems.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;
using dj_test::gpu;

namespace {

GroupedProblem grouped(Grouping grouping, std::int64_t groups, std::int64_t m, std::int64_t n,
                       std::int64_t k, bool is_scaled = true) {
  GroupedProblem p;
  p.grouping = grouping;
  p.num_groups = groups;
  p.gemm.m = m, p.gemm.n = n, p.gemm.k = k;
  p.gemm.d_stride = n;
  if (is_scaled) {
    p.gemm.a = p.gemm.b = {ElementType::E4m3, Major::K, k};
    p.gemm.a_scale = {ScaleType::F32, 1, 128, 1, m};
    p.gemm.b_scale = {ScaleType::F32, 128, 128, k / 128, 1};
  } else {
    p.gemm.a = p.gemm.b = {ElementType::Bf16, Major::K, 2 * k};
  }
  p.b_group = n * p.gemm.b.stride_bytes;
  if (grouping == Grouping::Counts) {
    p.a_group = m * p.gemm.a.stride_bytes;
    p.d_group = m * n;
  }
  return p;
}

// Groups along k of operands that run along m and n, d += product.
GroupedProblem weight_gradients(Grouping grouping, std::int64_t groups, std::int64_t m,
                                std::int64_t n, std::int64_t k) {
  GroupedProblem p = grouped(grouping, groups, m, n, k, false);
  p.gemm.a = {ElementType::Bf16, Major::Mn, 2 * m};
  p.gemm.b = {ElementType::Bf16, Major::Mn, 2 * n};
  p.gemm.d_type = OutputType::F32;
  p.gemm.accumulate = Accumulate::InPlace;
  p.b_group = 0;
  p.d_group = m * n;
  return p;
}

DeviceTraits host() {
  DeviceTraits t;
  t.arch = "x86-64-v3";
  t.num_threads = 8;
  t.vector_bytes = 32;
  return t;
}

bool is_tuned(const GroupedProblem& p) {
  return std::holds_alternative<Sm90GroupedPlan>(plan_grouped(p, gpu(90), {}, "op"));
}

std::vector<GroupRange> ranges(Grouping grouping, std::vector<std::int32_t> values,
                               bool zero_padding = true, bool scales_aligned = false) {
  GroupedProblem p = grouped(grouping, 3, 16, 8, 16);
  p.alignment = 4;
  p.zero_padding = zero_padding;
  p.scales_aligned = scales_aligned;
  p.gemm.a_scale.gran_k = p.gemm.b_scale.gran_k = 2;
  p.gemm.b_scale.type = ScaleType::Ue8m0x4;
  return group_ranges(p, values.data());
}

using Ranges = std::vector<GroupRange>;

}  // namespace

TEST(GroupedPlan, PlansOfKnownShapesAreTheCommittedOnes) {
  std::string text;
  for (const DeviceTraits& traits : {host(), gpu(80), gpu(90)}) {
    for (const bool is_scaled : {true, false}) {
      for (const GroupedProblem& p : {grouped(Grouping::Labels, 4, 3712, 4096, 2048, is_scaled),
                                      grouped(Grouping::Labels, 256, 32768, 7168, 2048, is_scaled),
                                      grouped(Grouping::Ends, 8, 512, 4096, 7168, is_scaled),
                                      grouped(Grouping::Counts, 32, 64, 4096, 7168, is_scaled),
                                      grouped(Grouping::Counts, 6, 1024, 4096, 7168, is_scaled),
                                      grouped(Grouping::Sizes, 4, 4096, 7168, 32768, is_scaled)})
        text += p.to_string() + " | " + to_line(plan_grouped(p, traits, {}, "op")) + "\n";
    }
  }
  CHECK_EQ(text, dj_test::golden("plans/grouped.txt", text));
}

TEST(GroupedPlan, TheHopperKernelTakesWhatItsMapsCover) {
  CHECK(is_tuned(grouped(Grouping::Labels, 4, 512, 256, 512)));
  GroupedProblem p = grouped(Grouping::Labels, 4, 512, 256, 512);
  p.b_group += 512;
  CHECK(!is_tuned(p));
  p = grouped(Grouping::Counts, 4, 512, 256, 512);
  CHECK(is_tuned(p));
  p.a_group += 512;
  CHECK(!is_tuned(p));
  p = grouped(Grouping::Counts, 4, 512, 256, 512);
  p.d_group += 4;
  CHECK(!is_tuned(p));
  p = grouped(Grouping::Ends, 4, 512, 256, 512);
  CHECK(is_tuned(p));
  p.alignment = 32;
  CHECK(!is_tuned(p));
  CHECK(!is_tuned(grouped(Grouping::Sizes, 4, 512, 256, 512)));
  CHECK(is_tuned(grouped(Grouping::Labels, 4, 512, 256, 512, false)));
  CHECK(!is_tuned(grouped(Grouping::Counts, 1 << 20, 4096, 256, 512)));
}

TEST(GroupedPlan, Bf16PlansAreTheCommittedOnes) {
  std::string text;
  std::set<int> rows;
  for (const Grouping grouping : {Grouping::Labels, Grouping::Ends, Grouping::Counts}) {
    for (const auto& [m, n] :
         {std::pair{64, 4096}, {512, 576}, {4096, 128}, {4096, 1536}, {8192, 7168}}) {
      const GroupedProblem p = grouped(grouping, 8, m, n, 7168, false);
      const auto plan = plan::plan_sm90_grouped(p, gpu(90), {});
      CHECK(plan.has_value());
      rows.insert(plan->gemm.tile.block_m * plan->gemm.tile.block_n);
      text += p.to_string() + " | " + to_line(GroupedPlan(*plan)) + "\n";
    }
  }
  for (const Grouping grouping : {Grouping::Sizes, Grouping::KEnds}) {
    const GroupedProblem p = weight_gradients(grouping, 4, 4096, 7168, 32768);
    const auto plan = plan::plan_sm90_grouped(p, gpu(90), {});
    CHECK(plan.has_value());
    text += p.to_string() + " | " + to_line(GroupedPlan(*plan)) + "\n";
  }
  CHECK_EQ(rows.size(), std::size(plan::kSm90Bf16GroupedTiles));
  CHECK_EQ(text, dj_test::golden("plans/grouped_bf16.txt", text));
}

TEST(GroupedPlan, Bf16GroupsOfBMayLieApart) {
  const auto is_legal = [](const GroupedProblem& p) {
    return plan::plan_sm90_grouped(p, gpu(90), {}).has_value();
  };
  GroupedProblem p = grouped(Grouping::Labels, 4, 512, 256, 512, false);
  p.b_group += 512;
  CHECK(is_legal(p));
  p.b_group += 8;
  CHECK(!is_legal(p));
  p = grouped(Grouping::Counts, 4, 512, 256, 512, false);
  p.a_group += 512;
  CHECK(!is_legal(p));
  CHECK(!is_legal(grouped(Grouping::Sizes, 4, 512, 256, 512, false)));
  p = weight_gradients(Grouping::KEnds, 4, 512, 256, 4096);
  CHECK(is_legal(p));
  p.is_flat = true;
  CHECK(!is_legal(p));
  p = weight_gradients(Grouping::Sizes, 4, 509, 257, 4096);
  CHECK(!is_legal(p));
  p = grouped(Grouping::Labels, 4, 512, 256, 512);
  p.gemm.d_type = OutputType::F32;
  CHECK(!plan::plan_sm90_grouped(p, gpu(90), {}));
}

// The copy engine stores whole 16 bytes: a row of d that ends between them has neighbours there.
TEST(GroupedPlan, RowsThatEndBetweenSixteenBytesAreNotForTheCopyEngine) {
  for (const Grouping grouping : {Grouping::Labels, Grouping::Ends, Grouping::Counts}) {
    for (const bool is_scaled : {true, false}) {
      for (std::int64_t n = 248; n <= 264; ++n) {
        GroupedProblem p = grouped(grouping, 4, 512, n, 512, is_scaled);
        p.gemm.d_stride = 288;
        p.d_group = 512 * 288;
        CHECK_EQ(is_tuned(p), n % 8 == 0);
      }
    }
  }
  for (std::int64_t n = 248; n <= 264; ++n) {
    GroupedProblem p = weight_gradients(Grouping::Sizes, 4, 512, n, 4096);
    p.gemm.b.stride_bytes = 576;
    p.gemm.d_stride = 288;
    p.d_group = 512 * 288;
    CHECK_EQ(is_tuned(p), n % (p.gemm.d_type == OutputType::F32 ? 4 : 8) == 0);
  }
}

TEST(GroupedPlan, EveryRowOfTheHopperTableIsLegalAndChosenSomewhere) {
  std::set<std::pair<int, int>> chosen;
  for (const std::int64_t m : {1, 64, 65, 928, 4096}) {
    for (const std::int64_t n : {128, 576, 4096, 7168}) {
      const auto plan = plan_grouped(grouped(Grouping::Counts, 4, m, n, 7168), gpu(90), {}, "op");
      const TileConfig& tile = std::get<Sm90GroupedPlan>(plan).gemm.tile;
      chosen.insert({tile.block_m, tile.block_n});
    }
  }
  CHECK_EQ(chosen.size(), std::size(plan::kSm90GroupedTiles));
}

TEST(GroupedPlan, FewKernelsServeEveryNumberOfRows) {
  for (const int compute : {80, 90}) {
    std::set<std::string> kernels;
    for (std::int64_t m = 1; m <= 8192; m += 7) {
      const std::string line = to_line(
          plan_grouped(grouped(Grouping::Labels, 8, m, 4096, 7168), gpu(compute), {}, "op"));
      kernels.insert(line.substr(0, line.find(" grid")));
    }
    CHECK(
        kernels.size() <=
        reachable_grouped_plans(grouped(Grouping::Labels, 8, 1, 4096, 7168), gpu(compute)).size());
  }
  CHECK_EQ(reachable_grouped_plans(grouped(Grouping::Labels, 8, 1, 4096, 7168), host()).size(), 1u);
}

TEST(GroupedPlan, RefusalsAreNamedByRule) {
  CHECK_THROWS(plan_grouped(grouped(Grouping::Labels, 4, 1, 8, 128), gpu(75), {}, "op"),
               kUnsupported, "NO_KERNEL_FOR_DEVICE");
  CHECK_THROWS(
      plan_grouped(grouped(Grouping::Labels, 4, std::int64_t{1} << 31, 8, 128), gpu(80), {}, "op"),
      kUnsupported, "SIZE_LIMIT");
}

TEST(GroupRanges, LabelsAreCutIntoRunsAndPaddingBecomesZero) {
  CHECK(ranges(Grouping::Labels, {0, 0, -1, -1, 2, 2, 2, 2, 1, 7, -9, 1, 1, 1, 1, 1}) ==
        (Ranges{{0, 0, 2}, {-1, 2, 4}, {2, 4, 8}, {1, 8, 9}, {-1, 9, 11}, {1, 11, 16}}));
}

TEST(GroupRanges, EndsStartAlignedAndLeaveTheTailAlone) {
  CHECK(ranges(Grouping::Ends, {3, 4, 9}) ==
        (Ranges{{0, 0, 3}, {-1, 3, 4}, {2, 4, 9}, {-1, 9, 12}}));
  CHECK(ranges(Grouping::Ends, {3, 4, 9}, false) == (Ranges{{0, 0, 3}, {2, 4, 9}}));
  CHECK(ranges(Grouping::Ends, {0, 0, 0}) == Ranges{});
  CHECK(ranges(Grouping::Ends, {5, 2, 99}) == (Ranges{{0, 0, 5}, {-1, 5, 8}, {2, 8, 16}}));
}

TEST(GroupRanges, CountsAreCutToWhatThereIs) {
  CHECK(ranges(Grouping::Counts, {-3, 99, 1}) == (Ranges{{1, 0, 16}, {2, 0, 1}}));
}

TEST(GroupRanges, SizesAlongKStartNewScalesForEachGroup) {
  CHECK(ranges(Grouping::Sizes, {3, 0, 9}) ==
        (Ranges{{0, 0, 3, 0, 0}, {1, 3, 3, 2, 1}, {2, 3, 12, 2, 1}}));
  CHECK(ranges(Grouping::KEnds, {3, 4, 9}) ==
        (Ranges{{0, 0, 3, 0, 0}, {1, 4, 4, 2, 1}, {2, 4, 9, 2, 1}}));
  CHECK(ranges(Grouping::KEnds, {1, 4, 9}, true, true) ==
        (Ranges{{0, 0, 1, 0, 0}, {1, 4, 4, 2, 1}, {2, 4, 9, 2, 1}}));
  CHECK(ranges(Grouping::Sizes, {-1, 99, 5}) ==
        (Ranges{{0, 0, 0, 0, 0}, {1, 0, 16, 0, 0}, {2, 16, 16, 8, 2}}));
}

TEST(GroupedProblem, EqualProblemsHashAlikeAndFieldsMatter) {
  const GroupedProblem p = grouped(Grouping::Labels, 4, 512, 256, 512);
  GroupedProblem q = p;
  CHECK(p == q && p.hash() == q.hash());
  q.zero_padding = false;
  CHECK(!(p == q) && p.hash() != q.hash());
}

CHECK_MAIN()
