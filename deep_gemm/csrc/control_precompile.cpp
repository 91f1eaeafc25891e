// The question `precompile`: what an operator needs, compiled ahead of the first call.
#include <charconv>
#include <vector>

#include <deep_gemm/csrc/control_answers.hpp>
#include <deep_gemm/csrc/kernel_set.hpp>
#include <deep_gemm/csrc/launch/back_end.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::answers {
namespace {

namespace str = deep_jit::str;

[[noreturn]] void refuse_value(const std::string& op, std::string_view key,
                               const std::string& given, const char* form) {
  refuse(Rule::Described, {op, key, "\"" + given + "\""}, {form});
}

std::vector<std::int64_t> numbers_of(const Arguments& arguments, const std::string& op,
                                     const char* key) {
  std::vector<std::int64_t> numbers;
  const auto found = arguments.find(key);
  if (found == arguments.end()) return numbers;
  const std::string& text = found->second;
  if (text.empty()) refuse_value(op, key, "", "one size at least");
  str::split(text, ',', [&](std::string_view part) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size() || number <= 0)
      refuse_value(op, key, text, "sizes are whole numbers above 0, as in 512,7168");
    numbers.push_back(number);
  });
  return numbers;
}

std::vector<OutputType> outputs_of(const Arguments& arguments, const std::string& op) {
  std::vector<OutputType> types;
  const std::string text = value_of(arguments, "dtypes");
  if (text.empty()) return types;
  str::split(text, ',', [&](std::string_view part) {
    if (part != "bfloat16" && part != "float32") refuse(Rule::DtypeOut, {op, "dtypes", text});
    types.push_back(part == "float32" ? OutputType::F32 : OutputType::Bf16);
  });
  return types;
}

KernelWish read_wish(const Arguments& arguments) {
  KernelWish wish;
  wish.op = value_of(arguments, "op");
  std::vector<std::string_view> keys;
  if (wish.op != "all") keys = kernel_set_of(wish.op).keys;
  keys.insert(keys.end(), {"op", "device", "arch", "num_threads", "dry_run", "only"});
  require_keys("precompile " + wish.op, arguments, keys);
  wish.expr = value_of(arguments, "expr");
  wish.d_types = outputs_of(arguments, wish.op);
  const auto numbers = [&](const char* key) { return numbers_of(arguments, wish.op, key); };
  wish.n = numbers("n");
  wish.k = numbers("k");
  wish.gran_k = numbers("gran_k");
  wish.heads = numbers("heads");
  wish.head_dim = numbers("head_dim");
  wish.block_kv = numbers("block_kv");
  wish.next_n = numbers("next_n");
  if (wish.n.empty() != wish.k.empty())
    refuse_value(wish.op, wish.n.empty() ? "n" : "k", "", "n and k go together, or neither");
  return wish;
}

}  // namespace

json precompile(const Arguments& arguments) {
  const KernelWish sought = read_wish(arguments);
  const BackEnd& back_end = back_end_of(value_of(arguments, "device"));
  PrecompileWish wish;
  wish.arch = value_of(arguments, "arch");
  wish.is_dry = value_of(arguments, "dry_run") == "1";
  wish.only = value_of(arguments, "only");
  const std::string threads = value_of(arguments, "num_threads");
  std::from_chars(threads.data(), threads.data() + threads.size(), wish.num_threads);
  const auto sources = kernel_set(sought, back_end.traits(wish.arch), current_knobs());
  if (back_end.precompile == nullptr)
    refuse(Rule::NoKernelForDevice, {sought.op, "device", std::string(back_end.device)},
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
