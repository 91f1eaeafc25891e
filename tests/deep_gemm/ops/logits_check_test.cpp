#include <deep_gemm/csrc/ops/logits_check.hpp>

#include <functional>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;
using namespace deep_gemm::ops;

namespace {

// 6 queries of 32 heads over 300 keys.
LogitsFacts legal() {
  LogitsFacts f;
  f.op = "fp8_fp4_mqa_logits";
  f.q = contiguous(DType::Float8E4m3, {6, 32, 128});
  f.kv = contiguous(DType::Float8E4m3, {300, 128});
  f.kv_scale = contiguous(DType::Float32, {300});
  f.weights = contiguous(DType::Float32, {6, 32});
  f.starts = f.ends = contiguous(DType::Int32, {6});
  f.clean_logits = true;
  return f;
}

// 3 requests of 2 rows over pages of 64 keys.
LogitsFacts legal_paged() {
  LogitsFacts f;
  f.op = "fp8_paged_mqa_logits";
  f.q = contiguous(DType::Float8E4m3, {3, 2, 32, 128});
  f.kv = contiguous(DType::UInt8, {20, 64, 1, 132});
  f.weights = contiguous(DType::Float32, {6, 32});
  f.ends = contiguous(DType::Int32, {3, 2});
  f.table = contiguous(DType::Int32, {3, 5});
  f.schedule = contiguous(DType::Int32, {133, 2});
  f.width = 300;
  return f;
}

// 6 queries of 32 heads, 4 chosen blocks of 16 keys each, of 300 keys or of pages of 64.
LogitsFacts legal_sparse() {
  LogitsFacts f = legal();
  f.op = "fp8_fp4_sparse_mqa_logits";
  f.starts = f.ends = {};
  f.schedule = contiguous(DType::UInt8, {6 * 4 * 8});
  f.clean_logits = false;
  f.bf16_logits = true;
  f.num_sparse_blocks = 4;
  f.sparse_block = 16;
  return f;
}

LogitsFacts legal_paged_sparse() {
  LogitsFacts f = legal_sparse();
  f.op = "fp8_fp4_paged_sparse_mqa_logits";
  f.kv = contiguous(DType::UInt8, {20, 64, 1, 132});
  f.kv_scale = {};
  return f;
}

struct WrongCall {
  Rule rule;
  std::function<void(LogitsFacts&)> spoil;
};

const WrongCall kWrongCalls[] = {
    {Rule::OneDevice, [](LogitsFacts& f) { f.kv.device = DeviceKind::Cuda; }},
    {Rule::DeviceKind, [](LogitsFacts& f) { f.q.device = DeviceKind::Other; }},
    {Rule::LogitsDtype, [](LogitsFacts& f) { f.q.dtype = DType::BFloat16; }},
    {Rule::LogitsDtype, [](LogitsFacts& f) { f.kv.dtype = DType::Int8; }},
    {Rule::LogitsRank, [](LogitsFacts& f) { f.q.rank = 2; }},
    {Rule::LogitsScale, [](LogitsFacts& f) { f.q = contiguous(DType::Int8, {6, 32, 64}); }},
    {Rule::LogitsScale, [](LogitsFacts& f) { f.kv_scale.dtype = DType::Int32; }},
    {Rule::LogitsHeads, [](LogitsFacts& f) { f.q = contiguous(DType::Float8E4m3, {6, 129, 128}); }},
    {Rule::LogitsHeadDim, [](LogitsFacts& f) { f.q = contiguous(DType::Float8E4m3, {6, 32, 80}); }},
    {Rule::LogitsContiguous, [](LogitsFacts& f) { f.q.strides[1] = 160; }},
    {Rule::LogitsContiguous, [](LogitsFacts& f) { f.kv.strides[0] = 130; }},
    {Rule::LogitsShape, [](LogitsFacts& f) { f.kv_scale.sizes[0] = 299; }},
    {Rule::LogitsShape, [](LogitsFacts& f) { f.weights = contiguous(DType::Float32, {6, 31}); }},
    {Rule::LogitsWeights, [](LogitsFacts& f) { f.weights.dtype = DType::Float16; }},
    {Rule::LogitsInt32, [](LogitsFacts& f) { f.ends.dtype = DType::Int64; }},
    {Rule::LogitsClean, [](LogitsFacts& f) { f.width = 64; }},
    {Rule::LogitsWidth, [](LogitsFacts& f) { f.width = -1; }},
    {Rule::LogitsAligned, [](LogitsFacts& f) { f.q.address = 4104; }},
};

const WrongCall kWrongPagedCalls[] = {
    {Rule::LogitsCache, [](LogitsFacts& f) { f.kv.dtype = DType::Float8E4m3; }},
    {Rule::LogitsCache, [](LogitsFacts& f) { f.kv.strides[0] = 64 * 132 + 2; }},
    {Rule::LogitsPage, [](LogitsFacts& f) { f.kv = contiguous(DType::UInt8, {20, 0, 1, 132}); }},
    {Rule::LogitsBlocks, [](LogitsFacts& f) { f.kv = contiguous(DType::UInt8, {0, 64, 1, 132}); }},
    {Rule::LogitsRank, [](LogitsFacts& f) { f.ends = contiguous(DType::Int32, {6}); }},
    {Rule::LogitsContiguous, [](LogitsFacts& f) { f.table.strides[1] = 2; }},
    {Rule::LogitsShape, [](LogitsFacts& f) { f.schedule = contiguous(DType::Int32, {133, 3}); }},
    {Rule::LogitsClean, [](LogitsFacts& f) { f.clean_logits = true; }},
};

const WrongCall kWrongSparseCalls[] = {
    {Rule::SparseCount, [](LogitsFacts& f) { f.num_sparse_blocks = 6; }},
    {Rule::SparseCount, [](LogitsFacts& f) { f.num_sparse_blocks = 0; }},
    {Rule::SparseBlock, [](LogitsFacts& f) { f.sparse_block = 32; }},
    {Rule::SparseMetadata, [](LogitsFacts& f) { f.schedule.sizes[0] = 100; }},
    {Rule::SparseMetadata, [](LogitsFacts& f) { f.schedule.dtype = DType::Int32; }},
    {Rule::SparseMetadata, [](LogitsFacts& f) { f.schedule.address = 4100; }},
    {Rule::LogitsAligned, [](LogitsFacts& f) { f.q.address = 4104; }},
};

template <class Check>
std::string refused(const WrongCall& wrong, LogitsFacts facts, const Check& check) {
  wrong.spoil(facts);
  try {
    check(facts);
  } catch (const deep_jit::exception::Exception& error) {
    CHECK_EQ(error.condition(), rule_info(wrong.rule).name);
    return std::string(error.what()) + "\n\n";
  }
  CHECK_EQ("accepted", rule_info(wrong.rule).name);
  return "";
}

}  // namespace

TEST(LogitsCheck, EveryWrongCallIsRefusedByItsRuleInFiveParts) {
  std::string text;
  for (const WrongCall& wrong : kWrongCalls) text += refused(wrong, legal(), check_mqa_logits);
  for (const WrongCall& wrong : kWrongPagedCalls)
    text += refused(wrong, legal_paged(), check_paged_mqa_logits);
  for (const WrongCall& wrong : kWrongSparseCalls)
    text += refused(wrong, legal_sparse(),
                    [](const LogitsFacts& f) { return check_sparse_mqa_logits(f, false); });
  CHECK_EQ(text, dj_test::golden("errors_logits.txt", text));
}

TEST(LogitsCheck, SparseLogitsAreRowsOfWholeBlocks) {
  const LogitsProblem p = check_sparse_mqa_logits(legal_sparse(), false);
  CHECK_EQ(p.width, 64);
  CHECK_EQ(p.logits_stride, 512);
  CHECK(p.is_sparse() && !p.is_paged && !p.is_clean);
  LogitsFacts paged = legal_paged_sparse();
  CHECK(check_sparse_mqa_logits(paged, true).is_paged);
  paged.kv = contiguous(DType::UInt8, {20, 24, 1, 132});
  try {
    check_sparse_mqa_logits(paged, true);
    CHECK(false);
  } catch (const deep_jit::exception::Exception& error) {
    CHECK_EQ(error.condition(), "SPARSE_PAGE");
  }
}

TEST(LogitsCheck, RowsAreAsFarApartAsCallersRelyOn) {
  LogitsFacts f = legal();
  CHECK_EQ(check_mqa_logits(f).logits_stride, 768);
  f.bf16_logits = true;
  CHECK_EQ(check_mqa_logits(f).logits_stride, 1024);
  f.clean_logits = false;
  f.width = 200;
  CHECK_EQ(check_mqa_logits(f).logits_stride, 512);
  CHECK_EQ(check_paged_mqa_logits(legal_paged()).logits_stride, 512);
}

TEST(LogitsCheck, StridesOfDirectionsOfSizeOneMeanNothing) {
  LogitsFacts f = legal_paged();
  f.q = contiguous(DType::Float8E4m3, {1, 1, 32, 128});
  f.weights = contiguous(DType::Float32, {1, 32});
  f.ends = contiguous(DType::Int32, {1, 1});
  f.table = contiguous(DType::Int32, {1, 5});
  const LogitsProblem plain = check_paged_mqa_logits(f);
  f.q.strides[0] = f.q.strides[1] = 7;
  f.weights.strides[0] = 3;
  f.table.strides[0] = 11;
  CHECK(check_paged_mqa_logits(f) == plain);
}

TEST(LogitsCheck, ScalesOfQMakeBothOperandsMx) {
  LogitsFacts f = legal();
  f.q = contiguous(DType::Int8, {6, 32, 64});
  f.q_scale = contiguous(DType::Int32, {6, 32});
  f.kv = contiguous(DType::Int8, {300, 64});
  f.kv_scale = contiguous(DType::Int32, {300});
  const LogitsProblem p = check_mqa_logits(f);
  CHECK(p.type == LogitsType::Fp4Mx);
  CHECK_EQ(p.head_dim, 128);
  CHECK_EQ(p.row_bytes(), 64);
}

TEST(LogitsCheck, AScheduleNeedsLengthsOfTwoDimensions) {
  LogitsScheduleFacts f;
  f.op = "get_paged_mqa_logits_metadata";
  f.lengths = contiguous(DType::Int32, {5, 2});
  f.block_kv = 64;
  f.num_sms = 132;
  CHECK_EQ(check_logits_schedule(f).slots, 132);
  f.lengths = contiguous(DType::Int32, {5});
  try {
    check_logits_schedule(f);
    CHECK(false);
  } catch (const deep_jit::exception::Exception& error) {
    CHECK_EQ(error.condition(), "LOGITS_RANK");
  }
}

CHECK_MAIN()
