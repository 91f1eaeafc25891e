// Turns the places of toolkit.hpp into candidates: which NVRTC libraries and nvcc programs are
// there, which of them can serve, and why the others cannot.
//
//   cuda::find_nvrtc(places).chosen()->path      // .../nvidia/cu13/lib/libnvrtc.so.13
//   cuda::find_nvcc(places).print()              // "nvcc: /usr/local/cuda/bin/nvcc (PATH, 13.0)"
//
// Opens files, loads nothing, spawns nothing. A version of 0 is left to the compiler to find out
// (compiler_nvcc.hpp, compiler_nvrtc.hpp), which then refuse the candidate in the same verdict.
#pragma once

#include <deep_jit/backend/cuda/toolkit.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

namespace detail {
// std::stable_partition of GCC 12's library is refused by Clang 19.
template <class T, class Passes>
void put_first(std::vector<T>& items, const Passes& passes) {
  std::vector<T> others;
  std::size_t count = 0;
  for (T& item : items) {
    if (!passes(item)) {
      others.push_back(std::move(item));
    } else if (T& place = items[count++]; &place != &item) {
      place = std::move(item);
    }
  }
  std::move(others.begin(), others.end(), items.begin() + static_cast<std::ptrdiff_t>(count));
}

inline void refuse_if_old(Candidate& candidate) {
  if (candidate.version != 0 && candidate.version < kOldestToolkit) {
    candidate.refused = str::format("release {} is older than {}", version_text(candidate.version),
                                    version_text(kOldestToolkit));
  }
}

// A release serves drivers of its own major and newer ones: what an older driver cannot load goes
// to the end, not away, since there may be nothing else and the driver has the last word.
inline void prefer_driver_major(Verdict& verdict, int driver_version) {
  if (driver_version == 0) return;
  put_first(verdict.candidates, [&](const Candidate& candidate) {
    return candidate.version / 1000 <= driver_version / 1000;
  });
}

// libnvrtc.so.13, libnvrtc.so.12, ... of one folder, newest first. The plain libnvrtc.so counts
// only without a numbered neighbour (they are one file then).
inline std::vector<std::filesystem::path> nvrtc_files(const std::filesystem::path& dir) {
  constexpr std::string_view kStem = "libnvrtc.so";
  std::vector<std::pair<int, std::filesystem::path>> numbered;
  for (const auto& path : list_dir(dir, kStem)) {
    const std::string rest = path.filename().string().substr(kStem.size());
    if (rest.size() < 2 || rest.find_first_not_of("0123456789", 1) != std::string::npos) continue;
    numbered.emplace_back(std::atoi(rest.c_str() + 1), path);
  }
  std::sort(numbered.begin(), numbered.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::filesystem::path> files;
  for (auto& entry : numbered) files.push_back(std::move(entry.second));
  if (files.empty() && has_file(dir / kStem)) files.push_back(dir / kStem);
  return files;
}

// The release is in the name of the builtins library beside it, or of the file a link leads to.
inline int nvrtc_version(const std::filesystem::path& library) {
  constexpr std::string_view kBuiltins = "libnvrtc-builtins.so.";
  constexpr std::string_view kStem = "libnvrtc.so.";
  std::error_code error;
  const std::string real = std::filesystem::canonical(library, error).filename().string();
  const std::string major = library.filename().string().substr(
      std::min(library.filename().string().size(), kStem.size()));
  if (!error && real.compare(0, kStem.size(), kStem) == 0) {
    if (const int version = parse_version(real.substr(kStem.size()))) return version;
  }
  int newest = 0;
  for (const auto& path : list_dir(library.parent_path(), kBuiltins)) {
    const int version = parse_version(path.filename().string().substr(kBuiltins.size()));
    if (major.empty() || version / 1000 == std::atoi(major.c_str()))
      newest = std::max(newest, version);
  }
  return newest;
}

inline Candidate nvrtc_candidate(std::string origin, const std::filesystem::path& library,
                                 std::vector<std::filesystem::path> include_dirs) {
  Candidate candidate{std::move(origin), library, std::move(include_dirs), 0, {}};
  if (!is_elf64(library)) {
    candidate.refused = "not a 64-bit ELF library, or not readable";
    return candidate;
  }
  candidate.version = nvrtc_version(library);
  refuse_if_old(candidate);
  return candidate;
}

inline void add_nvrtc_dir(Verdict& verdict, const std::string& origin,
                          const std::vector<std::filesystem::path>& dirs,
                          const std::vector<std::filesystem::path>& include_dirs) {
  bool found = false;
  for (const auto& dir : dirs) {
    for (const auto& file : nvrtc_files(dir)) {
      verdict.candidates.push_back(nvrtc_candidate(origin, file, include_dirs));
      found = true;
    }
    if (found) return;  // lib64 and targets/.../lib are one folder under two names
  }
  if (!dirs.empty()) {
    verdict.not_there.push_back(
        str::format("{} ({})", origin, dirs.front().parent_path().string()));
  }
}

inline std::vector<std::filesystem::path> library_dirs(const std::filesystem::path& root) {
  return {root / "lib64", root / "lib", root / "targets/x86_64-linux/lib",
          root / "targets/sbsa-linux/lib"};
}

// nvidia/cu13 (one folder a release) and nvidia/cuda_nvrtc + nvidia/cuda_runtime (one a component).
inline void add_nvrtc_site(Verdict& verdict, const std::filesystem::path& site) {
  auto packages = list_dir(site / "nvidia");
  std::reverse(packages.begin(), packages.end());  // cuda_nvrtc (12) after cu13: newest first
  put_first(packages,
            [](const auto& package) { return package.filename().string() != "cuda_nvrtc"; });
  bool found = false;
  for (const auto& package : packages) {
    auto include_dirs = toolkit_include_dirs(package);
    if (package.filename() == "cuda_nvrtc") {
      include_dirs = toolkit_include_dirs(site / "nvidia/cuda_runtime");
      if (has_file(site / "nvidia/cuda_cccl/include"))
        include_dirs.push_back(site / "nvidia/cuda_cccl/include");
    }
    for (const auto& file : nvrtc_files(package / "lib")) {
      verdict.candidates.push_back(
          nvrtc_candidate("pip nvidia/" + package.filename().string(), file, include_dirs));
      found = true;
    }
  }
  if (!found) verdict.not_there.push_back(str::format("pip ({})", (site / "nvidia").string()));
}

// Refuses what cannot compile: no execute bit, or a toolkit without its other programs (pip's
// nvidia-cuda-nvcc-cu12 is one). A wrapper script has no nvcc.profile beside it and is trusted.
inline Candidate nvcc_candidate(std::string origin, const std::filesystem::path& nvcc) {
  Candidate candidate{std::move(origin), nvcc, {}, 0, {}};
  if (access(nvcc.c_str(), X_OK) != 0) {
    candidate.refused = has_file(nvcc) ? "not executable" : "no such file";
    return candidate;
  }
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(nvcc, error);
  const std::filesystem::path bin = error ? nvcc.parent_path() : real.parent_path();
  if (!has_file(bin / "nvcc.profile")) return candidate;
  for (const std::filesystem::path& program :
       {bin / "cudafe++", bin / "ptxas", bin / "../nvvm/bin/cicc"}) {
    if (!has_file(program)) {
      candidate.refused =
          str::format("partial toolkit: {} is missing", program.lexically_normal().string());
      return candidate;
    }
  }
  candidate.include_dirs = toolkit_include_dirs(bin.parent_path());
  if (!candidate.include_dirs.empty())
    candidate.version = header_version(candidate.include_dirs.front());
  refuse_if_old(candidate);
  return candidate;
}

}  // namespace detail

inline Verdict find_nvrtc(const SearchPlaces& places) {
  Verdict verdict{"NVRTC",
                  {},
                  {},
                  "pip install nvidia-cuda-nvrtc (CUDA 13) or nvidia-cuda-nvrtc-cu12 (12.8, 12.9), "
                  "or set CUDA_HOME to a toolkit of 12.8 or newer"};
  if (!places.nvrtc_override.empty()) {
    std::error_code error;
    if (std::filesystem::is_directory(places.nvrtc_override, error)) {
      detail::add_nvrtc_dir(verdict, "JIT_NVRTC_LIBRARY", {places.nvrtc_override}, {});
    } else {
      verdict.candidates.push_back(
          detail::nvrtc_candidate("JIT_NVRTC_LIBRARY", places.nvrtc_override, {}));
    }
  }
  const auto add_root = [&](const std::string& origin, const std::filesystem::path& root) {
    detail::add_nvrtc_dir(verdict, origin, detail::library_dirs(root),
                          detail::toolkit_include_dirs(root));
  };
  for (const auto& root : places.named_roots) add_root(root.origin, root.path);
  for (const auto& site : places.site_dirs) detail::add_nvrtc_site(verdict, site);
  if (!places.conda_root.empty()) add_root("conda", places.conda_root);
  for (const auto& dir : places.path_dirs) {
    std::error_code error;
    if (!detail::has_file(dir / "nvcc")) continue;
    const auto nvcc = std::filesystem::canonical(dir / "nvcc", error);
    if (!error) add_root("toolkit of nvcc on PATH", nvcc.parent_path().parent_path());
  }
  for (const auto& root : places.default_roots) add_root(root.origin, root.path);
  detail::prefer_driver_major(verdict, places.driver_version);
  if (places.ask_loader) {
    // Why last: only loading it tells what it is. Major 13 first, unless the driver is older.
    const int newest = places.driver_version == 0 ? 13 : std::min(13, places.driver_version / 1000);
    for (int major = newest; major >= 12; --major) {
      verdict.candidates.push_back(
          {"loader path", str::format("libnvrtc.so.{}", major), {}, 0, {}});
    }
  }
  return verdict;
}

inline Verdict find_nvcc(const SearchPlaces& places) {
  Verdict verdict{"nvcc",
                  {},
                  {},
                  "install a CUDA toolkit of 12.8 or newer and set CUDA_HOME, or set "
                  "JIT_NVCC_COMPILER (with your prefix) to its bin/nvcc"};
  if (!places.nvcc_override.empty()) {
    verdict.candidates.push_back(detail::nvcc_candidate("JIT_NVCC_COMPILER", places.nvcc_override));
  }
  const auto add = [&](const std::string& origin, const std::filesystem::path& nvcc) {
    if (detail::has_file(nvcc)) {
      verdict.candidates.push_back(detail::nvcc_candidate(origin, nvcc));
    } else {
      verdict.not_there.push_back(str::format("{} ({})", origin, nvcc.string()));
    }
  };
  for (const auto& root : places.named_roots) add(root.origin, root.path / "bin/nvcc");
  for (const auto& site : places.site_dirs) {
    for (const auto& package : detail::list_dir(site / "nvidia")) {
      if (detail::has_file(package / "bin/nvcc"))
        add("pip nvidia/" + package.filename().string(), package / "bin/nvcc");
    }
  }
  if (!places.conda_root.empty()) add("conda", places.conda_root / "bin/nvcc");
  bool on_path = false;
  for (const auto& dir : places.path_dirs) {
    if (!detail::has_file(dir / "nvcc")) continue;
    add("PATH", dir / "nvcc");
    on_path = true;
  }
  if (!on_path) verdict.not_there.push_back("PATH");
  for (const auto& root : places.default_roots) add(root.origin, root.path / "bin/nvcc");
  detail::prefer_driver_major(verdict, places.driver_version);
  return verdict;
}

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
