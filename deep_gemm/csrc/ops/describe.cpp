#include <deep_gemm/csrc/ops/describe.hpp>

#include <algorithm>
#include <charconv>

#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm::ops {
namespace {

namespace str = deep_jit::str;

bool parse_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// "64x256"; nothing where a part is no number.
std::optional<std::vector<std::int64_t>> parse_list(std::string_view text) {
  std::vector<std::int64_t> values;
  bool is_ok = true;
  if (text.empty()) return values;
  str::split(text, 'x', [&](std::string_view part) {
    std::int64_t value = 0;
    is_ok = is_ok && parse_number(part, value);
    values.push_back(value);
  });
  return is_ok ? std::optional(std::move(values)) : std::nullopt;
}

void parse_device(std::string_view text, TensorFacts& facts) {
  if (text == "meta") facts.device = DeviceKind::Meta;
  if (text.substr(0, 4) != "cuda") return;
  facts.device = DeviceKind::Cuda;
  std::int64_t index = -1;
  if (text.size() > 5) parse_number(text.substr(5), index);
  facts.device_index = static_cast<int>(index);
}

bool put(const std::optional<std::vector<std::int64_t>>& values,
         std::array<std::int64_t, kMaxRank>& into) {
  if (!values || values->size() > static_cast<std::size_t>(kMaxRank)) return false;
  std::copy(values->begin(), values->end(), into.begin());
  return true;
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
  const auto sizes = parse_list(parts[1]), strides = parse_list(parts[2]);
  if (!put(sizes, facts.sizes) || !put(strides, facts.strides) || sizes->size() != strides->size())
    refuse(Rule::Described, {op, name, std::string(text)},
           {"a tensor is dtype:sizes:strides, as in float32:64x2:2x1"});
  facts.rank = static_cast<int>(sizes->size());
  parse_device(device, facts);
  return facts;
}

std::string value_of(const Arguments& arguments, std::string_view key) {
  const auto it = arguments.find(key);
  return it == arguments.end() || it->second == "None" ? std::string() : it->second;
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

bool Description::has(std::string_view key) const { return !value_of(arguments, key).empty(); }

TensorFacts Description::tensor(std::string_view key) const {
  return parse_tensor(op, key, value_of(arguments, key), value_of(arguments, "device"));
}

std::optional<TensorFacts> Description::optional_tensor(std::string_view key) const {
  return has(key) ? std::optional(tensor(key)) : std::nullopt;
}

std::int64_t Description::number(std::string_view key, std::int64_t otherwise) const {
  const std::string text = value_of(arguments, key);
  std::int64_t number = otherwise;
  if (!text.empty() && !parse_number(text, number))
    refuse(Rule::Described, {"supports", key, text}, {"a whole number"});
  return number;
}

std::optional<std::vector<std::int64_t>> Description::numbers(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  const std::string text = value_of(arguments, key);
  auto values = parse_list(text);
  if (!values) refuse(Rule::Described, {"supports", key, text}, {"whole numbers, as in 512x256"});
  return values;
}

Description parse_description(const Arguments& arguments,
                              const std::vector<std::string_view>& keys) {
  Description call;
  call.arguments = arguments;
  call.op = value_of(arguments, "op");
  call.arch = value_of(arguments, "arch");
  std::vector<std::string_view> all = {"op", "device", "arch"};
  all.insert(all.end(), keys.begin(), keys.end());
  for (const auto& [key, value] : arguments)
    if (std::find(all.begin(), all.end(), key) == all.end())
      refuse(Rule::KnownKey, {call.op, key, value}, {str::join(all, ", ")});
  // Of the first tensor that names its device: all are on one, or the checks will say so.
  parse_device(value_of(arguments, "device"), call.placement);
  for (const std::string_view key : keys) {
    const std::string text = value_of(arguments, key);
    if (std::count(text.begin(), text.end(), ':') < 2) continue;
    call.placement = call.tensor(key);
    break;
  }
  return call;
}

}  // namespace deep_gemm::ops
