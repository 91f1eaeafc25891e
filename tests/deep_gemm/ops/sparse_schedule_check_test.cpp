#include <deep_gemm/csrc/ops/sparse_schedule_check.hpp>

#include <functional>

#include <deep_gemm/abi/sparse_params.h>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>

using namespace deep_gemm;
using namespace deep_gemm::ops;

namespace {

TensorFacts int32(std::initializer_list<std::int64_t> sizes) {
  TensorFacts t;
  t.dtype = DType::Int32;
  t.rank = static_cast<int>(sizes.size());
  std::int64_t stride = 1;
  for (int i = t.rank - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    t.sizes[at] = sizes.begin()[i];
    t.strides[at] = stride;
    stride *= t.sizes[at];
  }
  return t;
}

// 6 queries with 4 blocks each.
SparseScheduleFacts legal() {
  return {.op = "get_sparse_mqa_logits_metadata",
          .starts = int32({6}),
          .ends = int32({6}),
          .blocks = int32({6, 4}),
          .keys = 300,
          .block = 16};
}

SparseScheduleFacts legal_paged() {
  return {.op = "get_paged_sparse_mqa_logits_metadata",
          .ends = int32({6}),
          .table = int32({6, 5}),
          .indices = int32({6}),
          .blocks = int32({6, 4}),
          .page = 64,
          .block = 16};
}

std::string refusal_of(const SparseScheduleFacts& facts) {
  try {
    check_sparse_schedule(facts);
  } catch (const deep_jit::exception::Exception& error) {
    return std::string(error.condition());
  }
  return "accepted";
}

template <class Spoil>
std::string refusal_of(SparseScheduleFacts facts, const Spoil& spoil) {
  spoil(facts);
  return refusal_of(facts);
}

}  // namespace

TEST(SparseScheduleCheck, LegalCallsAreAccepted) {
  CHECK_EQ(refusal_of(legal()), "accepted");
  const SparseScheduleProblem paged = check_sparse_schedule(legal_paged());
  CHECK_EQ(paged.keys, 5 * 64);
  CHECK_EQ(paged.table_stride, 5);
  CHECK_EQ(sparse_metadata_bytes(paged.rows, paged.num_blocks), 6 * 4 * 8);
}

TEST(SparseScheduleCheck, WrongCallsAreRefusedByRule) {
  using F = SparseScheduleFacts;
  CHECK_EQ(refusal_of(legal(), [](F& f) { f.block = 4; }), "SPARSE_BLOCK");
  CHECK_EQ(refusal_of(legal(), [](F& f) { f.blocks = int32({6, 3}); }), "SPARSE_COUNT");
  CHECK_EQ(refusal_of(legal(), [](F& f) { f.blocks = int32({6, 4100}); }), "SPARSE_COUNT");
  CHECK_EQ(refusal_of(legal(), [](F& f) { f.blocks = int32({(1 << 20) + 1, 4}); }), "SPARSE_ROWS");
  CHECK_EQ(refusal_of(legal(), [](F& f) { f.keys = -1; }), "SPARSE_KEYS");
  CHECK_EQ(refusal_of(legal(), [](F& f) { f.starts = int32({5}); }), "LOGITS_SHAPE");
  CHECK_EQ(refusal_of(legal(), [](F& f) { f.ends.dtype = DType::Int64; }), "LOGITS_INT32");
  CHECK_EQ(refusal_of(legal(), [](F& f) { f.ends.device = DeviceKind::Cuda; }), "ONE_DEVICE");
  CHECK_EQ(refusal_of(legal(), [](F& f) { f.blocks.strides[0] = 8; }), "LOGITS_CONTIGUOUS");
  CHECK_EQ(refusal_of(legal_paged(), [](F& f) { f.page = 24; }), "SPARSE_PAGE");
  CHECK_EQ(refusal_of(legal_paged(), [](F& f) { f.page = 0; }), "LOGITS_PAGE");
  CHECK_EQ(refusal_of(legal_paged(), [](F& f) { f.table = int32({5, 5}); }), "LOGITS_SHAPE");
  CHECK_EQ(refusal_of(legal_paged(), [](F& f) { f.indices = int32({7}); }), "LOGITS_SHAPE");
}

TEST(SparseScheduleCheck, AnEntryIsWhatOneBlockShowsOfARange) {
  const auto is = [](SparseEntry e, int first, int low, int high) {
    return e.first == first && e.low == low && e.high == high;
  };
  CHECK(is(sparse_entry(0, 0, 5, 21, 8, false), 0, 5, 8));
  CHECK(is(sparse_entry(2, 1, 5, 21, 8, false), 16, 0, 5));
  CHECK(is(sparse_entry(1, 1, 5, 21, 8, true), 13, 0, 8));
  CHECK(is(sparse_entry(1, 2, 5, 21, 8, true), 0, 0, 0));   // the range has two blocks
  CHECK(is(sparse_entry(3, 0, 5, 21, 8, false), 0, 0, 0));  // the first behind it
  CHECK(is(sparse_entry(-1, 0, 5, 21, 8, false), 0, 0, 0));
  CHECK(is(sparse_entry(0, 0, 4, 4, 8, false), 0, 0, 0));
  CHECK(is(sparse_entry(0, 0, 9, 4, 16, true), 0, 0, 0));
  CHECK(is(sparse_entry(0x7fffffff / 16, 0, 0x7ffffff0, 0x7fffffff, 16, false), 0x7ffffff0, 0, 15));
}

CHECK_MAIN()
