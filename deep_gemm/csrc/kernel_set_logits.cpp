// The kernels of indexer logits, and of the schedule of paged ones.
#include <deep_gemm/csrc/kernel_set.hpp>
#include <deep_gemm/csrc/plan/logits_plan.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/source/logits_source.hpp>

namespace deep_gemm {
namespace {

using Numbers = std::vector<std::int64_t>;

// Values that a call may have; "any" is one of each that leads to a kernel of its own.
Numbers values(const KernelWish& wish, const char* key, const Numbers& given, Rule rule,
               std::int64_t most, const Numbers& any) {
  for (const std::int64_t value : given)
    if (value > most) refuse(rule, {wish.op, key, std::to_string(value)});
  return given.empty() ? any : given;
}

Numbers head_counts(const KernelWish& wish) {
  Numbers any;
  for (std::int64_t heads = 1; heads <= 128; ++heads) any.push_back(heads);
  return values(wish, "heads", wish.heads, Rule::LogitsHeads, 128, any);
}

Numbers head_dims(const KernelWish& wish) {
  for (const std::int64_t dim : wish.head_dim)
    if (dim % 32 != 0) refuse(Rule::LogitsHeadDim, {wish.op, "head_dim", std::to_string(dim)});
  return values(wish, "head_dim", wish.head_dim, Rule::LogitsHeadDim, 128, {32, 64, 96, 128});
}

// Types of the operands that an operator takes, and of its logits.
std::vector<LogitsProblem> problems_of(const KernelWish& wish) {
  const bool has_mx = wish.op.find("fp4") != std::string::npos;
  std::vector<LogitsType> types = {LogitsType::Fp8};
  if (has_mx) types.insert(types.end(), {LogitsType::Fp8Mx, LogitsType::Fp4Mx});
  const std::vector<OutputType> outputs =
      has_mx ? output_types(wish) : std::vector<OutputType>{OutputType::F32};
  std::vector<LogitsProblem> problems;
  for (const std::int64_t heads : head_counts(wish)) {
    for (const std::int64_t head_dim : head_dims(wish)) {
      for (const LogitsType type : types) {
        for (const OutputType output : outputs) {
          LogitsProblem p;
          p.type = type;
          p.logits_type = output;
          p.heads = static_cast<int>(heads);
          p.head_dim = static_cast<int>(head_dim);
          p.kv_stride = p.row_bytes();
          p.weights_stride = heads;
          problems.push_back(p);
        }
      }
    }
  }
  return problems;
}

void add_contiguous(const KernelWish& wish, const DeviceTraits& traits, const Knobs& knobs,
                    Kernels& kernels) {
  for (const LogitsProblem& p : problems_of(wish))
    for (const LogitsPlan& plan : reachable_logits_plans(p, traits, knobs, wish.op))
      kernels.add(source_of(plan));
}

void add_paged(const KernelWish& wish, const DeviceTraits& traits, const Knobs& knobs,
               Kernels& kernels) {
  const Numbers pages =
      values(wish, "block_kv", wish.block_kv, Rule::LogitsPage, 65536, {16, 32, 64, 48});
  const Numbers queries = wish.next_n.empty() ? Numbers{1, 2, 3, 4, 5} : wish.next_n;
  for (LogitsProblem p : problems_of(wish)) {
    p.is_paged = true;
    for (const std::int64_t page : pages) {
      for (const std::int64_t next_n : queries) {
        p.page = page;
        p.next_n = next_n;
        p.block_stride = page * (p.row_bytes() + 4);
        for (const LogitsPlan& plan : reachable_logits_plans(p, traits, knobs, wish.op))
          kernels.add(source_of(plan));
      }
    }
  }
}

// Chosen blocks of 8 or 16 keys.
void add_sparse(const KernelWish& wish, const DeviceTraits& traits, const Knobs& knobs,
                Kernels& kernels) {
  for (LogitsProblem p : problems_of(wish)) {
    p.is_paged = wish.op.find("paged") != std::string::npos;
    for (const int block : {8, 16}) {
      p.sparse_block = block;
      p.page = p.is_paged ? 64 : 0;
      for (const LogitsPlan& plan : reachable_logits_plans(p, traits, knobs, wish.op))
        kernels.add(source_of(plan));
    }
  }
}

// A kernel that every call shares, one a device.
void add_one(const KernelWish& wish, const DeviceTraits& traits, KernelSource (*host)(),
             KernelSource (*portable)(), Kernels& kernels) {
  if (traits.is_cuda() && traits.compute < 80)
    refuse(Rule::NoKernelForDevice, {wish.op, "arch", traits.arch}, {"cuda arch " + traits.arch});
  kernels.add(traits.is_cuda() ? portable() : host());
}

void add_schedule(const KernelWish& wish, const DeviceTraits& traits, const Knobs&,
                  Kernels& kernels) {
  add_one(wish, traits, &host_logits_schedule_source, &portable_logits_schedule_source, kernels);
}

void add_sparse_schedule(const KernelWish& wish, const DeviceTraits& traits, const Knobs&,
                         Kernels& kernels) {
  add_one(wish, traits, &host_sparse_schedule_source, &portable_sparse_schedule_source, kernels);
}

// Torch clears what it answers: there is nothing to compile.
void add_nothing(const KernelWish&, const DeviceTraits&, const Knobs&, Kernels&) {}

const std::vector<std::string_view> kKeys = {"heads", "head_dim", "dtypes"};
const std::vector<std::string_view> kPagedKeys = {"heads", "head_dim", "block_kv", "next_n",
                                                  "dtypes"};

const KernelSetRegistration logits[] = {
    KernelSetRegistration({.ops = {"fp8_mqa_logits"}, .keys = kKeys, .add = &add_contiguous}),
    KernelSetRegistration({.ops = {"fp8_fp4_mqa_logits"}, .keys = kKeys, .add = &add_contiguous}),
    KernelSetRegistration({.ops = {"fp8_paged_mqa_logits"}, .keys = kPagedKeys, .add = &add_paged}),
    KernelSetRegistration(
        {.ops = {"fp8_fp4_paged_mqa_logits"}, .keys = kPagedKeys, .add = &add_paged}),
};

const KernelSetRegistration sparse[] = {
    KernelSetRegistration(
        {.ops = {"fp8_fp4_sparse_mqa_logits"}, .keys = kKeys, .add = &add_sparse}),
    KernelSetRegistration(
        {.ops = {"fp8_fp4_paged_sparse_mqa_logits"}, .keys = kKeys, .add = &add_sparse}),
};

const KernelSetRegistration sparse_schedule({
    .ops = {"get_sparse_mqa_logits_metadata", "get_paged_sparse_mqa_logits_metadata"},
    .keys = {},
    .add = &add_sparse_schedule,
});

const KernelSetRegistration schedule({
    .ops = {"get_paged_mqa_logits_metadata"},
    .keys = {},
    .add = &add_schedule,
});

const KernelSetRegistration no_schedule({
    .ops = {"get_mqa_logits_metadata"},
    .keys = {},
    .add = &add_nothing,
});

}  // namespace
}  // namespace deep_gemm
