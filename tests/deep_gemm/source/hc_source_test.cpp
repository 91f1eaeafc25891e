#include <deep_gemm/csrc/source/hc_source.hpp>

#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;

TEST(HcSource, SourcesAreTheCommittedOnes) {
  const std::string host = source_of(HcPlan(HostHcPlan{})).text;
  CHECK_EQ(host, dj_test::golden("sources/host_hc.cpp", host));
  const std::string portable =
      source_of(HcPlan(PortableHcPlan{.config = {}, .threads = 512, .smem_bytes = 49152})).text;
  CHECK_EQ(portable, dj_test::golden("sources/portable_hc.cu", portable));
  const std::string sm90 =
      source_of(HcPlan(Sm90HcPlan{.config = {}, .threads = 512, .smem_bytes = 1})).text;
  CHECK_EQ(sm90, dj_test::golden("sources/sm90_hc.cu", sm90));
}

TEST(HcSource, NamesContainWhatProfilersLookFor) {
  for (const HcPlan& plan : {HcPlan(HostHcPlan{}), HcPlan(PortableHcPlan{}), HcPlan(Sm90HcPlan{})})
    CHECK(source_of(plan).name.find("tf32_hc_prenorm_gemm") != std::string::npos);
}

CHECK_MAIN()
