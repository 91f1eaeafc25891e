#include <deep_gemm/csrc/ops/logits_describe.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm::ops {
namespace {

constexpr std::string_view kOps[] = {"fp8_mqa_logits", "fp8_fp4_mqa_logits", "fp8_paged_mqa_logits",
                                     "fp8_fp4_paged_mqa_logits"};

constexpr std::string_view kKeys[] = {
    "op",          "q",           "q_scale",      "kv",          "kv_scale",      "weights",
    "starts",      "ends",        "kv_cache",     "context_lens", "block_table",
    "schedule_meta", "indices",   "width",        "clean_logits", "bf16_logits",  "device",
    "arch"};

}  // namespace

bool is_logits(std::string_view op) {
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

LogitsDescription parse_logits_description(const Arguments& arguments) {
  LogitsDescription call;
  const auto get = [&](const char* key) {
    const auto it = arguments.find(key);
    return it == arguments.end() ? std::string() : it->second;
  };
  call.op = get("op");
  for (const auto& [key, value] : arguments)
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
      refuse(Rule::KnownKey, {call.op, key, value}, {deep_jit::str::join(kKeys, ", ")});
  const auto tensor = [&](const char* name) {
    return parse_tensor(call.op, name, get(name), get("device"));
  };
  const auto optional = [&](const char* name) -> std::optional<TensorFacts> {
    const std::string text = get(name);
    if (text.empty() || text == "None") return std::nullopt;
    return tensor(name);
  };
  const bool is_paged = call.op.find("paged") != std::string::npos;
  LogitsFacts& f = call.facts;
  f.q = tensor("q");
  f.q_scale = optional("q_scale");
  f.weights = tensor("weights");
  if (is_paged) {
    f.kv = tensor("kv_cache");
    f.ends = tensor("context_lens");
    f.table = tensor("block_table");
    f.schedule = tensor("schedule_meta");
    f.indices = optional("indices");
  } else {
    f.kv = tensor("kv");
    f.kv_scale = tensor("kv_scale");
    f.starts = tensor("starts");
    f.ends = tensor("ends");
  }
  const std::string width = get("width");
  const auto [end, error] = std::from_chars(width.data(), width.data() + width.size(), f.width);
  if (error != std::errc() || end != width.data() + width.size())
    refuse(Rule::Described, {"supports", "width", width}, {"a whole number"});
  f.clean_logits = get("clean_logits") == "1";
  f.bf16_logits = get("bf16_logits") == "1";
  call.arch = get("arch");
  return call;
}

LogitsProblem check_description(const LogitsDescription& call) {
  LogitsFacts facts = call.facts;
  facts.op = call.op;
  const bool is_paged = call.op.find("paged") != std::string::npos;
  return is_paged ? check_paged_mqa_logits(facts) : check_mqa_logits(facts);
}

}  // namespace deep_gemm::ops
