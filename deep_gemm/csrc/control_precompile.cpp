// Which kernels an operator can pick for some sizes, and compiling them ahead of the first call.
#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include <deep_gemm/csrc/control_answers.hpp>
#include <deep_gemm/csrc/launch/back_end.hpp>
#include <deep_gemm/csrc/ops/gemm_check.hpp>
#include <deep_gemm/csrc/ops/grouped_check.hpp>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/plan/grouped_plan.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/source/gemm_source.hpp>
#include <deep_gemm/csrc/source/grouped_source.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::answers {
namespace {

namespace str = deep_jit::str;

struct Sizes {
  std::string op;
  std::vector<std::int64_t> n, k;
  std::vector<OutputType> d_types;
  std::vector<std::int64_t> gran_k;  // empty: those of the operator's published recipes
};

[[noreturn]] void refuse_value(const std::string& op, const char* key, const std::string& given,
                               const char* form) {
  refuse(Rule::Described, {op, key, "\"" + given + "\""}, {form});
}

std::vector<std::int64_t> sizes_of(const Arguments& arguments, const std::string& op,
                                   const char* key) {
  std::vector<std::int64_t> sizes;
  const std::string text = value_of(arguments, key);
  if (text.empty()) return sizes;
  str::split(text, ',', [&](std::string_view part) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size <= 0)
      refuse_value(op, key, text, "sizes are whole numbers above 0, as in 512,7168");
    sizes.push_back(size);
  });
  return sizes;
}

std::vector<OutputType> outputs_of(const Arguments& arguments, const std::string& op) {
  const std::string text = value_of(arguments, "dtypes");
  if (text.empty()) return {OutputType::Bf16, OutputType::F32};
  std::vector<OutputType> types;
  str::split(text, ',', [&](std::string_view part) {
    if (part != "bfloat16" && part != "float32") refuse(Rule::DtypeOut, {op, "dtypes", text});
    types.push_back(part == "float32" ? OutputType::F32 : OutputType::Bf16);
  });
  return types;
}

Sizes read_sizes(const Arguments& arguments) {
  require_keys(
      "precompile", arguments,
      {"op", "n", "k", "dtypes", "gran_k", "device", "arch", "num_threads", "dry_run", "only"});
  Sizes sizes;
  sizes.op = value_of(arguments, "op");
  sizes.n = sizes_of(arguments, sizes.op, "n");
  sizes.k = sizes_of(arguments, sizes.op, "k");
  for (const char* key : {"n", "k"})
    if (value_of(arguments, key).empty()) refuse_value(sizes.op, key, "", "one size at least");
  sizes.d_types = outputs_of(arguments, sizes.op);
  sizes.gran_k = sizes_of(arguments, sizes.op, "gran_k");
  return sizes;
}

// Operand types and recipes of an operator, in the orientation that its name gives contiguous
// tensors. n and k are filled in later.
std::vector<GemmProblem> recipes_of(const Sizes& sizes) {
  const ops::GemmLayout layout = ops::layout_of(sizes.op);
  const std::string_view op = sizes.op;
  GemmProblem p;
  p.m = 128;
  p.a.major = layout.a_is_transposed ? Major::Mn : Major::K;
  p.b.major = layout.b_is_transposed ? Major::Mn : Major::K;
  if (op.substr(0, 4) == "bf16") return {p};
  p.a_scale.type = p.b_scale.type = ScaleType::F32;
  p.a.type = p.b.type = ElementType::E4m3;
  const bool is_fp4 = op.substr(0, 4) == "fp4_", has_fp4 = is_fp4 || op.substr(0, 7) == "fp8_fp4";
  const std::vector<std::int64_t> grans = !sizes.gran_k.empty() ? sizes.gran_k
                                          : has_fp4             ? std::vector<std::int64_t>{32, 128}
                                                                : std::vector<std::int64_t>{128};
  std::vector<GemmProblem> problems;
  for (const std::int64_t gran : grans) {
    if (gran != 32 && gran != 64 && gran != 128)
      refuse(Rule::RecipeGranK, {op, "gran_k", std::to_string(gran)});
    p.b_scale.gran_k = gran;
    if (is_fp4) {
      p.a.type = ElementType::E2m1;
      p.a_scale.gran_k = gran;
    }
    if (has_fp4) {
      p.b.type = ElementType::E2m1;
      p.b_scale.gran_mn = 1;
      problems.push_back(p);
    }
    p.b.type = ElementType::E4m3;
    p.b_scale.gran_mn = 128;
    if (!is_fp4 && (!has_fp4 || gran == 128)) problems.push_back(p);
  }
  return problems;
}

// Strides of tensors that are contiguous as the operator's name says.
void set_contiguous(GemmProblem& p) {
  const auto stride = [](const GemmOperand& x, std::int64_t mn, std::int64_t k) {
    const std::int64_t length = x.major == Major::K ? k : mn;
    if (x.type == ElementType::E2m1) return length / 2;
    return x.type == ElementType::Bf16 ? 2 * length : length;
  };
  p.a.stride_bytes = stride(p.a, p.m, p.k);
  p.b.stride_bytes = stride(p.b, p.n, p.k);
}

// What callers of a bf16 product may add it to.
constexpr Accumulate kAccumulations[] = {Accumulate::None, Accumulate::InPlace, Accumulate::FromC};

std::vector<KernelSource> gemm_kernels(const Sizes& sizes, const DeviceTraits& traits) {
  std::vector<KernelSource> sources;
  for (GemmProblem p : recipes_of(sizes)) {
    const std::size_t num_accumulations = p.is_scaled() ? 1 : std::size(kAccumulations);
    for (const std::int64_t n : sizes.n) {
      for (const std::int64_t k : sizes.k) {
        for (const OutputType d_type : sizes.d_types) {
          p.n = p.d_stride = p.c_stride = n;
          p.k = k;
          p.d_type = d_type;
          set_contiguous(p);
          for (const Accumulate accumulate : std::span(kAccumulations, num_accumulations)) {
            p.accumulate = accumulate;
            plan_gemm(p, traits, current_knobs(), sizes.op);  // refuses what a call would
            for (KernelSource& source : reachable_sources(p, traits))
              sources.push_back(std::move(source));
          }
        }
      }
    }
  }
  return sources;
}

// The dense operator whose operands a group has: "m_grouped_bf16_gemm_nn_contiguous" is made of
// "bf16_gemm_nn".
std::string dense_name(std::string_view op) {
  const auto contains = [op](std::string_view part) { return op.find(part) != op.npos; };
  const std::string_view types = contains("bf16") ? "bf16" : contains("fp4") ? "fp8_fp4" : "fp8";
  const std::size_t letters = op.find("_gemm_") + 6;
  return std::string(types) + "_gemm_" + std::string(op.substr(letters, 2));
}

// Layouts and strides of a grouped operator on contiguous tensors, from those of one group.
std::vector<GroupedProblem> grouped_problems(std::string_view op, const GemmProblem& group) {
  GroupedProblem p;
  p.gemm = group;
  p.num_groups = 8;
  p.d_group = group.m * group.n;
  p.a_group = group.m * group.a.stride_bytes;
  p.b_group = (group.b.major == Major::K ? group.n : group.k) * group.b.stride_bytes;
  std::vector<Grouping> groupings = {Grouping::Labels, Grouping::Ends};
  if (op.find("_masked") != op.npos) groupings = {Grouping::Counts};
  if (op.substr(0, 2) == "k_") {
    groupings = {Grouping::Sizes};
    p.is_flat = ops::k_storage_of(op) == ops::KStorage::Flat;
    p.gemm.k *= p.num_groups;
    p.gemm.b_scale.gran_mn = 1;
    if (op.find("_fp4_") != op.npos) p.gemm.a.type = p.gemm.b.type = ElementType::E2m1;
    if (op.find("_fp4_") != op.npos) p.gemm.a_scale.gran_k = p.gemm.b_scale.gran_k;
    set_contiguous(p.gemm);
  }
  std::vector<GroupedProblem> problems;
  for (const Grouping grouping : groupings) {
    p.grouping = grouping;
    problems.push_back(p);
  }
  return problems;
}

std::vector<KernelSource> grouped_kernels(const Sizes& sizes, const DeviceTraits& traits) {
  Sizes dense = sizes;
  dense.op = dense_name(sizes.op);
  std::vector<KernelSource> sources;
  for (GemmProblem g : recipes_of(dense)) {
    for (const std::int64_t n : sizes.n) {
      for (const std::int64_t k : sizes.k) {
        for (const OutputType d_type : sizes.d_types) {
          g.n = g.d_stride = n;
          g.k = k;
          g.d_type = d_type;
          set_contiguous(g);
          for (const GroupedProblem& p : grouped_problems(sizes.op, g)) {
            plan_grouped(p, traits, current_knobs(), sizes.op);  // refuses what a call would
            for (const GroupedPlan& plan : reachable_grouped_plans(p, traits))
              sources.push_back(source_of(plan));
          }
        }
      }
    }
  }
  return sources;
}

// One row per family of operators: the beginning of its names.
struct Family {
  std::string_view stem;
  std::vector<KernelSource> (*kernels)(const Sizes&, const DeviceTraits&);
};

constexpr Family kFamilies[] = {
    {"fp8_gemm_", gemm_kernels},         {"fp8_fp4_gemm_", gemm_kernels},
    {"fp4_gemm_", gemm_kernels},         {"bf16_gemm_", gemm_kernels},
    {"m_grouped_", grouped_kernels},     {"k_grouped_", grouped_kernels},
    {"fp8_m_grouped_", grouped_kernels}, {"bf16_m_grouped_", grouped_kernels},
};

// Many sizes share a kernel: each is named once.
std::vector<KernelSource> kernels_of(const Sizes& sizes, const DeviceTraits& traits) {
  for (const Family& family : kFamilies) {
    if (std::string_view(sizes.op).substr(0, family.stem.size()) != family.stem) continue;
    std::vector<KernelSource> once;
    for (KernelSource& source : family.kernels(sizes, traits)) {
      const bool is_new = std::none_of(once.begin(), once.end(), [&](const KernelSource& other) {
        return other.name == source.name && other.text == source.text;
      });
      if (is_new) once.push_back(std::move(source));
    }
    return once;
  }
  refuse(Rule::KnownOp, {"precompile", "op", "\"" + sizes.op + "\""},
         {"those whose names begin with fp8_gemm_, fp8_fp4_gemm_, fp4_gemm_, bf16_gemm_, "
          "m_grouped_ or "
          "k_grouped_"});
}

}  // namespace

json precompile(const Arguments& arguments) {
  const Sizes sizes = read_sizes(arguments);
  const BackEnd& back_end = back_end_of(value_of(arguments, "device"));
  PrecompileWish wish;
  wish.arch = value_of(arguments, "arch");
  wish.is_dry = value_of(arguments, "dry_run") == "1";
  wish.only = value_of(arguments, "only");
  const std::string threads = value_of(arguments, "num_threads");
  std::from_chars(threads.data(), threads.data() + threads.size(), wish.num_threads);
  const auto sources = kernels_of(sizes, back_end.traits(wish.arch));
  if (back_end.precompile == nullptr)
    refuse(Rule::NoKernelForDevice, {sizes.op, "device", std::string(back_end.device)},
           {std::string(back_end.device)});
  json kernels = json::array(), failed = json::array();
  std::size_t num_compiled = 0;
  for (const KernelRow& row : back_end.precompile(sources, wish)) {
    json kernel = json::object();
    kernel["name"] = row.name;
    kernel["request"] = row.request;
    kernel["cached"] = row.is_cached;
    kernel["ms"] = row.ms;
    kernels.push_back(std::move(kernel));
    if (row.error.empty()) {
      num_compiled += row.is_cached || wish.is_dry ? 0 : 1;
      continue;
    }
    json failure = json::object();
    failure["name"] = row.name;
    failure["error"] = row.error;
    failed.push_back(std::move(failure));
  }
  json answer = json::object();
  answer["kernels"] = std::move(kernels);
  answer["compiled"] = num_compiled;
  answer["failed"] = std::move(failed);
  return answer;
}

}  // namespace deep_gemm::answers
