#include <deep_gemm/csrc/control_describe.hpp>

#include <algorithm>

#include <deep_gemm/csrc/described.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::answers {
namespace {

DeviceTraits traits_of(const ops::Description& call) {
  if (call.placement.device == DeviceKind::Cuda)
    return cuda_traits(call.arch, std::max(0, call.placement.device_index));
  return host_traits(call.arch, current_knobs().num_threads);
}

DescribedPlan planned(const ops::Arguments& arguments) {
  const auto op = arguments.find("op");
  const Family& family = family_of(op == arguments.end() ? "" : op->second);
  const ops::Description call = ops::parse_description(arguments, family.keys);
  return family.plan(call, traits_of(call), current_knobs());
}

}  // namespace

deep_jit::json supports(const ops::Arguments& arguments) {
  deep_jit::json answer = deep_jit::json::object();
  answer["ok"] = true;
  answer["reason"] = "";
  answer["rule"] = "";
  try {
    planned(arguments);
  } catch (const deep_jit::exception::Exception& error) {
    answer["ok"] = false;
    answer["reason"] = error.message();
    answer["rule"] = error.condition();
    answer["kind"] = deep_jit::exception::kind_name(error.kind());
  }
  return answer;
}

deep_jit::json plan(const ops::Arguments& arguments) {
  const DescribedPlan chosen = planned(arguments);
  deep_jit::json answer = deep_jit::json::object();
  answer["plan"] = chosen.line.empty() ? "nothing to launch" : chosen.line;
  answer["kernel"] = chosen.source.name;
  answer["source"] = chosen.source.text;
  return answer;
}

}  // namespace deep_gemm::answers
