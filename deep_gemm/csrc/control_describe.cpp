#include <deep_gemm/csrc/control_describe.hpp>

#include <algorithm>

#include <deep_gemm/csrc/described.hpp>
#include <deep_gemm/csrc/launch/back_end.hpp>
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

// A described call with the machine where it would run.
struct Described {
  ops::Description call;
  DeviceTraits traits;
  DescribedPlan plan;
};

Described planned(const ops::Arguments& arguments) {
  const auto op = arguments.find("op");
  const Family& family = family_of(op == arguments.end() ? "" : op->second);
  Described described;
  described.call = ops::parse_description(arguments, family.keys);
  described.traits = traits_of(described.call);
  described.plan = family.plan(described.call, described.traits, current_knobs());
  return described;
}

// The digest by which a cache knows the kernel.
std::string request_of(const Described& described) {
  PrecompileWish look;
  look.arch = described.traits.is_cuda() ? described.traits.arch : described.call.arch;
  look.is_dry = true;
  const BackEnd& back_end = back_end_of(described.traits.is_cuda() ? "cuda" : "cpu");
  return back_end.precompile({described.plan.source}, look).front().request;
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
  const Described described = planned(arguments);
  const DescribedPlan& chosen = described.plan;
  deep_jit::json answer = deep_jit::json::object();
  answer["plan"] = chosen.line.empty() ? "nothing to launch" : chosen.line;
  answer["kernel"] = chosen.source.name;
  answer["source"] = chosen.source.text;
  answer["request"] = chosen.source.text.empty() ? "" : request_of(described);
  return answer;
}

}  // namespace deep_gemm::answers
