#include <deep_gemm/csrc/plan/hc_plan.hpp>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;

namespace {

HcProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t splits) {
  return {.m = m, .n = n, .k = k, .splits = splits, .a_stride = k, .b_stride = k};
}

DeviceTraits cuda(const char* arch, int compute, int num_sms, std::int64_t smem_bytes) {
  DeviceTraits t;
  t.kind = DeviceTraits::Kind::Cuda;
  t.arch = arch;
  t.compute = compute;
  t.num_sms = num_sms;
  t.smem_bytes = smem_bytes;
  return t;
}

DeviceTraits host(int num_threads) {
  DeviceTraits t;
  t.num_threads = num_threads;
  return t;
}

const DeviceTraits kHopper = cuda("90a", 90, 132, 232448);
const DeviceTraits kDevices[] = {host(2), host(64), cuda("80", 80, 108, 166912), kHopper,
                                 cuda("120a", 120, 188, 101376)};
constexpr std::int64_t kRows[] = {1, 13, 64, 137, 512, 1024, 2048, 4096, 8192, 65536};
constexpr std::int64_t kShapes[][3] = {{24, 7168, 1},   {24, 7168, 16}, {24, 28672, 1},
                                       {24, 28672, 16}, {32, 7680, 16}, {40, 100, 2}};

std::int64_t rows_of(const PortableHcPlan& p) { return 16 * p.config.row_tiles * p.config.warps_m; }

}  // namespace

TEST(HcPlan, PlansOfKnownShapesAreTheCommittedOnes) {
  std::string text;
  for (const DeviceTraits& device : kDevices)
    for (const auto& [n, k, splits] : kShapes)
      for (const std::int64_t m : kRows) {
        const HcProblem p = problem(m, n, k, splits);
        text += device.arch + " " + p.to_string() + " | " + to_line(plan_hc(p, device, {})) + "\n";
      }
  CHECK_EQ(text, dj_test::golden("plans/hc.txt", text));
}

TEST(HcPlan, EveryPlanCoversTheOutputAndFitsTheDevice) {
  for (const DeviceTraits& device : kDevices) {
    for (const std::int64_t m : {1, 15, 17, 63, 65, 129, 1000, 4097, 200000}) {
      for (const std::int64_t n : {1, 8, 24, 32, 33, 200}) {
        for (const std::int64_t k : {1, 64, 7168, 100000}) {
          for (const std::int64_t splits : {1, 2, 16, 200, 3000}) {
            const HcPlan plan = plan_hc(problem(m, n, k, splits), device, {});
            if (const auto* h = std::get_if<HostHcPlan>(&plan)) {
              CHECK(h->grid_m * h->block_m >= m && (h->grid_m - 1) * h->block_m < m);
            } else if (const auto* p = std::get_if<PortableHcPlan>(&plan)) {
              CHECK(p->smem_bytes <= device.smem_bytes && p->threads <= 1024);
              CHECK(static_cast<std::int64_t>(p->grid_x) / splits * rows_of(*p) >= m);
              CHECK(p->grid_x % splits == 0 && p->grid_y * p->config.columns >= n);
              CHECK(p->config.is_whole == (k % 32 == 0));
            } else {
              const auto& s = std::get<Sm90HcPlan>(plan);
              CHECK(s.smem_bytes <= device.smem_bytes && n % 8 == 0 && n <= 32);
              CHECK(s.tiles * 64 * s.config.math_warpgroups >= m && s.lanes <= s.tiles);
              CHECK_EQ(s.grid, s.lanes * splits * s.config.cluster);
              CHECK(s.config.cluster == 1 || s.lanes == s.tiles);
            }
          }
        }
      }
    }
  }
}

TEST(HcPlan, ACappedNumberOfMultiprocessorsIsNotExceededByPersistentBlocks) {
  Knobs knobs;
  knobs.num_sms = 20;
  const HcPlan plan = plan_hc(problem(4096, 24, 7168, 16), kHopper, knobs);
  CHECK(std::holds_alternative<PortableHcPlan>(plan));
}

TEST(HcPlan, UnalignedOperandsTakeTheGuardedKernel) {
  HcProblem p = problem(512, 24, 7168, 1);
  p.a_stride = 7169;
  const HcPlan plan = plan_hc(p, kHopper, {});
  CHECK(!std::get<PortableHcPlan>(plan).config.is_whole);
}

TEST(HcPlan, AnOldDeviceIsRefused) {
  try {
    plan_hc(problem(64, 24, 64, 1), cuda("75", 75, 40, 65536), {});
    CHECK(false);
  } catch (const deep_jit::exception::Exception& error) {
    CHECK_EQ(error.condition(), "NO_KERNEL_FOR_DEVICE");
  }
}

CHECK_MAIN()
