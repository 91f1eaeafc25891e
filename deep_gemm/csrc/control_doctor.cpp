// What this machine offers, by back end, and where the cache is. Compiles nothing.
#include <deep_gemm/csrc/control_answers.hpp>
#include <deep_gemm/csrc/launch/back_end.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm::answers {

json doctor(const Arguments& arguments) {
  require_keys("doctor", arguments, {});
  json answer = json::object();
  for (const BackEnd& one : back_ends()) answer[one.name] = one.doctor();
  const auto& jit = host_jit();
  json dirs = json::array();
  for (const auto& dir : deep_jit::detail::cache_dirs(jit.env)) dirs.push_back(dir);
  const bool has_dirs = dirs.size() != 0;
  json cache = json::object();
  cache["dirs"] = std::move(dirs);
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
