#include <deep_gemm/csrc/plan/gemm_plan_cuda.hpp>

#include <set>

#include <deep_gemm/csrc/plan/gemm_cost_cuda.hpp>
#include <deep_gemm/csrc/plan/gemm_legality.hpp>
#include <deep_gemm/csrc/plan/gemm_tiles_sm90.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/deep_gemm/plan/gemm_problems.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;
using namespace dj_test;

namespace {

constexpr std::int64_t kShapes[][2] = {{2112, 7168},  {576, 7168},  {24576, 1536}, {32768, 512},
                                       {7168, 16384}, {4096, 7168}, {7168, 2048}};
constexpr std::int64_t kRows[] = {1, 64, 65, 128, 512, 4096};

std::string lines(int compute, const GemmProblem& p) {
  return p.to_string() + " | " + to_line(plan_gemm(p, gpu(compute), {})) + "\n";
}

bool is_tuned(const GemmProblem& p) {
  return std::holds_alternative<Sm90GemmPlan>(plan_gemm(p, gpu(90), {}));
}

std::optional<Sm90GemmPlan> tuned(const GemmProblem& p) { return plan::plan_sm90(p, gpu(90), {}); }

std::string kernel_of(const Sm90GemmPlan& plan) {
  const std::string line = to_line(GemmPlan(plan));
  return line.substr(0, line.find(" grid"));
}

}  // namespace

TEST(GemmPlanCuda, HopperPlansOfKnownShapesAreTheCommittedOnes) {
  std::string text;
  for (const auto& [n, k] : kShapes)
    for (const std::int64_t m : kRows)
      for (const GemmProblem& p :
           {scaled(m, n, k), by_rows(m, n, k), plain(m, n, k), turned(m, n, k)})
        text += lines(90, p);
  CHECK_EQ(text, dj_test::golden("plans/gemm_sm90.txt", text));
}

TEST(GemmPlanCuda, HopperKernelsAreFewAndEveryRowIsChosenSomewhere) {
  const std::pair<GemmProblem (*)(std::int64_t, std::int64_t, std::int64_t), std::size_t> kinds[] =
      {{plain, std::size(plan::kSm90Bf16Tiles)}, {by_rows, std::size(plan::kSm90Fp8RowsTiles)}};
  for (const auto& [problem, num_rows] : kinds) {
    std::set<std::string> all;
    for (const auto& [n, k] : kShapes) {
      std::set<std::string> kernels;
      for (std::int64_t m = 1; m <= 16384; m += m < 700 ? 1 : 61) {
        const auto plan = tuned(problem(m, n, k));
        CHECK(plan.has_value());
        CHECK(plan::first_broken_rule(problem(m, n, k), *plan, gpu(90)).rule == Rule::None);
        kernels.insert(kernel_of(*plan));
      }
      CHECK(kernels.size() <= 8);
      CHECK_EQ(plan::reachable_cuda_plans(problem(1, n, k), gpu(90)).size(), num_rows);
      all.merge(kernels);
    }
    CHECK_EQ(all.size(), num_rows);
  }
}

TEST(GemmPlanCuda, PortablePlansOfKnownShapesAreTheCommittedOnes) {
  std::string text;
  for (const int compute : {80, 86})
    for (const auto& [n, k] : kShapes)
      for (const std::int64_t m : kRows)
        text += lines(compute, scaled(m, n, k)) + lines(compute, plain(m, n, k));
  CHECK_EQ(text, dj_test::golden("plans/gemm_portable.txt", text));
}

TEST(GemmPlanCuda, EveryPlanIsLegalAndItsGridIsNeverEmpty) {
  for (const int compute : {80, 86, 90}) {
    for (const std::int64_t m : {1, 31, 33, 64, 65, 128, 1000, 100000}) {
      for (const std::int64_t n : {1, 8, 130, 4096}) {
        for (const GemmProblem& p : {scaled(m, n, 200), plain(m, n, 7), scaled(m, n, 7168)}) {
          const GemmPlan plan = plan_gemm(p, gpu(compute), {});
          if (const auto* tuned = std::get_if<Sm90GemmPlan>(&plan)) {
            CHECK(plan::first_broken_rule(p, *tuned, gpu(compute)).rule == Rule::None);
            CHECK(tuned->grid > 0 && tuned->grid <= 132);
            CHECK_EQ(tuned->grid % static_cast<unsigned>(tuned->tile.cluster), 0u);
          } else {
            const auto& portable = std::get<PortableGemmPlan>(plan);
            CHECK(plan::first_broken_rule(p, portable, gpu(compute)).rule == Rule::None);
            CHECK(portable.grid > 0);
          }
        }
      }
    }
  }
}

TEST(GemmPlanCuda, EveryRowOfTheHopperTableIsLegalAndChosenSomewhere) {
  std::set<std::string> chosen;
  for (std::int64_t m = 1; m <= 8192; m += 21)
    for (const auto& [n, k] : kShapes) {
      const auto plan = std::get<Sm90GemmPlan>(plan_gemm(scaled(m, n, k), gpu(90), {}));
      chosen.insert(to_line(plan).substr(0, to_line(plan).find(" grid")));
    }
  CHECK_EQ(chosen.size(), std::size(plan::kSm90Fp8Tiles));
  for (const auto& row : plan::kSm90Fp8Tiles) {
    Sm90GemmPlan plan;
    plan.tile = row.tile;
    CHECK(plan::first_broken_rule(scaled(64, 64, 128), plan, gpu(90)).rule == Rule::None);
  }
}

TEST(GemmPlanCuda, FewRowsOfAFillASlotWithFewerBytes) {
  const TileConfig dense{.block_m = 64, .block_n = 32};
  constexpr int kRowsOf[][2] = {{1, 8},   {7, 8},   {8, 8},   {9, 16},  {33, 40},
                                {56, 56}, {57, 64}, {63, 64}, {64, 64}, {100000, 64}};
  for (const auto& [m, rows] : kRowsOf) {
    CHECK_EQ(plan::sm90_a_box_rows(dense, m), rows);
    CHECK_EQ(plan::sm90_slot_bytes(dense, m), (rows + 32) * 128);
  }
  TileConfig shares_b{.block_m = 128, .block_n = 192, .cluster = 2, .share = Share::B};
  CHECK_EQ(plan::sm90_a_box_rows(shares_b, 3), 8);
  CHECK_EQ(plan::sm90_slot_bytes(shares_b, 3), (8 + 192) * 128);
  TileConfig shares_a{.block_m = 128, .block_n = 192, .cluster = 2, .share = Share::A};
  TileConfig turned{.block_m = 128, .block_n = 192, .a_major = Major::Mn};
  TileConfig grouped{.block_m = 128, .block_n = 192, .groups = Groups::Masked};
  for (const std::int64_t m : {1, 64, 127, 128, 1000}) {
    CHECK_EQ(plan::sm90_a_box_rows(shares_a, m), 64);
    for (const TileConfig& tile : {turned, grouped}) CHECK_EQ(plan::sm90_a_box_rows(tile, m), 128);
    for (const TileConfig& tile : {shares_a, turned, grouped})
      CHECK_EQ(plan::sm90_slot_bytes(tile, m), (128 + 192) * 128);
  }
}

TEST(GemmPlanCuda, SevenKernelsServeEveryNumberOfRows) {
  for (const auto& [n, k] : kShapes) {
    std::set<std::string> kernels;
    for (std::int64_t m = 1; m <= 16384; ++m) {
      const std::string line = to_line(plan_gemm(scaled(m, n, k), gpu(90), {}));
      kernels.insert(line.substr(0, line.find(" grid")));
    }
    CHECK(kernels.size() <= 7);
    CHECK_EQ(plan::reachable_cuda_plans(scaled(1, n, k), gpu(90)).size(), 7u);
  }
}

TEST(GemmPlanCuda, WhatTheHopperKernelCannotDoGoesToThePortableOne) {
  CHECK(is_tuned(scaled(64, 512, 512)));
  GemmProblem p = scaled(64, 512, 512);
  p.has_alpha = true;
  CHECK(!is_tuned(p));
  p = scaled(64, 512, 512);
  p.accumulate = Accumulate::InPlace;
  CHECK(!is_tuned(p));
  p = scaled(64, 512, 512);
  p.d_type = OutputType::F32;
  CHECK(is_tuned(p));
  p = scaled(64, 512, 512);
  p.a.stride_bytes = 520;
  CHECK(!is_tuned(p));
  p.m = 1;  // one row has no stride
  CHECK(is_tuned(p));
  p = scaled(64, 512, 512);
  p.d_alignment = 8;
  CHECK(!is_tuned(p));
  p = scaled(64, 509, 512);
  p.d_stride = 509;
  CHECK(!is_tuned(p));
  p = scaled(64, 512, 512);
  p.b_scale.gran_mn = 1;
  CHECK(is_tuned(p));
}

TEST(GemmPlanCuda, WhatTheOtherHopperKernelsCannotDoGoesToThePortableOne) {
  GemmProblem p = plain(64, 512, 512);
  p.accumulate = Accumulate::InPlace;
  CHECK(tuned(p)->tile.add_to == AddTo::C);
  p.d_type = OutputType::F32;
  CHECK(tuned(p)->tile.add_to == AddTo::D);
  p.accumulate = Accumulate::FromC;
  CHECK(!tuned(p));  // the rows of c lie closer than those of d
  p.c_stride = p.d_stride;
  CHECK(tuned(p)->tile.add_to == AddTo::C);
  p = turned(64, 512, 512);
  p.a.stride_bytes += 2;
  CHECK(!tuned(p));
  p = plain(64, 512, 512);
  p.has_alpha = true;
  CHECK(!tuned(p));
  p = plain(64, 512, 512);
  p.alignment = 8;
  CHECK(!tuned(p));
  p = by_rows(64, 512, 512);
  p.accumulate = Accumulate::FromC;
  p.c_stride = p.d_stride;
  CHECK(!tuned(p));
  p = by_rows(64, 512, 512);
  p.a_scale.gran_k = 64;
  CHECK(!tuned(p));
  Sm90GemmPlan other;  // a tile of one kind and a problem of another
  other.tile = plan::kSm90Fp8Tiles[0].tile;
  CHECK(plan::first_broken_rule(plain(64, 512, 512), other, gpu(90)).rule == Rule::Sm90Operands);
}

TEST(GemmPlanCuda, TheWishForFewerSmsCapsTheGrid) {
  Knobs knobs;
  knobs.num_sms = 7;
  const auto tuned = std::get<Sm90GemmPlan>(plan_gemm(scaled(4096, 4096, 512), gpu(90), knobs));
  CHECK(tuned.grid <= 7);
  const auto portable =
      std::get<PortableGemmPlan>(plan_gemm(scaled(4096, 4096, 512), gpu(80), knobs));
  CHECK_EQ(portable.grid, 7u);
}

TEST(GemmPlanCuda, RefusalsAreNamedByRule) {
  CHECK_THROWS(plan_gemm(scaled(1, 1, 1), gpu(75), {}), kUnsupported, "NO_KERNEL_FOR_DEVICE");
  CHECK_THROWS(plan_gemm(scaled(std::int64_t{1} << 31, 1, 1), gpu(80), {}), kUnsupported,
               "SIZE_LIMIT");
  Sm90GemmPlan tile;
  tile.tile.block_n = 72;
  CHECK(plan::first_broken_rule(scaled(1, 64, 128), tile, gpu(90)).rule == Rule::TileAtom);
  tile.tile = {.block_n = 256, .products = 2};
  CHECK(plan::first_broken_rule(scaled(1, 64, 128), tile, gpu(90)).rule == Rule::Registers);
  tile.tile = {.stages = 9};
  CHECK(plan::first_broken_rule(scaled(1, 64, 128), tile, gpu(90)).rule == Rule::SmemBytes);
  PortableGemmPlan portable;
  portable.config = plan::portable_config(plain(9, 9, 9), plan::kPortableTiles[0]);
  portable.config.stages = 9;
  CHECK(plan::first_broken_rule(plain(9, 9, 9), portable, gpu(86)).rule == Rule::SmemBytes);
}

CHECK_MAIN()
