#include <algorithm>

#include <deep_gemm/csrc/control_answers.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/ops/logits_describe.hpp>
#include <deep_gemm/csrc/plan/logits_plan.hpp>
#include <deep_gemm/csrc/source/logits_source.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::answers {

json plan_logits(const Arguments& arguments) {
  const ops::LogitsDescription call = ops::parse_logits_description(arguments);
  const LogitsProblem problem = ops::check_description(call);
  json answer = json::object();
  answer["plan"] = "nothing to launch";
  answer["kernel"] = "";
  answer["source"] = "";
  if (problem.is_empty() || problem.keys == 0) return answer;
  const TensorFacts& q = call.facts.q;
  const Knobs knobs = current_knobs();
  const DeviceTraits traits = q.device == DeviceKind::Cuda
                                  ? cuda_traits(call.arch, std::max(0, q.device_index))
                                  : host_traits(call.arch, knobs.num_threads);
  const LogitsPlan chosen = deep_gemm::plan_logits(problem, traits, knobs, call.op);
  const KernelSource source = source_of(chosen);
  answer["plan"] = to_line(chosen);
  answer["kernel"] = source.name;
  answer["source"] = source.text;
  return answer;
}

}  // namespace deep_gemm::answers
