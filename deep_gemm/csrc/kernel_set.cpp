#include <deep_gemm/csrc/kernel_set.hpp>

#include <algorithm>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

// Filled while the library is loaded, by one thread.
std::vector<KernelSet>& sets() {
  static auto* const all = new std::vector<KernelSet>();
  return *all;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

KernelSetRegistration::KernelSetRegistration(KernelSet set) { sets().push_back(std::move(set)); }

const KernelSet& kernel_set_of(std::string_view op) {
  std::vector<std::string_view> known = {"all"};
  for (const KernelSet& set : sets()) {
    if (std::find(set.ops.begin(), set.ops.end(), op) != set.ops.end()) return set;
    known.insert(known.end(), set.ops.begin(), set.ops.end());
  }
  std::sort(known.begin(), known.end());
  refuse(Rule::KnownOp, {"precompile", "op", "\"" + std::string(op) + "\""},
         {deep_jit::str::join(known, ", ")});
}

std::vector<KernelSource> kernel_set(const KernelWish& wish, const DeviceTraits& traits,
                                     const Knobs& knobs) {
  Kernels kernels;
  if (wish.op != "all") {
    kernel_set_of(wish.op).add(wish, traits, knobs, kernels);
    return kernels.take();
  }
  for (const KernelSet& set : sets()) {
    KernelWish any = wish;
    any.op = set.ops.front();
    set.add(any, traits, knobs, kernels);
  }
  return kernels.take();
}

std::vector<OperandTypes> operand_types(std::string_view op) {
  using enum ElementType;
  if (contains(op, "bf16") || op == "einsum") return {{Bf16, Bf16}};
  if (contains(op, "k_grouped_fp4") || op.substr(0, 9) == "fp4_gemm_") return {{E2m1, E2m1}};
  if (contains(op, "fp4")) return {{E4m3, E2m1}, {E4m3, E4m3}, {E2m1, E2m1}, {E2m1, E4m3}};
  return {{E4m3, E4m3}};
}

std::vector<std::int64_t> granularities(const KernelWish& wish) {
  for (const std::int64_t gran : wish.gran_k)
    if (gran != 32 && gran != 64 && gran != 128)
      refuse(Rule::RecipeGranK, {wish.op, "gran_k", std::to_string(gran)});
  if (!wish.gran_k.empty()) return wish.gran_k;
  if (wish.is_any_size()) return {32, 64, 128};
  if (contains(wish.op, "k_grouped_fp4")) return {32};
  return contains(wish.op, "fp4") ? std::vector<std::int64_t>{32, 128}
                                  : std::vector<std::int64_t>{128};
}

std::vector<OutputType> output_types(const KernelWish& wish) {
  if (!wish.d_types.empty()) return wish.d_types;
  return {OutputType::Bf16, OutputType::F32};
}

TensorFacts operand(ElementType type, std::initializer_list<std::int64_t> sizes) {
  if (type == ElementType::Bf16) return contiguous(DType::BFloat16, sizes);
  if (type == ElementType::E4m3) return contiguous(DType::Float8E4m3, sizes);
  TensorFacts t = contiguous(DType::Int8, sizes);
  const auto last = sizes.size() - 1;
  if (t.sizes[last] % 2 != 0) return {};
  t.sizes[last] /= 2;
  for (std::size_t i = 0; i < last; ++i) t.strides[i] /= 2;
  return t;
}

DType dtype_of(OutputType type) {
  return type == OutputType::Bf16 ? DType::BFloat16 : DType::Float32;
}

namespace {

// The ways to store two operands that are aligned throughout, or not at all.
std::vector<GemmProblem> kinds_of_operands(OperandTypes types) {
  constexpr std::int64_t kSize = 4096;  // of m, n and k
  std::vector<GemmProblem> problems;
  GemmProblem p;
  p.m = p.n = p.k = p.d_stride = p.c_stride = kSize;
  p.a.type = types.a;
  p.b.type = types.b;
  p.a.stride_bytes = p.b.stride_bytes = 2 * kSize;
  for (const Major a : {Major::K, Major::Mn}) {
    for (const Major b : {Major::K, Major::Mn}) {
      for (const int alignment : {16, 1}) {
        p.a.major = a;
        p.b.major = b;
        p.alignment = alignment;
        problems.push_back(p);
      }
    }
  }
  return problems;
}

std::vector<GemmProblem> with_scales(const std::vector<GemmProblem>& problems,
                                     const std::vector<std::int64_t>& gran_k) {
  std::vector<GemmProblem> scaled;
  for (GemmProblem p : problems) {
    for (const ScaleType type : {ScaleType::F32, ScaleType::Ue8m0x4}) {
      for (const std::int64_t gran_n : {1, 128}) {
        for (const std::int64_t gran : gran_k) {
          p.a_scale = {.type = type, .gran_mn = 1, .gran_k = gran, .stride_mn = 1, .stride_k = p.m};
          p.b_scale = {
              .type = type, .gran_mn = gran_n, .gran_k = gran, .stride_mn = 1, .stride_k = p.n};
          scaled.push_back(p);
        }
      }
    }
  }
  return scaled;
}

}  // namespace

std::vector<GemmProblem> kinds_of_gemm(OperandTypes types, const std::vector<std::int64_t>& gran_k,
                                       const std::vector<OutputType>& d_types) {
  std::vector<GemmProblem> kinds, problems = kinds_of_operands(types);
  if (types.a != ElementType::Bf16) problems = with_scales(problems, gran_k);
  for (GemmProblem p : problems) {
    for (const OutputType d_type : d_types) {
      for (const int d_alignment : {16, 1}) {
        for (const Accumulate accumulate :
             {Accumulate::None, Accumulate::InPlace, Accumulate::FromC}) {
          for (const bool has_alpha : {false, true}) {
            p.d_type = d_type;
            p.d_alignment = d_alignment;
            p.accumulate = accumulate;
            p.has_alpha = has_alpha;
            kinds.push_back(p);
          }
        }
      }
    }
  }
  return kinds;
}

}  // namespace deep_gemm
