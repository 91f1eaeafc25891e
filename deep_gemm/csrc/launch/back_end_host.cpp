// The host's answers: the C++ compiler of this machine.
#include <deep_jit/runtime/precompile.hpp>

#include <deep_gemm/csrc/launch/back_end.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm {
namespace {

using deep_jit::json;

json doctor() {
  std::string why;
  const bool has_compiler = has_host_compiler(&why);
  const auto toolchain = deep_jit::host::search_compiler(host_jit().env);
  const deep_jit::host::Device device;
  json answer = json::object();
  answer["found"] = has_compiler;
  answer["compiler"] = deep_jit::str::join(toolchain.command, " ");
  answer["looked_at"] = json(toolchain.looked_at);
  answer["arch"] = device.get_arch();
  answer["isa"] = device.get_isa();
  answer["num_threads"] = device.get_num_threads();
  answer["reason"] = why;
  answer["fix"] = has_compiler ? ""
                               : "install g++ 11 or newer, or name one in " +
                                     host_jit().env.variable("JIT_HOST_COMPILER");
  return answer;
}

DeviceTraits traits(std::string_view arch) {
  return host_traits(arch, current_knobs().num_threads);
}

std::vector<KernelRow> precompile(const std::vector<KernelSource>& sources,
                                  const PrecompileWish& wish) {
  std::vector<deep_jit::KernelRequest<deep_jit::Host>> requests;
  for (const KernelSource& source : sources) {
    auto options = host_options(source, wish.arch);
    if (!wish.only.empty() &&
        wish.only.find(host_jit().cache_key(source.text, options)) == std::string::npos)
      continue;
    requests.push_back({source.name, source.text, std::move(options)});
  }
  std::vector<KernelRow> rows;
  if (wish.is_dry) {
    for (const auto& [name, text, options] : requests)
      rows.push_back({name, host_jit().cache_key(text, options),
                      host_jit().is_on_disk(name, text, options), 0, ""});
    return rows;
  }
  const auto report = deep_jit::precompile<deep_jit::Host>(host_jit(), requests, wish.num_threads);
  for (const auto& row : report.rows)
    rows.push_back({row.name, row.request, row.was_cached, row.ms, row.error});
  return rows;
}

}  // namespace

const BackEnd kHostBackEnd = {"host", "cpu", doctor, traits, precompile};

}  // namespace deep_gemm
