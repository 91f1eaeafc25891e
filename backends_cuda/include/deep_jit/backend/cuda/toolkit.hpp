// Where NVRTC and nvcc come from: every place looked at, in order, with what was found there.
//
//   auto places = cuda::SearchPlaces::of_process(config, env);
//   cuda::Verdict nvrtc = cuda::find_nvrtc(places);      // opens files, loads and spawns nothing
//   if (const cuda::Candidate* best = nvrtc.chosen()) use(best->path);
//   puts(nvrtc.print().c_str());                         // the same, in words, with the way out
//
// Order: variable of the embedding library, CUDA_HOME, CUDA_PATH, pip `nvidia/*` of the running
// Python, conda, nvcc's toolkit on PATH, default folders, the loader's path (NVRTC).
// Leaves loading and compiling to compiler_nvrtc.hpp and compiler_nvcc.hpp.
#pragma once

#include <dirent.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <deep_jit/backend/cuda/driver.hpp>
#include <deep_jit/backend/cuda/elf_build_id.hpp>
#include <deep_jit/runtime/config.hpp>
#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

// 12.8 is the first release whose two compilers take every option that options.hpp emits.
inline constexpr int kOldestToolkit = 12080;  // as CUDA_VERSION counts

inline std::string version_text(int version) {
  return version == 0 ? "unknown version"
                      : str::format("{}.{}", version / 1000, version % 1000 / 10);
}

struct Candidate {
  std::string origin;                               // "CUDA_HOME", "pip nvidia/cu13"
  std::filesystem::path path;                       // library or nvcc; empty: the loader's search
  std::vector<std::filesystem::path> include_dirs;  // of the toolkit's own headers, may be empty
  int version = 0;                                  // 13000; 0: only a load or a spawn can tell
  std::string refused;                              // empty: usable
};

struct Verdict {
  std::string tool;                    // "NVRTC", "nvcc"
  std::vector<Candidate> candidates;   // in order of preference
  std::vector<std::string> not_there;  // places without the tool
  std::string fix;

  const Candidate* chosen() const {
    for (const Candidate& candidate : candidates)
      if (candidate.refused.empty()) return &candidate;
    return nullptr;
  }
  std::string print() const {
    const Candidate* best = chosen();
    std::string text = str::format("{}: ", tool);
    text += best == nullptr ? "none is usable\n"
                            : str::format("{} ({}, {})\n", best->path.string(), best->origin,
                                          version_text(best->version));
    for (const Candidate& candidate : candidates) {
      if (!candidate.refused.empty()) {
        text += str::format("  refused: {} ({}): {}\n", candidate.path.string(), candidate.origin,
                            candidate.refused);
      }
    }
    for (const std::string& place : not_there) text += str::format("  not in {}\n", place);
    if (best == nullptr) text += str::format("  Fix: {}\n", fix);
    return text;
  }
};

struct SearchPlaces {
  struct Root {
    std::string origin;
    std::filesystem::path path;
  };
  std::filesystem::path nvcc_override;   // <PREFIX>_JIT_NVCC_COMPILER: a file
  std::filesystem::path nvrtc_override;  // <PREFIX>_JIT_NVRTC_LIBRARY: a file or its folder
  std::vector<Root> named_roots;         // CUDA_HOME, CUDA_PATH
  std::vector<std::filesystem::path> site_dirs;
  std::filesystem::path conda_root;
  std::vector<std::filesystem::path> path_dirs;
  std::vector<Root> default_roots;
  bool ask_loader = true;
  int driver_version = 0;  // 0: no driver, any compiler will do

  static SearchPlaces of_process(const Config& config, const Env& env);
};

namespace detail {

inline std::string getenv_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

inline std::vector<std::filesystem::path> split_path_list(const std::string& list) {
  std::vector<std::filesystem::path> dirs;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    if (end > at) dirs.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
  return dirs;
}

// Sorted, so that a choice does not hang on the order of a folder; empty where there is none. Why
// names are compared first: a toolkit's lib has hundreds of files, and paths are dear to make.
inline std::vector<std::filesystem::path> list_dir(const std::filesystem::path& dir,
                                                   std::string_view prefix = {}) {
  std::vector<std::filesystem::path> entries;
  DIR* const folder = opendir(dir.c_str());
  if (folder == nullptr) return entries;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name.substr(0, prefix.size()) == prefix)
      entries.push_back(dir / name);
  }
  closedir(folder);
  std::sort(entries.begin(), entries.end());
  return entries;
}

inline bool has_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

inline void add_unique(std::vector<std::filesystem::path>& dirs, const std::filesystem::path& dir) {
  if (has_file(dir / "nvidia") && std::find(dirs.begin(), dirs.end(), dir) == dirs.end())
    dirs.push_back(dir);
}

// "/a/site-packages" of "/a/site-packages/torch/lib/libtorch.so"; empty when there is none.
inline std::filesystem::path site_dir_of(std::string_view file) {
  for (const std::string_view marker : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = file.find(marker);
    if (at != std::string_view::npos) return file.substr(0, at + marker.size() - 1);
  }
  return {};
}

// "/venv/lib/python3.12/site-packages" and its like below an environment's root.
inline void add_python_sites(std::vector<std::filesystem::path>& dirs,
                             const std::filesystem::path& root) {
  for (const auto& python : list_dir(root / "lib")) add_unique(dirs, python / "site-packages");
}

// The folder above bin/ of the program as it was called: a virtual environment's python is a link,
// and only its own name leads to the environment.
inline std::filesystem::path program_root(const std::vector<std::filesystem::path>& path_dirs) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string name;
  std::getline(file, name, '\0');
  if (name.find('/') != std::string::npos)
    return std::filesystem::path(name).parent_path().parent_path();
  for (const auto& dir : path_dirs)
    if (has_file(dir / name)) return dir.parent_path();
  return {};
}

// Why loaded objects: they name the site folder of the Python that runs, without calling Python.
inline int collect_site_dir(dl_phdr_info* info, std::size_t, void* out) {
  if (info->dlpi_name != nullptr) {
    const std::filesystem::path dir = site_dir_of(info->dlpi_name);
    if (!dir.empty()) add_unique(*static_cast<std::vector<std::filesystem::path>*>(out), dir);
  }
  return 0;
}

inline int parse_version(std::string_view text) {
  int major = 0, minor = 0;
  std::size_t at = 0;
  const auto number = [&](int& out) {
    const std::size_t start = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && at - start < 6)
      out = out * 10 + (text[at++] - '0');
    return at > start;
  };
  if (!number(major)) return 0;
  if (at >= text.size() || text[at++] != '.' || !number(minor)) return 0;
  return major * 1000 + minor * 10;
}

// CUDA_VERSION of a header folder: the toolkit's release without running anything.
inline int header_version(const std::filesystem::path& include_dir) {
  std::ifstream file(include_dir / "cuda.h");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kDefine = "#define CUDA_VERSION ";
    if (line.compare(0, kDefine.size(), kDefine) == 0)
      return std::atoi(line.c_str() + kDefine.size());
  }
  return 0;
}

inline std::vector<std::filesystem::path> toolkit_include_dirs(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> dirs;
  for (const char* below :
       {"include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"}) {
    if (!has_file(root / below / "cuda_runtime_api.h")) continue;
    dirs.push_back(root / below);
    if (has_file(root / below / "cccl")) dirs.push_back(root / below / "cccl");
    break;
  }
  return dirs;
}

}  // namespace detail

inline SearchPlaces SearchPlaces::of_process(const Config& config, const Env& env) {
  SearchPlaces places;
  places.nvcc_override = env.get<std::string>("JIT_NVCC_COMPILER").value_or("");
  places.nvrtc_override = env.get<std::string>("JIT_NVRTC_LIBRARY").value_or("");
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string root = detail::getenv_text(name);
    if (!root.empty()) places.named_roots.push_back({name, root});
  }
  detail::add_unique(places.site_dirs,
                     std::filesystem::path(config.python_library_root).parent_path());
  dl_iterate_phdr(detail::collect_site_dir, &places.site_dirs);
  for (const auto& dir : detail::split_path_list(detail::getenv_text("PYTHONPATH")))
    detail::add_unique(places.site_dirs, dir);
  const std::string venv = detail::getenv_text("VIRTUAL_ENV");
  if (!venv.empty()) detail::add_python_sites(places.site_dirs, venv);
  places.conda_root = detail::getenv_text("CONDA_PREFIX");
  places.path_dirs = detail::split_path_list(detail::getenv_text("PATH"));
  const auto program = detail::program_root(places.path_dirs);
  if (!program.empty()) detail::add_python_sites(places.site_dirs, program);
  places.default_roots = {{"/usr/local/cuda", "/usr/local/cuda"}, {"/opt/cuda", "/opt/cuda"}};
  places.driver_version = driver::version_or_zero();
  return places;
}

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
