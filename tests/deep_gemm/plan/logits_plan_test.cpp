#include <deep_gemm/csrc/plan/logits_plan.hpp>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <tests/support/check.hpp>
#include <tests/support/golden.hpp>

using namespace deep_gemm;

namespace {

LogitsProblem contiguous(std::int64_t rows, std::int64_t keys, int heads, int dim = 128) {
  LogitsProblem p;
  p.rows = rows;
  p.keys = p.width = keys;
  p.heads = heads;
  p.head_dim = dim;
  p.kv_stride = dim;
  return p;
}

LogitsProblem paged(std::int64_t batch, std::int64_t next_n, std::int64_t page, int heads,
                    std::int64_t slots = 132) {
  LogitsProblem p = contiguous(batch * next_n, 8192, heads);
  p.is_paged = true;
  p.next_n = next_n;
  p.page = page;
  p.num_blocks = 1000;
  p.block_stride = page * 132;
  p.slots = slots;
  return p;
}

DeviceTraits cuda(const char* arch, int compute, std::int64_t smem_bytes) {
  DeviceTraits t;
  t.kind = DeviceTraits::Kind::Cuda;
  t.arch = arch;
  t.compute = compute;
  t.num_sms = 132;
  t.smem_bytes = smem_bytes;
  return t;
}

DeviceTraits host() {
  DeviceTraits t;
  t.arch = "x86-64-v3";
  t.num_threads = 8;
  t.vector_bytes = 32;
  return t;
}

}  // namespace

TEST(LogitsPlan, PlansOfKnownShapesAreTheCommittedOnes) {
  std::string text;
  LogitsProblem mx = contiguous(64, 4096, 64);
  mx.type = LogitsType::Fp4Mx;
  LogitsProblem odd = paged(8, 1, 48, 64), wide = contiguous(512, 4096, 128);
  LogitsProblem chosen = contiguous(4096, 2048, 32), chosen_paged = paged(8, 1, 64, 32);
  chosen.sparse_block = 16;
  chosen_paged.sparse_block = 8;
  const LogitsProblem problems[] = {contiguous(512, 4096, 32),
                                    contiguous(2048, 8192, 64),
                                    contiguous(100, 500, 16, 64),
                                    contiguous(1, 100, 32),
                                    mx,
                                    wide,
                                    paged(256, 1, 64, 64),
                                    paged(256, 2, 32, 32),
                                    paged(64, 4, 256, 64),
                                    paged(64, 4, 64, 64, 66),
                                    odd,
                                    paged(8, 5, 64, 64),
                                    chosen,
                                    chosen_paged};
  for (const DeviceTraits& traits :
       {host(), cuda("80", 80, 166912), cuda("90a", 90, 232448), cuda("120", 120, 101376)})
    for (const LogitsProblem& p : problems)
      text += traits.arch + " " + p.to_string() + " | " +
              to_line(plan_logits(p, traits, {}, "op")) + "\n";
  CHECK_EQ(text, dj_test::golden("plans/logits.txt", text));
}

TEST(LogitsPlan, SharedMemoryFitsEveryDevice) {
  for (int heads = 1; heads <= 128; ++heads)
    for (const int dim : {32, 64, 96, 128}) {
      const LogitsPlan plan =
          plan_logits(contiguous(7, 300, heads, dim), cuda("89", 89, 101376), {}, "op");
      CHECK(std::get<PortableLogitsPlan>(plan).smem_bytes <= 101376);
      const LogitsPlan tuned =
          plan_logits(contiguous(700, 300, heads, dim), cuda("90a", 90, 232448), {}, "op");
      if (const auto* p = std::get_if<Sm90LogitsPlan>(&tuned)) {
        CHECK(p->smem_bytes <= 232448);
        CHECK(p->config.kv_stages > p->config.math_warpgroups);
      }
    }
  for (const int heads : {16, 32, 64})
    for (const std::int64_t next_n : {1, 2, 3, 4}) {
      const LogitsPlan plan =
          plan_logits(paged(64, next_n, 64, heads), cuda("90a", 90, 232448), {}, "op");
      const auto& p = std::get<Sm90PagedLogitsPlan>(plan);
      CHECK(p.smem_bytes <= 232448 && p.config.kv_stages > 3);
    }
}

TEST(LogitsPlan, AScheduleOfOtherSmsIsRefused) {
  try {
    plan_logits(paged(64, 1, 64, 64, 100), cuda("90a", 90, 232448), {}, "op");
    CHECK(false);
  } catch (const deep_jit::exception::Exception& error) {
    CHECK_EQ(error.condition(), "LOGITS_SCHEDULE");
  }
  Knobs knobs;
  knobs.num_sms = 100;
  plan_logits(paged(64, 1, 64, 64, 100), cuda("90a", 90, 232448), knobs, "op");
}

TEST(LogitsPlan, GpusBeforeAmpereHaveNoKernel) {
  try {
    plan_logits(contiguous(64, 64, 32), cuda("75", 75, 65536), {}, "op");
    CHECK(false);
  } catch (const deep_jit::exception::Exception& error) {
    CHECK_EQ(error.condition(), "NO_KERNEL_FOR_DEVICE");
  }
}

CHECK_MAIN()
