#include <deep_gemm/csrc/plan/gate_plan.hpp>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;

namespace {

GateProblem problem(std::int64_t rows, int experts, int topk) {
  GateProblem p;
  p.rows = rows;
  p.hidden = 7168;
  p.experts = experts;
  p.topk = topk;
  return p;
}

DeviceTraits cuda(const char* arch, int compute) {
  DeviceTraits t;
  t.kind = DeviceTraits::Kind::Cuda;
  t.arch = arch;
  t.compute = compute;
  t.num_sms = 132;
  return t;
}

DeviceTraits host() {
  DeviceTraits t;
  t.arch = "x86-64-v3";
  t.num_threads = 8;
  return t;
}

}  // namespace

TEST(GatePlan, PlansOfKnownShapesAreTheCommittedOnes) {
  std::string text;
  for (const DeviceTraits& traits : {host(), cuda("80", 80), cuda("90a", 90)})
    for (const GateProblem& p : {problem(1, 8, 2), problem(4096, 256, 8), problem(130, 384, 6)})
      text += traits.arch + " " + p.to_string() + " | " + to_line(plan_gate(p, traits)) + "\n";
  CHECK_EQ(text, dj_test::golden("plans/gate.txt", text));
}

TEST(GatePlan, EveryNumberOfExpertsHasALane) {
  for (int experts = 1; experts <= kMaxGateExperts; ++experts) {
    const auto plan = std::get<PortableGatePlan>(plan_gate(problem(9, experts, 1), cuda("80", 80)));
    CHECK(plan.config.per_lane * 32 >= experts && plan.config.per_lane <= 16);
    CHECK(plan.config.per_lane == 1 || plan.config.per_lane * 16 < experts);
  }
}

TEST(GatePlan, GpusBeforeAmpereHaveNoKernel) {
  try {
    plan_gate(problem(9, 64, 4), cuda("75", 75));
    CHECK(false);
  } catch (const deep_jit::exception::Exception& error) {
    CHECK_EQ(error.condition(), "NO_KERNEL_FOR_DEVICE");
  }
}

CHECK_MAIN()
