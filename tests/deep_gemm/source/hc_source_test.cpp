#include <deep_gemm/csrc/source/hc_source.hpp>

#include <set>

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

TEST(HcSource, ReachablePlansAreTheKernelsThatSomeRowsAndSplitsPick) {
  DeviceTraits hopper, ampere, host;
  hopper.kind = ampere.kind = DeviceTraits::Kind::Cuda;
  hopper.arch = "90a", hopper.compute = 90, hopper.num_sms = 132, hopper.smem_bytes = 232448;
  ampere.arch = "80", ampere.compute = 80, ampere.num_sms = 108, ampere.smem_bytes = 166912;
  for (const DeviceTraits& traits : {hopper, ampere, host}) {
    for (const auto& [n, k] : {std::pair(24, 7168), {8, 64}, {32, 192}, {20, 4096}, {33, 100}}) {
      HcProblem p;
      p.n = n;
      p.k = p.a_stride = p.b_stride = k;
      std::set<std::string> reachable, picked;
      for (const HcPlan& plan : reachable_hc_plans(p, traits, {}))
        reachable.insert(source_of(plan).text);
      for (p.m = 1; p.m < 100000; p.m += 1 + p.m / 40)
        for (p.splits = 1; p.splits < 100; p.splits += 1 + p.splits / 16)
          picked.insert(source_of(plan_hc(p, traits, {})).text);
      CHECK(picked == reachable);
    }
  }
}

CHECK_MAIN()
