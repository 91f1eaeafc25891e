// Where bisheng, ld.lld and aclrtc come from: every place looked at, in order, with what was there.
//
//   ascend::Verdict verdict = ascend::find_toolkits(ascend::SearchPlaces::of_process(env));
//   if (const ascend::Toolkit* best = verdict.bisheng()) use(best->bisheng, best->linker);
//   puts(verdict.print().c_str());        // the same, in words, with the way out
//
// Order: <PREFIX>_JIT_BISHENG_COMPILER, ASCEND_HOME_PATH, ASCEND_TOOLKIT_HOME, default folders.
// Opens files, loads nothing, spawns nothing. Leaves compiling to the two compilers.
#pragma once

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/str.hpp>

namespace DJ_HIDDEN deep_jit {
namespace ascend {

struct Toolkit {
  std::string origin;             // "ASCEND_HOME_PATH"
  std::filesystem::path root;     // may be empty for a bisheng named by itself
  std::filesystem::path bisheng;  // empty: none
  std::filesystem::path linker;   // the toolkit's own ld.lld, which knows aicorelinux
  std::filesystem::path aclrtc;   // libacl_rtc.so, from CANN 9 on
  std::vector<std::filesystem::path> include_dirs;  // adv_api, where there is one
  std::string version;                              // "9.0.0", as the toolkit writes it
  std::string refused;                              // why bisheng cannot serve; empty: it can
};

struct Verdict {
  std::vector<Toolkit> toolkits;       // in order of preference
  std::vector<std::string> not_there;  // places without a toolkit

  const Toolkit* bisheng() const {
    for (const Toolkit& toolkit : toolkits)
      if (toolkit.refused.empty()) return &toolkit;
    return nullptr;
  }
  const Toolkit* aclrtc() const {
    for (const Toolkit& toolkit : toolkits)
      if (!toolkit.aclrtc.empty()) return &toolkit;
    return nullptr;
  }

  std::string print() const {
    std::string text;
    const auto line = [&](std::string_view tool, const Toolkit* found,
                          const std::filesystem::path& path) {
      text += found == nullptr
                  ? str::format("{}: none is usable\n", tool)
                  : str::format("{}: {} ({}, CANN {})\n", tool, path.string(), found->origin,
                                found->version.empty() ? "of unknown version" : found->version);
    };
    const Toolkit* compiler = bisheng();
    const Toolkit* in_process = aclrtc();
    line("bisheng", compiler, compiler == nullptr ? std::filesystem::path() : compiler->bisheng);
    line("aclrtc", in_process,
         in_process == nullptr ? std::filesystem::path() : in_process->aclrtc);
    for (const Toolkit& toolkit : toolkits)
      if (!toolkit.refused.empty())
        text += str::format("  refused: {} ({}): {}\n", toolkit.root.string(), toolkit.origin,
                            toolkit.refused);
    for (const std::string& place : not_there) text += str::format("  not in {}\n", place);
    if (compiler == nullptr && in_process == nullptr)
      text += "  Fix: install CANN's toolkit and source its set_env.sh, or set ASCEND_HOME_PATH.\n";
    return text;
  }
};

struct SearchPlaces {
  struct Root {
    std::string origin;
    std::filesystem::path path;
  };
  std::filesystem::path bisheng_override;  // <PREFIX>_JIT_BISHENG_COMPILER: a file
  std::vector<Root> named_roots;           // ASCEND_HOME_PATH, ASCEND_TOOLKIT_HOME
  std::vector<Root> default_roots;
  std::string machine;  // "x86_64", "aarch64": names the folder of this host's half

  static SearchPlaces of_process(const Env& env) {
    SearchPlaces places;
    places.bisheng_override = env.get<std::filesystem::path>("JIT_BISHENG_COMPILER").value_or("");
    for (const char* name : {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}) {
      const char* root = std::getenv(name);
      if (root != nullptr && *root != '\0') places.named_roots.push_back({name, root});
    }
    // Why in this order: `latest` is a link that CANN's installer moves to what it installed last.
    places.default_roots = {{"the default folder", "/usr/local/Ascend/ascend-toolkit/latest"},
                            {"the default folder", "/usr/local/Ascend/cann"}};
    places.machine = host_machine();
    return places;
  }

  static std::string host_machine() {
    utsname names{};
    return uname(&names) == 0 ? names.machine : "x86_64";
  }
};

namespace detail {

inline bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

inline std::filesystem::path first_existing(const std::filesystem::path& root,
                                            const std::vector<std::string>& below) {
  for (const std::string& name : below)
    if (is_there(root / name)) return root / name;
  return {};
}

inline std::string why_not_program(const std::filesystem::path& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "is no file";
  return access(path.c_str(), X_OK) == 0 ? "" : "is not executable";
}

// "9.0.0" of the first file that has a line version=9.0.0, in either case.
inline std::string toolkit_version(const std::filesystem::path& root, const std::string& machine) {
  for (const std::string& below :
       {machine + "-linux/ascend_toolkit_install.info", std::string("compiler/version.info"),
        std::string("version.info"), machine + "-linux/version.info", std::string("version.cfg")}) {
    std::ifstream file(root / below);
    for (std::string line; std::getline(file, line);) {
      const std::size_t equals = line.find('=');
      if (equals != 7 || (line[0] != 'v' && line[0] != 'V')) continue;
      if (line.compare(1, 6, "ersion") != 0) continue;
      const std::string_view value = str::trim(std::string_view(line).substr(8));
      // "[8.2.0.1:8.2.RC1]" of a version.cfg: what stands behind the colon is for people.
      if (value.empty() || value.front() != '[') return std::string(value);
      const std::size_t colon = value.find(':');
      if (colon == std::string_view::npos) return std::string(value.substr(1));
      const std::string_view name = value.substr(colon + 1);
      return std::string(name.substr(0, name.find(']')));
    }
  }
  return {};
}

inline Toolkit inspect(std::string origin, const std::filesystem::path& root,
                       const std::string& machine) {
  const std::string half = machine + "-linux/";
  Toolkit toolkit;
  toolkit.origin = std::move(origin);
  toolkit.root = root;
  toolkit.version = toolkit_version(root, machine);
  toolkit.bisheng = first_existing(
      root, {"bin/bisheng", half + "bin/bisheng", "compiler/ccec_compiler/bin/bisheng",
             "tools/bisheng_compiler/bin/bisheng"});
  toolkit.linker =
      first_existing(root, {"bin/ld.lld", half + "bin/ld.lld", "compiler/ccec_compiler/bin/ld.lld",
                            "tools/bisheng_compiler/bin/ld.lld"});
  toolkit.aclrtc = first_existing(
      root, {"lib64/libacl_rtc.so", half + "lib64/libacl_rtc.so", "runtime/lib64/libacl_rtc.so"});
  const auto adv_api =
      first_existing(root, {half + "asc/include/adv_api", "asc/include/adv_api",
                            half + "ascendc/include/highlevel_api", "compiler/tikcpp/tikcfw/lib"});
  if (!adv_api.empty()) toolkit.include_dirs.push_back(adv_api);
  if (toolkit.bisheng.empty()) {
    toolkit.refused = "it has no bisheng";
  } else if (const std::string why = why_not_program(toolkit.bisheng); !why.empty()) {
    toolkit.refused = str::format("{} {}", toolkit.bisheng.string(), why);
  } else if (toolkit.linker.empty()) {
    toolkit.refused = "it has no ld.lld, and the system's knows no aicorelinux";
  } else if (const std::string linker_why = why_not_program(toolkit.linker); !linker_why.empty()) {
    toolkit.refused = str::format("{} {}", toolkit.linker.string(), linker_why);
  }
  return toolkit;
}

}  // namespace detail

inline Verdict find_toolkits(const SearchPlaces& places) {
  Verdict verdict;
  if (const auto& named = places.bisheng_override; !named.empty()) {
    // bin/bisheng of some root: the rest of that toolkit is beside it.
    Toolkit toolkit =
        detail::inspect("JIT_BISHENG_COMPILER", named.parent_path().parent_path(), places.machine);
    toolkit.bisheng = named;
    if (detail::is_there(named.parent_path() / "ld.lld"))
      toolkit.linker = named.parent_path() / "ld.lld";
    const std::string why = detail::why_not_program(named);
    toolkit.refused = !why.empty()             ? str::format("{} {}", named.string(), why)
                      : toolkit.linker.empty() ? "there is no ld.lld beside it"
                                               : "";
    verdict.toolkits.push_back(std::move(toolkit));
  }
  for (const auto* roots : {&places.named_roots, &places.default_roots}) {
    for (const SearchPlaces::Root& root : *roots) {
      if (!detail::is_there(root.path)) {
        verdict.not_there.push_back(str::format("{} ({})", root.origin, root.path.string()));
        continue;
      }
      verdict.toolkits.push_back(detail::inspect(root.origin, root.path, places.machine));
    }
  }
  return verdict;
}

}  // namespace ascend
}  // namespace DJ_HIDDEN deep_jit
