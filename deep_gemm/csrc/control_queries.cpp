#include <deep_gemm/csrc/control_queries.hpp>

#include <algorithm>
#include <filesystem>

#include <deep_gemm/csrc/control_answers.hpp>
#include <deep_gemm/csrc/control_describe.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/ops/describe.hpp>
#include <deep_gemm/csrc/plan/rules.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_gemm/csrc/utils/schemas.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm {
namespace {

using deep_jit::json;
using ops::Arguments;

json schemas(const Arguments&) {
  json list = json::array();
  for (std::size_t i = 0; i < kNumSchemas; ++i) list.push_back(kSchemas[i]);
  return list;
}

// Sums over the back ends.
json counters(const Arguments&) {
  const auto& host = host_jit().events.counters;
  const auto& cuda = cuda_jit().events.counters;
  json answer = json::object();
  answer["compiles"] = host.compiles.load() + cuda.compiles.load();
  answer["disk_hits"] = host.disk_hits.load() + cuda.disk_hits.load();
  answer["memory_hits"] = host.memory_hits.load() + cuda.memory_hits.load();
  answer["loads"] = host.loads.load() + cuda.loads.load();
  answer["compile_ms"] = host.compile_ms.load() + cuda.compile_ms.load();
  answer["load_ms"] = host.load_ms.load() + cuda.load_ms.load();
  return answer;
}

json counters_reset(const Arguments& arguments) {
  json answer = counters(arguments);
  host_jit().events.reset();
  cuda_jit().events.reset();
  return answer;
}

json jit_handle(const Arguments&) {
  json answer = json::object();
  answer["address"] = reinterpret_cast<std::uint64_t>(&host_jit());
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

json ship_kernels(const Arguments& arguments) {
  answers::require_keys("ship_kernels", arguments, {"dir"});
  const std::filesystem::path folder = answers::value_of(arguments, "dir");
  if (!folder.is_absolute())
    refuse(Rule::Described, {"ship_kernels", "dir", "\"" + folder.string() + "\""},
           {"an absolute path of a cache layer"});
  add_shipped_kernels(folder);
  return json::object();
}

struct Question {
  const char* name;
  json (*answer)(const Arguments&);
};

constexpr Question kQuestions[] = {
    {"schemas", schemas},
    {"counters", counters},
    {"counters_reset", counters_reset},
    {"supports", answers::supports},
    {"plan", answers::plan},
    {"precompile", answers::precompile},
    {"doctor", answers::doctor},
    {"jit_handle", jit_handle},
    {"ship_kernels", ship_kernels},
    {"cache_list", answers::cache_list},
    {"cache_verify", answers::cache_verify},
    {"cache_prune", answers::cache_prune},
    {"cache_pack", answers::cache_pack},
    {"cache_unpack", answers::cache_unpack},
    {"owner", owner},
};

}  // namespace

namespace answers {

std::string value_of(const Arguments& arguments, const char* key) {
  const auto it = arguments.find(key);
  return it == arguments.end() ? std::string() : it->second;
}

void require_keys(std::string_view query, const Arguments& arguments,
                  const std::vector<std::string_view>& keys) {
  for (const auto& [key, value] : arguments)
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      refuse(Rule::KnownKey, {query, key, value},
             {keys.empty() ? "none" : deep_jit::str::join(keys, ", ")});
}

}  // namespace answers

json answer_query(std::string_view what, std::string_view args) {
  for (const Question& question : kQuestions)
    if (what == question.name) return question.answer(ops::parse_arguments(args));
  std::string names;
  for (const Question& question : kQuestions)
    names += (names.empty() ? "" : ", ") + std::string(question.name);
  refuse(Rule::Described, {"query", "what", "\"" + std::string(what) + "\""}, {"one of " + names});
}

}  // namespace deep_gemm
