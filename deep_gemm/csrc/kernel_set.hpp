// Which kernels an operator can pick, for some sizes or for any: what `precompile` compiles.
//   const std::vector<KernelSource> sources = kernel_set(wish, traits, knobs);    // throws by rule
// Made by the checks and plans of real calls, so that it holds what a call picks. A family is one
// file, kernel_set_<stem>.cpp:
//   const KernelSetRegistration registration({.ops = {...}, .keys = {"n", "k"}, .add = &add});
// Leaves reading a question to control_precompile.cpp and compiling to launch/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <deep_gemm/csrc/plan/device_traits.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>
#include <deep_gemm/csrc/problem/gemm_problem.hpp>
#include <deep_gemm/csrc/problem/tensor_facts.hpp>
#include <deep_gemm/csrc/source/kernel_source.hpp>

namespace deep_gemm {

// An empty list is "any": every value that leads to a kernel of its own.
struct KernelWish {
  std::string op;
  std::string expr;                // of einsum; empty: each
  std::vector<std::int64_t> n, k;  // of contiguous tensors; both or neither
  std::vector<OutputType> d_types;
  std::vector<std::int64_t> gran_k;  // where n and k are given, empty is the published recipes'
  std::vector<std::int64_t> heads, head_dim, block_kv, next_n;

  bool is_any_size() const { return n.empty(); }
};

// Kernels, each once however many calls share it, in the order of their first mention.
class Kernels {
 public:
  void add(KernelSource source) {
    if (texts_.insert(source.text).second) sources_.push_back(std::move(source));
  }
  std::vector<KernelSource> take() { return std::move(sources_); }

 private:
  std::unordered_set<std::string> texts_;
  std::vector<KernelSource> sources_;
};

struct KernelSet {
  std::vector<std::string_view> ops;   // which pick from the same kernels where any size may come
  std::vector<std::string_view> keys;  // of a wish, beside op
  void (*add)(const KernelWish& wish, const DeviceTraits& traits, const Knobs& knobs,
              Kernels& kernels) = nullptr;
};

struct KernelSetRegistration {
  explicit KernelSetRegistration(KernelSet set);
};

// Throws InvalidArgument by rule when no family has that operator.
const KernelSet& kernel_set_of(std::string_view op);

// Of one operator, or of every one: op "all", for any sizes.
std::vector<KernelSource> kernel_set(const KernelWish& wish, const DeviceTraits& traits,
                                     const Knobs& knobs);

// ---- What families share ----

// Rows of a call, or batches: what tells apart one, an odd number and a multiple of all alignments.
inline constexpr std::int64_t kProbes[] = {1, 2, 128};

struct OperandTypes {
  ElementType a, b;
};

// Pairs that the name of a GEMM stands for.
std::vector<OperandTypes> operand_types(std::string_view op);
// Granularities of the scales along k; checked, or those of the published recipes.
std::vector<std::int64_t> granularities(const KernelWish& wish);
std::vector<OutputType> output_types(const KernelWish& wish);

// Two FP4 values share a byte along the last dimension. Rank 0: these sizes have no such tensor.
TensorFacts operand(ElementType type, std::initializer_list<std::int64_t> sizes);
DType dtype_of(OutputType type);

// Every kind of dense problem that the planner tells apart, for operands of these types, with sizes
// and strides that no alignment rule stops or, where it is of the kind, every one.
std::vector<GemmProblem> kinds_of_gemm(OperandTypes types, const std::vector<std::int64_t>& gran_k,
                                       const std::vector<OutputType>& d_types);

}  // namespace deep_gemm
