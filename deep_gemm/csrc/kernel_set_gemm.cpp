// The kernels of dense GEMMs, and of batches of them in einsum notation.
#include <array>

#include <deep_gemm/csrc/kernel_set.hpp>
#include <deep_gemm/csrc/ops/einsum_check.hpp>
#include <deep_gemm/csrc/ops/gemm_check.hpp>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>
#include <deep_gemm/csrc/source/gemm_source.hpp>

namespace deep_gemm {
namespace {

void add_any(const KernelWish& wish, const DeviceTraits& traits, Kernels& kernels) {
  for (const OperandTypes types : operand_types(wish.op))
    for (const GemmProblem& p : kinds_of_gemm(types, granularities(wish), output_types(wish)))
      for (KernelSource& source : reachable_sources(p, traits)) kernels.add(std::move(source));
}

// Of one call; refuses what the call would.
struct Collector {
  const KernelWish& wish;
  const DeviceTraits& traits;
  const Knobs& knobs;
  Kernels& kernels;

  void add(const GemmProblem& p) const {
    plan_gemm(p, traits, knobs, wish.op);
    for (KernelSource& source : reachable_sources(p, traits)) kernels.add(std::move(source));
  }
};

// With every d, c and alpha that a caller may bring.
template <class Facts, class Check>
void add_outputs(const Collector& out, Facts facts, std::initializer_list<std::int64_t> d_sizes,
                 const Check& check) {
  for (const OutputType type : output_types(out.wish)) {
    facts.d = contiguous(dtype_of(type), d_sizes);
    for (const bool has_c : {false, true}) {
      facts.c = has_c ? std::optional(facts.d) : std::nullopt;
      out.add(check(facts));
      if constexpr (requires { facts.has_alpha; }) {
        facts.has_alpha = true;
        out.add(check(facts));
        facts.has_alpha = false;
      }
    }
  }
}

// ---- Dense ----

void add_call(const Collector& out, OperandTypes types, std::int64_t m, std::int64_t n,
              std::int64_t k) {
  ops::GemmFacts f;
  f.op = out.wish.op;
  f.layout = ops::layout_of(out.wish.op);
  const auto stored = [](bool is_transposed, std::int64_t mn, std::int64_t along_k,
                         const auto& make) {
    return is_transposed ? make({along_k, mn}) : make({mn, along_k});
  };
  using Sizes = std::initializer_list<std::int64_t>;
  f.a = stored(f.layout.a_is_transposed, m, k, [&](Sizes s) { return operand(types.a, s); });
  f.b = stored(f.layout.b_is_transposed, n, k, [&](Sizes s) { return operand(types.b, s); });
  if (f.a.rank == 0 || f.b.rank == 0) return;
  if (types.a == ElementType::Bf16)
    return add_outputs(out, f, {m, n}, [](const auto& facts) { return check_bf16_gemm(facts); });
  for (const std::int64_t gran : granularities(out.wish)) {
    for (const std::int64_t gran_n : {1, 128}) {
      for (const DType dtype : {DType::Float32, DType::Int32}) {
        const std::int64_t columns = ceil_div(k, dtype == DType::Int32 ? 4 * gran : gran);
        const auto scale = [&](Sizes s) { return contiguous(dtype, s); };
        f.recipe = {1, gran_n, gran, gran};
        f.a_scale = stored(f.layout.a_is_transposed, m, columns, scale);
        f.b_scale = stored(f.layout.b_is_transposed, ceil_div(n, gran_n), columns, scale);
        add_outputs(out, f, {m, n}, [](const auto& facts) { return check_scaled_gemm(facts); });
      }
    }
  }
}

void add_gemm(const KernelWish& wish, const DeviceTraits& traits, const Knobs& knobs,
              Kernels& kernels) {
  if (wish.is_any_size()) return add_any(wish, traits, kernels);
  const Collector out{wish, traits, knobs, kernels};
  for (const OperandTypes types : operand_types(wish.op))
    for (const std::int64_t n : wish.n)
      for (const std::int64_t k : wish.k)
        for (const std::int64_t m : kProbes) add_call(out, types, m, n, k);
}

// ---- Einsum ----

struct Product {
  std::int64_t batch, m, n, k;  // of one batch
};

using Sizes3 = std::array<std::int64_t, 3>;

// The tensors of an expression: where each stores batch, rows and columns.
struct Expression {
  const char* text;
  Sizes3 (*a)(const Product&, std::int64_t rows, std::int64_t columns);
  Sizes3 (*b)(const Product&, std::int64_t rows, std::int64_t columns);
  Sizes3 (*d)(const Product&);
};

Sizes3 rows_batch_columns(const Product& p, std::int64_t rows, std::int64_t columns) {
  return {rows, p.batch, columns};
}
Sizes3 batch_rows_columns(const Product& p, std::int64_t rows, std::int64_t columns) {
  return {p.batch, rows, columns};
}
Sizes3 batch_columns_rows(const Product& p, std::int64_t rows, std::int64_t columns) {
  return {p.batch, columns, rows};
}
Sizes3 columns_batch_rows(const Product& p, std::int64_t rows, std::int64_t columns) {
  return {columns, p.batch, rows};
}
Sizes3 d_rows_first(const Product& p) { return {p.m, p.batch, p.n}; }
Sizes3 d_batch_first(const Product& p) { return {p.batch, p.m, p.n}; }

constexpr Expression kExpressions[] = {
    {"bhr,hdr->bhd", rows_batch_columns, batch_rows_columns, d_rows_first},
    {"bhd,hdr->bhr", rows_batch_columns, batch_columns_rows, d_rows_first},
    {"bhd,bhr->hdr", columns_batch_rows, columns_batch_rows, d_batch_first},
};
constexpr std::string_view kSummed = "bmk,bnk->mn";  // a longer sum over k: bf16_gemm_nt

void add_batches(const Collector& out, const Expression& e, const Product& p) {
  ops::EinsumFacts f;
  f.op = out.wish.op;
  f.expr = e.text;
  const auto type = operand_types(out.wish.op).front().a;
  const auto tensor = [](DType dtype, const Sizes3& s) {
    return contiguous(dtype, {s[0], s[1], s[2]});
  };
  const DType dtype = type == ElementType::Bf16 ? DType::BFloat16 : DType::Float8E4m3;
  f.a = tensor(dtype, e.a(p, p.m, p.k));
  f.b = tensor(dtype, e.b(p, p.n, p.k));
  const Sizes3 d = e.d(p);
  if (type == ElementType::Bf16)
    return add_outputs(out, f, {d[0], d[1], d[2]},
                       [](const auto& facts) { return check_bf16_einsum(facts).problem; });
  for (const std::int64_t gran : granularities(out.wish)) {
    for (const std::int64_t gran_n : {1, 128}) {
      for (const DType scale : {DType::Float32, DType::Int32}) {
        const std::int64_t columns = ceil_div(p.k, scale == DType::Int32 ? 4 * gran : gran);
        f.recipe = {1, gran_n, gran, gran};
        f.a_scale = tensor(scale, e.a(p, p.m, columns));
        f.b_scale = tensor(scale, e.b(p, ceil_div(p.n, gran_n), columns));
        add_outputs(out, f, {d[0], d[1], d[2]},
                    [](const auto& facts) { return check_fp8_einsum(facts).problem; });
      }
    }
  }
}

bool has_expression(const KernelWish& wish) {
  for (const Expression& e : kExpressions)
    if (wish.expr == e.text) return true;
  return wish.expr.empty() || (wish.expr == kSummed && wish.op == "einsum");
}

void add_einsum(const KernelWish& wish, const DeviceTraits& traits, const Knobs& knobs,
                Kernels& kernels) {
  if (!has_expression(wish))
    refuse(Rule::EinsumExpression, {wish.op, "expr", "\"" + wish.expr + "\""}, {wish.expr});
  if (wish.is_any_size()) return add_any(wish, traits, kernels);
  const Collector out{wish, traits, knobs, kernels};
  for (const std::int64_t n : wish.n) {
    for (const std::int64_t k : wish.k) {
      for (const std::int64_t batch : kProbes) {
        for (const std::int64_t m : kProbes) {
          for (const Expression& e : kExpressions)
            if (wish.expr.empty() || wish.expr == e.text) add_batches(out, e, {batch, m, n, k});
          if (wish.op == "einsum" && (wish.expr.empty() || wish.expr == kSummed)) {
            KernelWish summed = wish;
            summed.op = "bf16_gemm_nt";
            add_call({summed, traits, knobs, kernels}, operand_types(summed.op).front(), m, n,
                     batch * k);
          }
        }
      }
    }
  }
}

const std::vector<std::string_view> kKeys = {"n", "k", "dtypes", "gran_k"};
const std::vector<std::string_view> kEinsumKeys = {"expr", "n", "k", "dtypes", "gran_k"};

const KernelSetRegistration fp8({
    .ops = {"fp8_gemm_nt", "fp8_gemm_nn", "fp8_gemm_tn", "fp8_gemm_tt",
            "fp8_gemm_nt_skip_head_mid"},
    .keys = kKeys,
    .add = &add_gemm,
});

const KernelSetRegistration fp8_fp4({
    .ops = {"fp8_fp4_gemm_nt", "fp8_fp4_gemm_nn", "fp8_fp4_gemm_tn", "fp8_fp4_gemm_tt"},
    .keys = kKeys,
    .add = &add_gemm,
});

const KernelSetRegistration fp4({.ops = {"fp4_gemm_nt"}, .keys = kKeys, .add = &add_gemm});

const KernelSetRegistration bf16({
    .ops = {"bf16_gemm_nt", "bf16_gemm_nn", "bf16_gemm_tn", "bf16_gemm_tt"},
    .keys = kKeys,
    .add = &add_gemm,
});

const KernelSetRegistration einsum({.ops = {"einsum"}, .keys = kEinsumKeys, .add = &add_einsum});
const KernelSetRegistration fp8_einsum({.ops = {"fp8_einsum"},
                                        .keys = kEinsumKeys,
                                        .add = &add_einsum});

}  // namespace
}  // namespace deep_gemm
