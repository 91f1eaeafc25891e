// What this machine offers, by back end, and where the cache is. Compiles nothing.
#include <algorithm>
#include <map>
#include <set>

#include <deep_gemm/csrc/control_answers.hpp>
#include <deep_gemm/csrc/kernel_set.hpp>
#include <deep_gemm/csrc/launch/back_end.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/utils/state.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm::answers {
namespace {

// Of every kernel that an operator may ask for on a GPU of that target.
std::set<std::string> requests_on(const std::string& target) {
  std::set<std::string> requests;
  deep_jit::cuda::CompilerOptions options;
  options.arch = target;
  KernelWish all;
  all.op = "all";
  for (const KernelSource& source : kernel_set(all, cuda_traits(target, 0), current_knobs()))
    requests.insert(cuda_jit().cache_key(source.text, options));
  return requests;
}

struct PackCount {
  std::size_t entries = 0, usable = 0, missing = 0, damaged = 0;
};

PackCount count(deep_jit::DiskCache& layer) {
  PackCount counted;
  std::map<std::string, std::set<std::string>> held;  // by target
  for (const auto& entry : layer.list()) {
    held[entry.manifest.target].insert(entry.manifest.request);
    ++counted.entries;
  }
  for (const auto& [target, requests] : held) {
    for (const std::string& wanted : requests_on(target))
      ++(requests.count(wanted) != 0 ? counted.usable : counted.missing);
  }
  return counted;
}

json pack_verdict(const std::filesystem::path& folder, bool is_on) {
  std::string reason, fix;
  const auto say = [&](const std::string& what, const std::string& way_out) {
    if (!reason.empty()) return;
    reason = what;
    fix = way_out;
  };
  if (!is_on) say("it is switched off", "unset " + host_jit().env.variable("JIT_SHIPPED_KERNELS"));
  deep_jit::DiskCache layer({.warn =
                                 [&](std::string_view text) {
                                   say(std::string(text),
                                       "make its files yours alone to write: chmod -R go-w " +
                                           folder.string());
                                 },
                             .shipped = {folder}});
  PackCount counted = count(layer);
  const auto problems = layer.verify();
  counted.damaged = problems.size();
  if (!problems.empty()) say(problems.front().why, "install the pack again");
  if (counted.entries == 0) say("there is no kernel in it", "install the pack again");
  if (counted.usable < counted.entries)
    say(deep_jit::str::format("{} of its {} kernels were made from other sources than this "
                              "package's, so their digests do not match",
                              counted.entries - counted.usable, counted.entries),
        "install the pack that was made with this version of the package");
  json answer = json::object();
  answer["dir"] = folder;
  answer["is_on"] = is_on;
  answer["entries"] = counted.entries;
  answer["usable"] = counted.usable;
  answer["missing"] = counted.missing;
  answer["damaged"] = counted.damaged;
  answer["reason"] = reason;
  answer["fix"] = fix;
  return answer;
}

}  // namespace

json doctor(const Arguments& arguments) {
  require_keys("doctor", arguments, {});
  json answer = json::object();
  for (const BackEnd& one : back_ends()) answer[one.name] = one.doctor();
  const auto& jit = host_jit();
  json dirs = json::array();
  for (const auto& dir : deep_jit::detail::cache_dirs(jit.env)) dirs.push_back(dir);
  const bool has_dirs = dirs.size() != 0;
  json packs = json::array();
  const bool is_on = jit.env.get_or<bool>("JIT_SHIPPED_KERNELS", true);
  for (const auto& folder : jit.config.shipped_kernels)
    packs.push_back(pack_verdict(folder, is_on));
  json cache = json::object();
  cache["dirs"] = std::move(dirs);
  cache["packs"] = std::move(packs);
  cache["entries"] = host_jit().disk_cache->list().size();
  cache["mode"] = jit.env.get_or("JIT_MODE", "allow");
  cache["reason"] = has_dirs ? "" : "there is no HOME: kernels are kept in memory only";
  cache["fix"] =
      has_dirs ? "" : "set " + jit.env.variable("JIT_CACHE_DIR") + " to a folder of yours";
  answer["cache"] = std::move(cache);
  answer["package_root"] = package_root();
  return answer;
}

}  // namespace deep_gemm::answers
