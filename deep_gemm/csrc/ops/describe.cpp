#include <deep_gemm/csrc/ops/describe.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm::ops {
namespace {

namespace str = deep_jit::str;

constexpr std::string_view kOps[] = {"fp8_gemm_nt",     "fp8_gemm_nn",     "fp8_gemm_tn",
                                     "fp8_gemm_tt",     "fp8_fp4_gemm_nt", "fp8_fp4_gemm_nn",
                                     "fp8_fp4_gemm_tn", "fp8_fp4_gemm_tt", "bf16_gemm_nt",
                                     "bf16_gemm_nn",    "bf16_gemm_tn",    "bf16_gemm_tt"};

constexpr std::string_view kKeys[] = {"op",      "a",        "a_scale",  "b",
                                      "b_scale", "d",        "c",        "gran_m",
                                      "gran_n",  "gran_k_a", "gran_k_b", "disable_ue8m0_cast",
                                      "alpha",   "device",   "arch"};

bool parse_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// "64x256": how many numbers, or -1.
int parse_list(std::string_view text, std::array<std::int64_t, kMaxRank>& values) {
  int count = 0;
  bool is_ok = true;
  if (text.empty()) return 0;
  str::split(text, 'x', [&](std::string_view part) {
    is_ok =
        is_ok && count < kMaxRank && parse_number(part, values[static_cast<std::size_t>(count)]);
    ++count;
  });
  return is_ok ? count : -1;
}

void parse_device(std::string_view text, TensorFacts& facts) {
  if (text == "meta") facts.device = DeviceKind::Meta;
  if (text.substr(0, 4) != "cuda") return;
  facts.device = DeviceKind::Cuda;
  std::int64_t index = -1;
  if (text.size() > 5) parse_number(text.substr(5), index);
  facts.device_index = static_cast<int>(index);
}

std::int64_t number_of(const Arguments& arguments, const char* key) {
  const auto it = arguments.find(key);
  std::int64_t number = 0;
  if (it != arguments.end() && !parse_number(it->second, number))
    refuse(Rule::Described, {"supports", key, it->second}, {"a whole number"});
  return number;
}

}  // namespace

Arguments parse_arguments(std::string_view text) {
  Arguments arguments;
  str::split(text, '\n', [&](std::string_view line) {
    if (str::trim(line).empty()) return;
    const std::size_t at = line.find('=');
    if (at == std::string_view::npos)
      refuse(Rule::Described, {"query", "args", std::string(line)}, {"a line is key=value"});
    arguments[std::string(str::trim(line.substr(0, at)))] = str::trim(line.substr(at + 1));
  });
  return arguments;
}

TensorFacts parse_tensor(std::string_view op, std::string_view name, std::string_view text,
                         std::string_view default_device) {
  std::string_view parts[3] = {};
  std::string_view device = default_device;
  std::string_view rest = text;
  for (auto& part : parts) {
    const std::size_t end = rest.find(':');
    part = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  if (!rest.empty()) device = rest;
  TensorFacts facts;
  facts.dtype = dtype_from_name(parts[0]);
  facts.rank = parse_list(parts[1], facts.sizes);
  if (facts.rank < 0 || parse_list(parts[2], facts.strides) != facts.rank)
    refuse(Rule::Described, {op, name, std::string(text)},
           {"a tensor is dtype:sizes:strides, as in float32:64x2:2x1"});
  parse_device(device, facts);
  return facts;
}

Description parse_description(const Arguments& arguments) {
  Description call;
  const auto get = [&](const char* key) {
    const auto it = arguments.find(key);
    return it == arguments.end() ? std::string() : it->second;
  };
  call.op = get("op");
  if (std::find(std::begin(kOps), std::end(kOps), call.op) == std::end(kOps))
    refuse(Rule::KnownOp, {"supports", "op", "\"" + call.op + "\""}, {str::join(kOps, ", ")});
  for (const auto& [key, value] : arguments)
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
      refuse(Rule::KnownKey, {call.op, key, value}, {str::join(kKeys, ", ")});
  call.arch = get("arch");
  call.is_scaled = call.op.substr(0, 4) != "bf16";
  GemmFacts& f = call.facts;
  f.layout = layout_of(call.op);
  const std::string device = get("device");
  const auto tensor = [&](const char* name) {
    return parse_tensor(call.op, name, get(name), device);
  };
  f.a = tensor("a");
  f.b = tensor("b");
  f.d = tensor("d");
  if (call.is_scaled) {
    f.a_scale = tensor("a_scale");
    f.b_scale = tensor("b_scale");
  }
  if (const std::string c = get("c"); !c.empty() && c != "None") f.c = tensor("c");
  f.recipe = {number_of(arguments, "gran_m"), number_of(arguments, "gran_n"),
              number_of(arguments, "gran_k_a"), number_of(arguments, "gran_k_b")};
  f.has_alpha = !get("alpha").empty() && get("alpha") != "None";
  return call;
}

GemmProblem check_description(const Description& call) {
  GemmFacts facts = call.facts;
  facts.op = call.op;
  return call.is_scaled ? check_scaled_gemm(facts) : check_bf16_gemm(facts);
}

}  // namespace deep_gemm::ops
