#include <deep_gemm/csrc/control_queries.hpp>

#include <charconv>

#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/ops/describe.hpp>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/source/gemm_source.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_gemm/csrc/utils/schemas.hpp>
#include <deep_gemm/csrc/utils/state.hpp>
#include <deep_jit/runtime/precompile.hpp>

namespace deep_gemm {
namespace {

using deep_jit::json;
using deep_jit::exception::Exception;
using ops::Arguments;

json schemas(const Arguments&) {
  json list = json::array();
  for (std::size_t i = 0; i < kNumSchemas; ++i) list.push_back(kSchemas[i]);
  return list;
}

json counters(const Arguments&) {
  const auto& c = host_jit().events.counters;
  json answer = json::object();
  answer["compiles"] = c.compiles.load();
  answer["disk_hits"] = c.disk_hits.load();
  answer["memory_hits"] = c.memory_hits.load();
  answer["loads"] = c.loads.load();
  answer["compile_ms"] = c.compile_ms.load();
  answer["load_ms"] = c.load_ms.load();
  return answer;
}

json counters_reset(const Arguments& arguments) {
  json answer = counters(arguments);
  host_jit().events.reset();
  return answer;
}

DeviceTraits traits_of(const ops::Description& call) {
  if (call.facts.a.device != DeviceKind::Cuda)
    return host_traits(call.arch, current_knobs().num_threads);
  DeviceTraits traits;
  traits.kind = DeviceTraits::Kind::Cuda;
  traits.arch = call.arch.empty() ? "of this device" : call.arch;
  return traits;
}

// Sizes of 0 launch nothing, so nothing is planned for them.
bool is_empty(const GemmProblem& p) { return p.m == 0 || p.n == 0 || p.k == 0; }

json supports(const Arguments& arguments) {
  json answer = json::object();
  answer["ok"] = true;
  answer["reason"] = "";
  answer["rule"] = "";
  try {
    const ops::Description call = ops::parse_description(arguments);
    const GemmProblem problem = ops::check_description(call);
    GemmProblem sized = problem;
    if (is_empty(problem)) sized.m = sized.n = sized.k = 1;
    plan_gemm(sized, traits_of(call), current_knobs(), call.op);
  } catch (const Exception& error) {
    answer["ok"] = false;
    answer["reason"] = error.message();
    answer["rule"] = error.condition();
    answer["kind"] = deep_jit::exception::kind_name(error.kind());
  }
  return answer;
}

json plan(const Arguments& arguments) {
  const ops::Description call = ops::parse_description(arguments);
  const GemmProblem problem = ops::check_description(call);
  json answer = json::object();
  if (is_empty(problem)) {
    answer["plan"] = "nothing to launch";
    answer["kernel"] = "";
    answer["source"] = "";
    return answer;
  }
  const GemmPlan chosen = plan_gemm(problem, traits_of(call), current_knobs(), call.op);
  const KernelSource source = source_of(chosen);
  answer["plan"] = to_line(chosen);
  answer["kernel"] = source.name;
  answer["source"] = source.text;
  return answer;
}

std::string value_of(const Arguments& arguments, const char* key) {
  const auto it = arguments.find(key);
  return it == arguments.end() ? std::string() : it->second;
}

// Sizes, dtypes of d and strides are run-time values: an operator has one kernel per pair of
// operand types and recipe, in the orientation that its name gives contiguous tensors.
std::vector<GemmProblem> kernels_of(std::string_view op) {
  const ops::GemmLayout layout = ops::layout_of(op);
  GemmProblem p;
  p.m = p.n = p.k = 128;
  p.a.major = layout.a_is_transposed ? Major::Mn : Major::K;
  p.b.major = layout.b_is_transposed ? Major::Mn : Major::K;
  if (op.substr(0, 4) == "bf16") return {p};
  p.a_scale.type = p.b_scale.type = ScaleType::F32;
  p.a.type = p.b.type = ElementType::E4m3;
  std::vector<GemmProblem> problems = {p};
  if (op.substr(0, 7) == "fp8_fp4") {
    p.b.type = ElementType::E2m1;
    p.b_scale.gran_k = 32;
    problems.push_back(p);
    p.b_scale.gran_k = 128;
    problems.push_back(p);
  }
  return problems;
}

json precompile(const Arguments& arguments) {
  const std::string op = value_of(arguments, "op"), arch = value_of(arguments, "arch");
  if (value_of(arguments, "device").substr(0, 4) == "cuda")
    refuse(Rule::NoKernelForDevice, {op, "device", "cuda"}, {"cuda"});
  std::vector<deep_jit::KernelRequest<deep_jit::Host>> requests;
  for (const GemmProblem& problem : kernels_of(op)) {
    for (const auto& config : reachable_host_configs(problem, host_traits(arch, 0))) {
      const KernelSource source = source_of(config);
      requests.push_back({source.name, source.text, host_options(source, arch)});
    }
  }
  json kernels = json::array(), failed = json::array();
  const std::uint64_t before = host_jit().events.counters.compiles.load();
  if (value_of(arguments, "dry_run") != "1") {
    unsigned num_threads = 0;
    const std::string text = value_of(arguments, "num_threads");
    std::from_chars(text.data(), text.data() + text.size(), num_threads);
    const auto report = deep_jit::precompile<deep_jit::Host>(host_jit(), requests, num_threads);
    for (const auto& failure : report.failures) {
      json row = json::object();
      row["name"] = failure.name;
      row["error"] = failure.message;
      failed.push_back(std::move(row));
    }
  }
  for (const auto& request : requests) {
    json row = json::object();
    row["name"] = request.name;
    row["request"] = host_jit().cache_key(request.source, request.options);
    kernels.push_back(std::move(row));
  }
  json answer = json::object();
  answer["kernels"] = std::move(kernels);
  answer["compiled"] = host_jit().events.counters.compiles.load() - before;
  answer["failed"] = std::move(failed);
  return answer;
}

json doctor(const Arguments&) {
  std::string why;
  const bool has_compiler = has_host_compiler(&why);
  const auto toolchain = deep_jit::host::search_compiler(host_jit().env);
  const deep_jit::host::Device device;
  json host = json::object(), cuda = json::object(), cache = json::object();
  host["found"] = has_compiler;
  host["looked_at"] = json(toolchain.looked_at);
  host["arch"] = device.get_arch();
  host["isa"] = device.get_isa();
  host["num_threads"] = device.get_num_threads();
  host["reason"] = has_compiler ? "" : why;
  host["fix"] = has_compiler ? "" : "install g++ 11 or newer, or name one in DG_JIT_HOST_COMPILER";
  cuda["found"] = false;
  cuda["reason"] = "this build has no CUDA kernels";
  cuda["fix"] = "call operators on cpu tensors";
  json dirs = json::array();
  for (const auto& dir : deep_jit::detail::cache_dirs(host_jit().env)) dirs.push_back(dir);
  cache["dirs"] = std::move(dirs);
  cache["entries"] = host_jit().disk_cache->list().size();
  json answer = json::object();
  answer["host"] = std::move(host);
  answer["cuda"] = std::move(cuda);
  answer["cache"] = std::move(cache);
  answer["package_root"] = package_root();
  return answer;
}

json jit_handle(const Arguments&) {
  json answer = json::object();
  answer["address"] = reinterpret_cast<std::uint64_t>(&host_jit());
  return answer;
}

json cache_list(const Arguments&) {
  json list = json::array();
  for (const auto& entry : host_jit().disk_cache->list()) {
    std::uint64_t bytes = 0;
    for (const auto& file : entry.manifest.files) bytes += file.size;
    json row = json::object();
    row["name"] = entry.manifest.name;
    row["request"] = entry.manifest.request;
    row["build"] = entry.manifest.build;
    row["target"] = entry.manifest.target;
    row["toolchain"] = entry.manifest.toolchain;
    row["bytes"] = bytes;
    row["dir"] = entry.dir;
    list.push_back(std::move(row));
  }
  return list;
}

json cache_verify(const Arguments&) {
  json damaged = json::array();
  for (const auto& problem : host_jit().disk_cache->verify())
    damaged.push_back(problem.dir.string() + ": " + problem.why);
  json answer = json::object();
  answer["checked"] = host_jit().disk_cache->list().size();
  answer["damaged"] = std::move(damaged);
  return answer;
}

json cache_prune(const Arguments& arguments) {
  std::uint64_t max_bytes = 0;
  const std::string text = value_of(arguments, "max_bytes");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), max_bytes);
  if (error != std::errc() || end != text.data() + text.size())
    refuse(Rule::Described, {"cache", "max_bytes", "\"" + text + "\""}, {"a number of bytes"});
  json answer = json::object();
  answer["removed"] = host_jit().disk_cache->prune(max_bytes);
  return answer;
}

std::filesystem::path file_of(const Arguments& arguments) {
  const std::string file = value_of(arguments, "file");
  if (file.empty()) refuse(Rule::Described, {"cache", "file", "nothing"}, {"the path of a pack"});
  return file;
}

json cache_pack(const Arguments& arguments) {
  const auto entries = host_jit().disk_cache->list();
  host_jit().disk_cache->pack(entries, file_of(arguments));
  json answer = json::object();
  answer["packed"] = entries.size();
  answer["file"] = file_of(arguments);
  return answer;
}

json cache_unpack(const Arguments& arguments) {
  json answer = json::object();
  answer["unpacked"] = host_jit().disk_cache->unpack(file_of(arguments));
  answer["file"] = file_of(arguments);
  return answer;
}

json owner(const Arguments&) {
  const Registry& r = registry();
  json answer = json::object();
  answer["namespace"] = r.ns;
  answer["is_owner"] = r.is_owner;
  answer["claimed_alias"] = r.claimed_alias;
  answer["error"] = r.error;
  answer["file"] = r.file;
  return answer;
}

struct Question {
  const char* name;
  json (*answer)(const Arguments&);
};

constexpr Question kQuestions[] = {
    {"schemas", schemas},
    {"counters", counters},
    {"counters_reset", counters_reset},
    {"supports", supports},
    {"plan", plan},
    {"precompile", precompile},
    {"doctor", doctor},
    {"jit_handle", jit_handle},
    {"cache_list", cache_list},
    {"cache_verify", cache_verify},
    {"cache_prune", cache_prune},
    {"cache_pack", cache_pack},
    {"cache_unpack", cache_unpack},
    {"owner", owner},
};

}  // namespace

json answer_query(std::string_view what, std::string_view args) {
  for (const Question& question : kQuestions)
    if (what == question.name) return question.answer(ops::parse_arguments(args));
  std::string names;
  for (const Question& question : kQuestions)
    names += (names.empty() ? "" : ", ") + std::string(question.name);
  refuse(Rule::Described, {"query", "what", "\"" + std::string(what) + "\""}, {"one of " + names});
}

}  // namespace deep_gemm
