#include <deep_gemm/csrc/plan/gemm_legality.hpp>

#include <deep_gemm/csrc/plan/gemm_plan_cuda.hpp>
#include <tests/deep_gemm/plan/gemm_problems.hpp>
#include <tests/support/check.hpp>

using namespace deep_gemm;
using namespace dj_test;

namespace {

bool is_tuned(const GemmProblem& p) { return plan::plan_sm90(p, gpu(90), {}).has_value(); }

}  // namespace

// The copy engine stores whole 16 bytes: a row of d that ends between them has neighbours there.
TEST(GemmLegalityCuda, RowsThatEndBetweenSixteenBytesAreNotForTheCopyEngine) {
  for (const auto& make : {scaled, by_rows, plain, turned}) {
    for (const std::int64_t m : {1, 64, 130}) {
      for (const OutputType type : {OutputType::Bf16, OutputType::F32}) {
        const std::int64_t unit = type == OutputType::F32 ? 4 : 8;
        for (std::int64_t n = 24; n <= 40; ++n) {
          for (const bool adds : {false, true}) {
            GemmProblem p = make(m, n, 512);
            p.d_type = type;
            p.d_stride = p.c_stride = 48;  // a view: what lies beside it is somebody's
            p.accumulate = adds ? Accumulate::InPlace : Accumulate::None;
            if (adds && type == OutputType::Bf16 && p.is_scaled()) continue;
            CHECK_EQ(is_tuned(p), n % unit == 0);
          }
        }
      }
    }
  }
}

TEST(GemmLegalityCuda, ColumnsOfABf16TileAreWhatItsBoxesAndStoresDivide) {
  const auto rule = [](const GemmProblem& p, int block_n, int cluster = 1) {
    Sm90GemmPlan plan;
    plan.tile = plan::sm90_tile(p, {.block_n = block_n, .stages = 3, .cluster = cluster});
    if (cluster > 1) plan.tile.share = Share::B;
    return plan::first_broken_rule(p, plan, gpu(90)).rule;
  };
  GemmProblem p = plain(64, 512, 512);
  for (int n = 8; n <= 256; n += 8)
    CHECK(rule(p, n) == (n % 16 == 0 ? Rule::None : Rule::TileAtom));
  CHECK(rule(p, 176, 2) == Rule::None);
  CHECK(rule(p, 176, 4) == Rule::TileAtom);  // 44 rows of b a block
  p.d_type = OutputType::F32;
  for (int n = 8; n <= 256; n += 8)
    CHECK(rule(p, n) == (n % (n < 64 ? 16 : 32) == 0 ? Rule::None : Rule::TileAtom));
  p.accumulate = Accumulate::InPlace;
  for (const int n : {16, 32, 48}) CHECK(rule(p, n) == Rule::TileAtom);
  p.d_type = OutputType::Bf16;
  for (const int n : {16, 32, 48, 176}) CHECK(rule(p, n) == Rule::None);
  p = turned(64, 512, 512);
  for (int n = 16; n <= 256; n += 8)
    CHECK(rule(p, n) == (n % 64 == 0 ? Rule::None : Rule::TileAtom));
  CHECK(rule(p, 192, 2) == Rule::TileAtom);  // 96 columns of b a block
}

CHECK_MAIN()
