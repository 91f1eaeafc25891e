#include <deep_gemm/csrc/source/gemm_source.hpp>

#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;

TEST(GemmSource, SourcesAreTheCommittedOnes) {
  HostGemmConfig fp8{.a = ElementType::E4m3, .b = ElementType::E4m3};
  const std::string text = source_of(fp8).text;
  CHECK_EQ(text, dj_test::golden("sources/host_fp8_gemm.cpp", text));
  HostGemmConfig bf16{.a_major = Major::Mn, .b_major = Major::Mn, .block_k = 256};
  const std::string other = source_of(bf16).text;
  CHECK_EQ(other, dj_test::golden("sources/host_bf16_gemm_tn.cpp", other));
}

TEST(GemmSource, CudaSourcesAreTheCommittedOnes) {
  PortableGemmConfig fp8{.a = ElementType::E4m3, .b = ElementType::E2m1, .scale_k = 32};
  const std::string text = portable_source(fp8).text;
  CHECK_EQ(text, dj_test::golden("sources/portable_fp8_fp4_gemm.cu", text));
  TileConfig tile{.stages = 5, .products = 2, .cluster = 2, .share = Share::B};
  const std::string tuned = sm90_source(tile).text;
  CHECK_EQ(tuned, dj_test::golden("sources/sm90_fp8_gemm.cu", tuned));
  tile = {.block_n = 256,
          .type = ElementType::Bf16,
          .a_major = Major::Mn,
          .b_major = Major::Mn,
          .d_type = OutputType::F32,
          .add_to = AddTo::D};
  const std::string bf16 = sm90_source(tile).text;
  CHECK_EQ(bf16, dj_test::golden("sources/sm90_bf16_gemm.cu", bf16));
}

TEST(GemmSource, AnotherFamilyNamesItsScheduler) {
  const KernelSource source =
      portable_source({}, {"m_grouped_", "portable_groups.cuh", "PortableMasked"});
  CHECK_EQ(source.name, "portable_m_grouped_bf16_gemm");
  CHECK(source.text.find("sched::PortableMasked<kConfig>") != std::string::npos);
  CHECK(source.text.find("<deep_gemm/sched/portable_groups.cuh>") != std::string::npos);
}

TEST(GemmSource, NamesContainWhatProfilersLookFor) {
  using enum ElementType;
  CHECK_EQ(source_of(HostGemmConfig{.a = E4m3, .b = E4m3}).name, "host_fp8_gemm");
  CHECK_EQ(source_of(HostGemmConfig{.a = E4m3, .b = E2m1}).name, "host_fp8_fp4_gemm");
  CHECK_EQ(source_of(HostGemmConfig{}).name, "host_bf16_gemm");
  CHECK_EQ(portable_source({.a = E4m3, .b = E4m3}).name, "portable_fp8_gemm");
  CHECK_EQ(portable_source({}).name, "portable_bf16_gemm");
  CHECK_EQ(sm90_source({}).name, "sm90_fp8_gemm");
  CHECK_EQ(sm90_source({.groups = Groups::Masked}).name, "sm90_m_grouped_masked_fp8_gemm");
  CHECK_EQ(sm90_source({.type = ElementType::Bf16}).name, "sm90_bf16_gemm");
}

CHECK_MAIN()
