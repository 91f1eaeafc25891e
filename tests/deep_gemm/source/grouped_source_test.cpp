#include <deep_gemm/csrc/source/grouped_source.hpp>

#include <deep_gemm/csrc/plan/gemm_plan_cuda.hpp>
#include <deep_gemm/csrc/plan/grouped_tiles_sm90.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;

namespace {

GroupedPlan portable(Grouping grouping, bool is_flat = false) {
  PortableGemmPlan plan;
  plan.config = {.a = ElementType::E4m3, .b = ElementType::E4m3, .scale_k = 128};
  return PortableGroupedPlan{plan, grouping, is_flat};
}

}  // namespace

TEST(GroupedSource, SourcesAreTheCommittedOnes) {
  HostGroupedPlan host;
  host.gemm.config = {.a = ElementType::E4m3, .b = ElementType::E4m3};
  const std::string text = source_of(GroupedPlan(host)).text;
  CHECK_EQ(text, dj_test::golden("sources/host_grouped_fp8_gemm.cpp", text));
  const std::string other = source_of(portable(Grouping::Labels)).text;
  CHECK_EQ(other, dj_test::golden("sources/portable_m_grouped_fp8_gemm.cu", other));
}

TEST(GroupedSource, SchedulersFollowTheGrouping) {
  const auto has = [](const GroupedPlan& plan, std::string_view text) {
    return source_of(plan).text.find(text) != std::string::npos;
  };
  CHECK(has(portable(Grouping::Ends), "sched::PortableEnds<kConfig>"));
  CHECK(has(portable(Grouping::Counts), "sched::PortableCounts<kConfig>"));
  CHECK(has(portable(Grouping::Sizes), "sched::PortableKGroups<kConfig>"));
  CHECK(has(portable(Grouping::KEnds, true), "sched::PortableKFlat<kConfig>"));
  Sm90GroupedPlan tuned{{.tile = plan::kSm90GroupedTiles[0].tile}};
  tuned.gemm.tile.groups = Groups::Masked;
  CHECK(has(tuned, ".groups = Groups::Masked"));
}

TEST(GroupedSource, NamesContainWhatProfilersLookFor) {
  CHECK_EQ(source_of(GroupedPlan(HostGroupedPlan{})).name, "host_grouped_bf16_gemm");
  CHECK_EQ(source_of(portable(Grouping::Labels)).name, "portable_m_grouped_fp8_gemm");
  CHECK_EQ(source_of(portable(Grouping::Counts)).name, "portable_m_grouped_masked_fp8_gemm");
  CHECK_EQ(source_of(portable(Grouping::Sizes)).name, "portable_k_grouped_fp8_gemm");
}

CHECK_MAIN()
