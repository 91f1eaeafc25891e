// CUDA's answers: the driver, and the compilers that deep_jit finds.
#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <fstream>

#include <deep_jit/backend/cuda/toolkit_search.hpp>
#include <deep_jit/runtime/precompile.hpp>
#include <deep_jit/utils/exception.hpp>

#include <deep_gemm/csrc/launch/back_end.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/plan/gemm_plan.hpp>

namespace deep_gemm {
namespace {

using deep_jit::json;
namespace cuda = deep_jit::cuda;

DeviceTraits traits(std::string_view arch) { return cuda_traits(arch, 0); }

// The planner's own answer, so that this cannot be forgotten when it changes.
bool has_kernels() {
  GemmProblem problem;
  problem.m = problem.n = problem.k = 128;
  problem.a.stride_bytes = problem.b.stride_bytes = 256;
  problem.d_stride = 128;
  try {
    plan_gemm(problem, traits("90a"), Knobs{});
    return true;
  } catch (const deep_jit::exception::Exception& error) {
    return error.condition() != std::string_view("NO_KERNEL_FOR_DEVICE");
  }
}

// Models by the driver's own files. Why not cuDeviceGetName: initialising CUDA here would break it
// in every child that the caller forks later.
std::vector<std::string> devices() {
  const std::string root = "/proc/driver/nvidia/gpus";
  std::vector<std::string> folders, models;
  if (DIR* dir = opendir(root.c_str())) {
    while (const dirent* item = readdir(dir))
      if (item->d_name[0] != '.') folders.push_back(root + "/" + item->d_name + "/information");
    closedir(dir);
  }
  std::sort(folders.begin(), folders.end());
  for (const std::string& path : folders) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      if (line.compare(0, 6, "Model:") == 0)
        models.emplace_back(deep_jit::str::trim(std::string_view(line).substr(6)));
  }
  return models;
}

json driver_verdict(bool& is_found) {
  std::string why;
  is_found = cuda::driver::find_library(&why) != nullptr;
  json answer = json::object();
  answer["found"] = is_found;
  answer["serves"] = is_found ? "CUDA " + cuda::version_text(cuda::driver::version_or_zero()) : "";
  answer["devices"] = json(devices());
  answer["reason"] = is_found ? "" : "libcuda.so.1 does not load: " + why;
  answer["fix"] =
      is_found ? "" : "install the NVIDIA driver; in a container, start it with --gpus all";
  return answer;
}

// A name without a folder is the loader's business: asked by loading, which compiles nothing. NVRTC
// keeps threads, so what was loaded stays.
void ask_loader(cuda::Verdict& verdict) {
  for (cuda::Candidate& candidate : verdict.candidates) {
    if (!candidate.refused.empty() || candidate.path.has_parent_path()) continue;
    if (dlopen(candidate.path.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr)
      candidate.refused = "the loader does not find it";
  }
}

json tool_verdict(const cuda::Verdict& verdict) {
  const cuda::Candidate* best = verdict.chosen();
  json looked_at = json::array();
  for (const cuda::Candidate& candidate : verdict.candidates) {
    const std::string place = candidate.path.string() + " (" + candidate.origin + ")";
    looked_at.push_back(candidate.refused.empty() ? place + ": usable"
                                                  : place + ": refused, " + candidate.refused);
  }
  for (const std::string& place : verdict.not_there) looked_at.push_back(place + ": not there");
  json answer = json::object();
  answer["found"] = best != nullptr;
  answer["path"] = best == nullptr ? "" : best->path.string();
  answer["origin"] = best == nullptr ? "" : best->origin;
  answer["version"] = best == nullptr ? "" : cuda::version_text(best->version);
  answer["looked_at"] = std::move(looked_at);
  answer["reason"] = best == nullptr ? "no usable " + verdict.tool + " was found" : "";
  answer["fix"] = best == nullptr ? verdict.fix : "";
  return answer;
}

json doctor() {
  const auto& jit = host_jit();  // root, prefix and variables are the same for every back end
  const auto places = cuda::SearchPlaces::of_process(jit.config, jit.env);
  auto nvrtc = cuda::find_nvrtc(places);
  const auto nvcc = cuda::find_nvcc(places);
  ask_loader(nvrtc);
  bool has_driver = false;
  json driver = driver_verdict(has_driver);
  const bool has_compiler = nvrtc.chosen() != nullptr || nvcc.chosen() != nullptr;
  const bool is_built_in = has_kernels();
  json answer = json::object();
  answer["found"] = has_driver && has_compiler && is_built_in;
  answer["reason"] = !is_built_in    ? "no operator of this build has a CUDA plan yet"
                     : !has_driver   ? "there is no driver on this machine"
                     : !has_compiler ? "there is neither NVRTC nor nvcc; only packed kernels run"
                                     : "";
  answer["fix"] = !is_built_in  ? "call operators on cpu tensors"
                  : !has_driver ? "see driver"
                  : !has_compiler
                      ? "see nvrtc, or bring a pack: python -m deep_gemm cache unpack FILE"
                      : "";
  answer["driver"] = std::move(driver);
  answer["nvrtc"] = tool_verdict(nvrtc);
  answer["nvcc"] = tool_verdict(nvcc);
  return answer;
}

std::vector<KernelRow> precompile(const std::vector<KernelSource>& sources,
                                  const PrecompileWish& wish) {
  cuda::CompilerOptions options;
  if (!wish.arch.empty()) options.arch = wish.arch;
  std::vector<deep_jit::KernelRequest<deep_jit::CUDA>> requests;
  for (const KernelSource& source : sources) {
    if (!wish.only.empty() &&
        wish.only.find(cuda_jit().cache_key(source.text, options)) == std::string::npos)
      continue;
    requests.push_back({source.name, source.text, options});
  }
  std::vector<KernelRow> rows;
  if (wish.is_dry) {
    for (const auto& [name, text, wanted] : requests)
      rows.push_back({name, cuda_jit().cache_key(text, wanted),
                      cuda_jit().is_on_disk(name, text, wanted), 0, ""});
    return rows;
  }
  const auto report = deep_jit::precompile<deep_jit::CUDA>(cuda_jit(), requests, wish.num_threads);
  for (const auto& row : report.rows)
    rows.push_back({row.name, row.request, row.was_cached, row.ms, row.error});
  return rows;
}

}  // namespace

const BackEnd kCudaBackEnd = {"cuda", "cuda", doctor, traits, precompile};

}  // namespace deep_gemm
