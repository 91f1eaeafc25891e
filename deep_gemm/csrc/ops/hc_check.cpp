#include <deep_gemm/csrc/ops/hc_check.hpp>

#include <string>
#include <string_view>

#include <deep_gemm/csrc/plan/rules.hpp>

namespace deep_gemm::ops {
namespace {

constexpr std::string_view kOp = "tf32_hc_prenorm_gemm";
constexpr std::int64_t kMaxSize = 0x7fffffff;  // sizes are 32-bit in the kernels, offsets 64-bit

struct Argument {
  std::string_view name;
  const TensorFacts& facts;

  template <class... D>
  void require(bool is_kept, Rule rule, const D&... details) const {
    if (!is_kept) [[unlikely]]
      refuse(rule, {kOp, name, facts.to_string()}, {Detail(details)...});
  }
};

std::string shape_text(std::initializer_list<std::int64_t> sizes) {
  std::string text = "(";
  for (const std::int64_t size : sizes)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + (sizes.size() == 1 ? ",)" : ")");
}

// The result of one shape: contiguous, for the strides of a size of 1 mean nothing.
void check_output(const Argument& x, std::initializer_list<std::int64_t> sizes) {
  const int rank = static_cast<int>(sizes.size());
  bool is_shape = x.facts.rank == rank, is_contiguous = true;
  std::int64_t expected = 1, count = 1;
  for (const std::int64_t size : sizes) count *= size;
  for (int i = rank - 1; is_shape && i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t size = sizes.begin()[i];
    is_shape = x.facts.sizes[at] == size;
    is_contiguous = is_contiguous && (size == 1 || x.facts.strides[at] == expected);
    expected *= size;
  }
  x.require(is_shape, Rule::HcOutputShape, x.name, [&] { return shape_text(sizes); });
  x.require(is_contiguous || count == 0, Rule::HcOutputContiguous, x.name);
}

void check_operand(const Argument& x, std::int64_t rows, std::int64_t k, std::int64_t& stride) {
  x.require(x.facts.strides[1] == 1 || k <= 1, Rule::HcKMajor, x.name);
  stride = rows <= 1 ? k : x.facts.strides[0];
}

}  // namespace

HcProblem check_hc(const HcFacts& f) {
  const Argument a{"a", f.a}, b{"b", f.b}, d{"d", f.d}, sqr_sum{"sqr_sum", f.sqr_sum};
  a.require(f.a.device != DeviceKind::Other, Rule::DeviceKind);
  for (const Argument& x : {b, d, sqr_sum})
    x.require(x.facts.device == f.a.device && x.facts.device_index == f.a.device_index,
              Rule::OneDevice, [&] { return device_name(f.a.device, f.a.device_index); });
  a.require(f.a.dtype == DType::BFloat16, Rule::HcDtype);
  for (const Argument& x : {b, d, sqr_sum})
    x.require(x.facts.dtype == DType::Float32, Rule::HcDtype);
  for (const Argument& x : {a, b}) x.require(x.facts.rank == 2, Rule::RankMatrix, x.name);
  HcProblem p;
  p.m = f.a.sizes[0], p.n = f.b.sizes[0], p.k = f.a.sizes[1];
  b.require(f.b.sizes[1] == p.k, Rule::HcSameK, p.k, f.b.sizes[1]);
  a.require(p.k > 0 && p.k <= kMaxSize && p.m <= kMaxSize, Rule::HcSizes, "m and k of a");
  b.require(p.n > 0 && p.n <= kMaxSize, Rule::HcSizes, "n, the rows of b,");
  if (f.splits) {
    p.splits = *f.splits;
    if (p.splits < 1 || p.splits > 65535)
      refuse(Rule::HcSplits, {kOp, "num_splits", std::to_string(p.splits)});
    check_output(d, {p.splits, p.m, p.n});
    check_output(sqr_sum, {p.splits, p.m});
  } else {
    check_output(d, {p.m, p.n});
    check_output(sqr_sum, {p.m});
  }
  check_operand(a, p.m, p.k, p.a_stride);
  check_operand(b, p.n, p.k, p.b_stride);
  p.is_meta = f.a.device == DeviceKind::Meta;
  for (const std::uint64_t address : {f.a.address, f.b.address, f.d.address})
    while (address % static_cast<std::uint64_t>(p.alignment) != 0) p.alignment /= 2;
  return p;
}

}  // namespace deep_gemm::ops
