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

TEST(GemmSource, NamesContainWhatProfilersLookFor) {
  using enum ElementType;
  CHECK_EQ(source_of(HostGemmConfig{.a = E4m3, .b = E4m3}).name, "host_fp8_gemm");
  CHECK_EQ(source_of(HostGemmConfig{.a = E4m3, .b = E2m1}).name, "host_fp8_fp4_gemm");
  CHECK_EQ(source_of(HostGemmConfig{}).name, "host_bf16_gemm");
}

CHECK_MAIN()
