#include <deep_gemm/csrc/plan/gemm_legality.hpp>

#include <deep_gemm/csrc/plan/gemm_plan_cuda.hpp>
#include <tests/support/check.hpp>

using namespace deep_gemm;

namespace {

GemmProblem scaled(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p;
  p.m = m, p.n = n, p.k = k;
  p.a = p.b = {ElementType::E4m3, Major::K, (k + 15) / 16 * 16};
  p.a_scale = {ScaleType::F32, 1, 128, (k + 127) / 128, 1};
  p.b_scale = {ScaleType::F32, 128, 128, (k + 127) / 128, 1};
  p.d_stride = (n + 7) / 8 * 8;
  return p;
}

GemmProblem plain(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p;
  p.m = m, p.n = n, p.k = k;
  p.a = p.b = {ElementType::Bf16, Major::K, (2 * k + 15) / 16 * 16};
  p.d_stride = n;
  return p;
}

GemmProblem by_rows(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p = scaled(m, n, k);
  p.b_scale.gran_mn = 1;
  p.d_type = OutputType::F32;
  p.accumulate = Accumulate::InPlace;
  return p;
}

// Weight gradients: both operands run along m or n, and d is added to.
GemmProblem turned(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p = plain(m, n, k);
  p.a = {ElementType::Bf16, Major::Mn, (2 * m + 15) / 16 * 16};
  p.b = {ElementType::Bf16, Major::Mn, (2 * n + 15) / 16 * 16};
  p.d_type = OutputType::F32;
  p.accumulate = Accumulate::InPlace;
  return p;
}

DeviceTraits hopper() {
  DeviceTraits t;
  t.kind = DeviceTraits::Kind::Cuda;
  t.compute = 90;
  t.arch = "90a";
  t.num_sms = 132;
  t.smem_bytes = 232448;
  return t;
}

bool is_tuned(const GemmProblem& p) { return plan::plan_sm90(p, hopper(), {}).has_value(); }

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
    return plan::first_broken_rule(p, plan, hopper()).rule;
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
