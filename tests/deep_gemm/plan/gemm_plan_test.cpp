#include <deep_gemm/csrc/plan/gemm_plan.hpp>

#include <set>

#include <deep_gemm/csrc/plan/gemm_legality.hpp>
#include <deep_gemm/csrc/plan/gemm_tiles_host.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;

namespace {

GemmProblem scaled(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p;
  p.m = m, p.n = n, p.k = k;
  p.a = p.b = {ElementType::E4m3, Major::K, k};
  p.a_scale = {ScaleType::F32, 1, 128, 1, 1};
  p.b_scale = {ScaleType::F32, 128, 128, 1, 1};
  p.d_stride = n;
  return p;
}

GemmProblem plain(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p;
  p.m = m, p.n = n, p.k = k;
  p.a = p.b = {ElementType::Bf16, Major::K, 2 * k};
  return p;
}

DeviceTraits host(int num_threads, int vector_bytes = 32, int num_registers = 16) {
  DeviceTraits t;
  t.arch = "x86-64-v3";
  t.num_threads = num_threads;
  t.vector_bytes = vector_bytes;
  t.num_vector_registers = num_registers;
  return t;
}

constexpr std::int64_t kShapes[][2] = {{2112, 7168},  {576, 7168},  {24576, 1536}, {32768, 512},
                                       {7168, 16384}, {4096, 7168}, {7168, 2048}};
constexpr std::int64_t kRows[] = {1, 2, 64, 128, 4096};

}  // namespace

TEST(GemmPlan, PlansOfKnownShapesAreTheCommittedOnes) {
  std::string text;
  for (const int threads : {2, 64}) {
    for (const auto& [n, k] : kShapes) {
      for (const std::int64_t m : kRows) {
        for (const GemmProblem& p : {scaled(m, n, k), plain(m, n, k)})
          text += p.to_string() + " | " + to_line(plan_gemm(p, host(threads), {})) + "\n";
      }
    }
  }
  CHECK_EQ(text, dj_test::golden("plans/gemm_host.txt", text));
}

TEST(GemmPlan, TheSameQuestionHasTheSameAnswer) {
  const GemmProblem p = scaled(300, 2112, 7168);
  CHECK_EQ(to_line(plan_gemm(p, host(8), {})), to_line(plan_gemm(p, host(8), {})));
}

TEST(GemmPlan, EveryEmittedPlanIsLegalAndCoversTheOutput) {
  for (const auto& [bytes, registers] : {std::pair{16, 16}, {16, 32}, {32, 16}, {64, 32}}) {
    for (const std::int64_t m : {1, 3, 6, 7, 95, 97, 1000, 100000}) {
      for (const std::int64_t n : {1, 15, 17, 257, 4096}) {
        for (const std::int64_t k : {1, 127, 7168}) {
          for (const int threads : {1, 2, 192}) {
            const DeviceTraits traits = host(threads, bytes, registers);
            const auto plan = std::get<HostGemmPlan>(plan_gemm(scaled(m, n, k), traits, {}));
            CHECK(plan::first_broken_rule(scaled(m, n, k), plan, traits).rule == Rule::None);
            CHECK(plan.grid_m * plan.block_m >= m && (plan.grid_m - 1) * plan.block_m < m);
            CHECK(plan.grid_n * plan.block_n >= n && (plan.grid_n - 1) * plan.block_n < n);
          }
        }
      }
    }
  }
}

TEST(GemmPlan, EveryRowOfTheTileTableIsLegalSomewhere) {
  for (const auto& block : plan::kHostBlocks) {
    HostGemmPlan tile;
    tile.block_m = (block.block_m + 5) / 6 * 6;
    tile.block_n = block.block_n;
    CHECK(plan::first_broken_rule(scaled(64, 64, 128), tile, host(2)).rule == Rule::None);
  }
}

TEST(GemmPlan, TheKernelDoesNotDependOnSizes) {
  const auto configs = reachable_host_configs(scaled(1, 1, 1), host(2));
  CHECK_EQ(configs.size(), 1);
  std::set<std::string> seen;
  for (std::int64_t m = 1; m < 300; ++m) {
    const auto p = std::get<HostGemmPlan>(plan_gemm(scaled(m, 2112, 7168), host(2), {}));
    CHECK_EQ(p.config.rows, configs[0].rows);
    CHECK_EQ(p.config.block_k, configs[0].block_k);
    seen.insert(to_line(p).substr(0, 60));
  }
}

TEST(GemmPlan, IllegalTilesAreNamedByRule) {
  HostGemmPlan tile;
  tile.block_m = 96, tile.block_n = 256;
  tile.config.vector_bytes = 64;
  CHECK(plan::first_broken_rule(scaled(1, 1, 1), tile, host(1)).rule == Rule::VectorBytes);
  tile.config.vector_bytes = 32;
  tile.config.rows = 9;
  CHECK(plan::first_broken_rule(scaled(1, 1, 1), tile, host(1)).rule == Rule::TileRows);
  tile.config.rows = 6;
  tile.block_m = 6000, tile.block_n = 6000;
  CHECK(plan::first_broken_rule(scaled(1, 1, 1), tile, host(1)).rule == Rule::Workspace);
}

TEST(GemmPlan, ADeviceWithoutKernelsIsUnsupportedByName) {
  DeviceTraits traits;
  traits.kind = DeviceTraits::Kind::Cuda;
  traits.arch = "90a";
  CHECK_THROWS(plan_gemm(scaled(1, 1, 1), traits, {}, "fp8_gemm_nt"), kUnsupported,
               "NO_KERNEL_FOR_DEVICE");
}

TEST(GemmProblem, EqualProblemsHashAlikeAndFieldsMatter) {
  const GemmProblem p = scaled(64, 128, 256);
  GemmProblem q = p;
  CHECK_EQ(p.hash(), q.hash());
  q.a_scale.stride_k = 5;
  CHECK(p.hash() != q.hash() && !(p == q));
}

CHECK_MAIN()
