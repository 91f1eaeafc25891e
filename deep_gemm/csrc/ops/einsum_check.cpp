#include <deep_gemm/csrc/ops/einsum_check.hpp>

#include <deep_gemm/csrc/plan/rules.hpp>

namespace deep_gemm::ops {
namespace {

// Positions in a tensor: the batch, the rows (m or n) and what is contracted (of d: the columns).
struct Roles {
  std::size_t batch, rows, columns;
};

struct Form {
  std::string_view expr;
  Roles a, b, d;
};

constexpr Form kForms[] = {
    {"bhr,hdr->bhd", {1, 0, 2}, {0, 1, 2}, {1, 0, 2}},
    {"bhd,hdr->bhr", {1, 0, 2}, {0, 2, 1}, {1, 0, 2}},
    {"bhd,bhr->hdr", {1, 2, 0}, {1, 2, 0}, {0, 1, 2}},
};

const Form& form_of(const EinsumFacts& f) {
  for (const Form& form : kForms)
    if (form.expr == f.expr) return form;
  refuse(Rule::EinsumExpression, {f.op, "expr", "\"" + f.expr + "\""}, {f.expr});
}

// The matrix of the first batch, and the bytes to the next one.
TensorFacts matrix_of(std::string_view op, std::string_view name, const TensorFacts& t,
                      const Roles& roles, std::int64_t batch, std::int64_t& step) {
  if (t.rank != 3) refuse(Rule::EinsumRank, {op, name, t.to_string()}, {name});
  if (t.sizes[roles.batch] != batch)
    refuse(Rule::EinsumBatch, {op, name, t.to_string()},
           {batch, t.sizes[roles.batch], static_cast<int>(roles.batch)});
  TensorFacts matrix = t;
  matrix.rank = 2;
  matrix.sizes = {t.sizes[roles.rows], t.sizes[roles.columns]};
  matrix.strides = {t.strides[roles.rows], t.strides[roles.columns]};
  step = batch > 1 ? t.strides[roles.batch] * dtype_bytes(t.dtype) : 0;
  // Why: a problem's alignment is that of every batch, and the check reads it off addresses.
  matrix.address |= static_cast<std::uint64_t>(step) & 15u;
  return matrix;
}

BatchedGemm check(const EinsumFacts& f, bool is_scaled) {
  const Form& form = form_of(f);
  BatchedGemm g;
  if (f.a.rank != 3) refuse(Rule::EinsumRank, {f.op, "a", f.a.to_string()}, {"a"});
  g.batch = f.a.sizes[form.a.batch];
  const auto matrix = [&](std::string_view name, const TensorFacts& t, const Roles& roles,
                          std::int64_t& step) {
    return matrix_of(f.op, name, t, roles, g.batch, step);
  };
  GemmFacts one;
  one.op = f.op;
  one.a = matrix("a", f.a, form.a, g.step.a);
  one.b = matrix("b", f.b, form.b, g.step.b);
  one.d = matrix("d", f.d, form.d, g.step.d);
  if (f.c) one.c = matrix("c", *f.c, form.d, g.step.c);
  if (f.c && f.c->address != 0 && f.c->address == f.d.address && g.step.c != g.step.d)
    refuse(Rule::AliasLayout, {f.op, "c", f.c->to_string()}, {f.d.strides[form.d.batch]});
  one.recipe = f.recipe;
  if (is_scaled) {
    one.a_scale = matrix("a_scale", f.a_scale, form.a, g.step.a_scale);
    one.b_scale = matrix("b_scale", f.b_scale, form.b, g.step.b_scale);
  }
  g.problem = is_scaled ? check_scaled_gemm(one) : check_bf16_gemm(one);
  return g;
}

}  // namespace

BatchedGemm check_bf16_einsum(const EinsumFacts& facts) { return check(facts, false); }
BatchedGemm check_fp8_einsum(const EinsumFacts& facts) { return check(facts, true); }

}  // namespace deep_gemm::ops
