#include <deep_gemm/csrc/ops/gemm_check.hpp>

#include <algorithm>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/problem/sizes.hpp>

namespace deep_gemm::ops {
namespace {

// One tensor of a call: every rule names it the same way.
struct Argument {
  std::string_view op;
  std::string_view name;
  const TensorFacts& facts;

  template <class... D>
  void require(bool is_kept, Rule rule, const D&... details) const {
    if (!is_kept) [[unlikely]]
      refuse(rule, {op, name, facts.to_string()}, {Detail(details)...});
  }
};

// A matrix as the product sees it: rows of m (or n) by k, whatever way it is stored.
struct Oriented {
  std::int64_t mn, k, stride_mn, stride_k;
};

Oriented orient(const TensorFacts& t, bool is_transposed) {
  if (is_transposed) return {t.sizes[1], t.sizes[0], t.strides[1], t.strides[0]};
  return {t.sizes[0], t.sizes[1], t.strides[0], t.strides[1]};
}

void check_devices(const GemmFacts& f, std::initializer_list<Argument> arguments) {
  Argument{f.op, "a", f.a}.require(f.a.device != DeviceKind::Other, Rule::DeviceKind);
  for (const Argument& x : arguments)
    x.require(x.facts.device == f.a.device && x.facts.device_index == f.a.device_index,
              Rule::OneDevice, [&] { return device_name(f.a.device, f.a.device_index); });
}

void check_output_dtypes(const GemmFacts& f) {
  Argument{f.op, "d", f.d}.require(f.d.dtype == DType::BFloat16 || f.d.dtype == DType::Float32,
                                   Rule::DtypeOut);
  if (f.c)
    Argument{f.op, "c", *f.c}.require(f.c->dtype == f.d.dtype, Rule::DtypeC, dtype_name(f.d.dtype));
}

void check_ranks(std::initializer_list<Argument> arguments) {
  for (const Argument& x : arguments) x.require(x.facts.rank == 2, Rule::RankMatrix, x.name);
}

ElementType element_of(DType dtype) {
  if (dtype == DType::BFloat16) return ElementType::Bf16;
  return dtype == DType::Int8 ? ElementType::E2m1 : ElementType::E4m3;
}

// Which way the operand runs, and its logical size: two values a byte count twice.
// Why sizes decide where strides do not: those of a direction of size 1 mean nothing.
Oriented read_operand(const Argument& x, bool is_transposed, GemmOperand& operand) {
  Oriented o = orient(x.facts, is_transposed);
  operand.type = element_of(x.facts.dtype);
  // Both may be contiguous, where one has size 1: then the last one as stored, which is what
  // matters where two values share a byte.
  const bool is_k = o.stride_k == 1 || (o.k <= 1 && o.stride_mn != 1);
  if (is_k && !(is_transposed && o.stride_mn == 1)) {
    operand.major = Major::K;
    operand.stride_bytes = o.stride_mn * dtype_bytes(x.facts.dtype);
    if (operand.type == ElementType::E2m1) o.k *= 2;
  } else {
    x.require(o.stride_mn == 1 || o.mn <= 1, Rule::UnitStride);
    operand.major = Major::Mn;
    operand.stride_bytes = o.stride_k * dtype_bytes(x.facts.dtype);
    if (operand.type == ElementType::E2m1) o.mn *= 2;
  }
  return o;
}

void check_shapes(const GemmFacts& f, GemmProblem& p) {
  const Argument a{f.op, "a", f.a}, b{f.op, "b", f.b}, d{f.op, "d", f.d};
  const Oriented ao = read_operand(a, f.layout.a_is_transposed, p.a);
  const Oriented bo = read_operand(b, f.layout.b_is_transposed, p.b);
  p.m = ao.mn;
  p.n = bo.mn;
  p.k = ao.k;
  const std::string_view letters(f.op.substr(f.op.size() < 2 ? 0 : f.op.size() - 2));
  b.require(ao.k == bo.k, Rule::SameK, ao.k, bo.k, letters,
            f.layout.a_is_transposed ? "[k, m]" : "[m, k]",
            f.layout.b_is_transposed ? "[k, n]" : "[n, k]");
  d.require(f.d.sizes[0] == p.m && f.d.sizes[1] == p.n, Rule::ShapeD, p.m, p.n);
  if (f.c)
    Argument{f.op, "c", *f.c}.require(f.c->sizes[0] == p.m && f.c->sizes[1] == p.n, Rule::ShapeC,
                                      p.m, p.n);
}

// The largest power of two, 16 at most, that divides all addresses.
int alignment_of(std::initializer_list<std::uint64_t> addresses) {
  int alignment = 16;
  for (const std::uint64_t address : addresses)
    while (address % static_cast<std::uint64_t>(alignment) != 0) alignment /= 2;
  return alignment;
}

// Strides of d and c, and whether c is d.
void check_outputs(const GemmFacts& f, GemmProblem& p) {
  p.d_type = f.d.dtype == DType::BFloat16 ? OutputType::Bf16 : OutputType::F32;
  p.accumulate = !f.c                                               ? Accumulate::None
                 : f.c->address != 0 && f.c->address == f.d.address ? Accumulate::InPlace
                                                                    : Accumulate::FromC;
  p.has_alpha = f.has_alpha;
  p.is_meta = f.a.device == DeviceKind::Meta;
  if (p.m == 0 || p.n == 0) return;
  const Argument d{f.op, "d", f.d};
  d.require(f.d.strides[1] == 1 || p.n == 1, Rule::OutUnitStride, "d");
  d.require(f.d.strides[0] >= p.n || p.m == 1, Rule::OutRows, p.n);
  p.d_stride = p.m == 1 ? p.n : f.d.strides[0];
  if (f.c) {
    const Argument c{f.op, "c", *f.c};
    c.require(f.c->strides[1] == 1 || p.n == 1, Rule::OutUnitStride, "c");
    p.c_stride = p.m == 1 ? p.n : f.c->strides[0];
    c.require(p.accumulate != Accumulate::InPlace || p.c_stride == p.d_stride, Rule::AliasLayout,
              p.d_stride);
  }
  p.alignment = alignment_of({f.a.address, f.b.address});
  p.d_alignment = alignment_of({f.d.address, f.c ? f.c->address : 0});
}

void check_recipe(const GemmFacts& f, GemmProblem& p) {
  const Recipe& r = f.recipe;
  const auto refuse_it = [&](Rule rule) {
    refuse(rule, {f.op, "recipe",
                  "(" + std::to_string(r.gran_m) + ", " + std::to_string(r.gran_n) + ", " +
                      std::to_string(r.gran_k_a) + ", " + std::to_string(r.gran_k_b) + ")"});
  };
  const int num_given = (r.gran_m != 0) + (r.gran_n != 0) + (r.gran_k_a != 0) + (r.gran_k_b != 0);
  if (num_given != 0 && num_given != 4) refuse_it(Rule::RecipeWhole);
  const bool is_packed = f.b_scale.dtype == DType::Int32;
  const Recipe settled = num_given != 0 ? r : Recipe{1, is_packed ? 1 : 128, 128, 128};
  for (const std::int64_t gran : {settled.gran_m, settled.gran_n})
    if (gran != 1 && gran != 128) refuse_it(Rule::RecipeGranMn);
  for (const std::int64_t gran : {settled.gran_k_a, settled.gran_k_b})
    if (gran != 32 && gran != 64 && gran != 128) refuse_it(Rule::RecipeGranK);
  p.a_scale = {.gran_mn = settled.gran_m, .gran_k = settled.gran_k_a};
  p.b_scale = {.gran_mn = settled.gran_n, .gran_k = settled.gran_k_b};
}

void check_scale(const Argument& x, std::string_view operand, std::string_view rows_of,
                 bool is_transposed, std::int64_t mn, std::int64_t k, GemmScale& scale) {
  const Oriented o = orient(x.facts, is_transposed);
  scale.type = x.facts.dtype == DType::Int32 ? ScaleType::Ue8m0x4 : ScaleType::F32;
  const std::int64_t per_column = scale.gran_k * (scale.type == ScaleType::Ue8m0x4 ? 4 : 1);
  const std::int64_t rows = ceil_div(mn, scale.gran_mn), columns = ceil_div(k, per_column);
  x.require(o.mn == rows, Rule::ScaleRows, scale.gran_mn, rows_of, mn, rows,
            is_transposed ? "columns" : "rows", operand);
  x.require(o.k == columns, Rule::ScaleColumns, scale.gran_k,
            scale.type == ScaleType::Ue8m0x4 ? ", four to an int32" : "", k, columns,
            is_transposed ? "rows" : "columns", operand);
  scale.stride_mn = rows <= 1 ? 0 : o.stride_mn;
  scale.stride_k = columns <= 1 ? 0 : o.stride_k;
}

}  // namespace

GemmLayout layout_of(std::string_view op) {
  const std::string_view letters = op.size() < 2 ? op : op.substr(op.size() - 2);
  return letters == "nn" ? kNn : letters == "tn" ? kTn : letters == "tt" ? kTt : kNt;
}

GemmProblem check_scaled_gemm(const GemmFacts& f) {
  GemmProblem p;
  const Argument a{f.op, "a", f.a}, a_scale{f.op, "a_scale", f.a_scale};
  const Argument b{f.op, "b", f.b}, b_scale{f.op, "b_scale", f.b_scale};
  const Argument d{f.op, "d", f.d}, c{f.op, "c", f.c ? *f.c : f.d};
  check_devices(f, {a_scale, b, b_scale, d, c});
  for (const Argument& x : {a, b})
    x.require(x.facts.dtype == DType::Float8E4m3 || x.facts.dtype == DType::Int8, Rule::DtypeFp8);
  for (const Argument& x : {a_scale, b_scale})
    x.require(x.facts.dtype == DType::Float32 || x.facts.dtype == DType::Int32, Rule::DtypeScale);
  check_output_dtypes(f);
  check_ranks({a, a_scale, b, b_scale, d, c});
  check_shapes(f, p);
  check_recipe(f, p);
  check_scale(a_scale, "a", "m", f.layout.a_is_transposed, p.m, p.k, p.a_scale);
  check_scale(b_scale, "b", "n", f.layout.b_is_transposed, p.n, p.k, p.b_scale);
  check_outputs(f, p);
  return p;
}

GemmProblem check_bf16_gemm(const GemmFacts& f) {
  GemmProblem p;
  const Argument a{f.op, "a", f.a}, b{f.op, "b", f.b};
  const Argument d{f.op, "d", f.d}, c{f.op, "c", f.c ? *f.c : f.d};
  check_devices(f, {b, d, c});
  for (const Argument& x : {a, b}) x.require(x.facts.dtype == DType::BFloat16, Rule::DtypeBf16);
  check_output_dtypes(f);
  check_ranks({a, b, d, c});
  check_shapes(f, p);
  check_outputs(f, p);
  return p;
}

}  // namespace deep_gemm::ops
