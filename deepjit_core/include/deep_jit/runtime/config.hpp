// Who embeds the runtime: where its Python package lies, which prefix its variables have, and
// which folders its kernels include from.
//
//   deep_jit::Config config("/site-packages/mylib", "MYLIB", "", {"/site-packages/mylib/include"});
//   config.get_python_path("include");   // /site-packages/mylib/include
//   deep_jit::Runtime<deep_jit::Host> jit(config);
//
// A Config that exists is valid. Paths never enter a key: contents do. Leaves reading of the
// environment to utils/env.hpp and of headers to utils/parser.hpp.
#pragma once

#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/json.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

class Config {
 public:
  explicit Config(std::filesystem::path python_library_root, std::string env_prefix,
                  std::string extra_signature = {},
                  std::vector<std::filesystem::path> include_dirs = {},
                  std::vector<std::string> include_prefixes = {},
                  std::vector<std::filesystem::path> shipped_kernels = {})
      : python_library_root(std::move(python_library_root)),
        env_prefix(std::move(env_prefix)),
        extra_signature(std::move(extra_signature)),
        include_dirs(std::move(include_dirs)),
        include_prefixes(std::move(include_prefixes)),
        shipped_kernels(std::move(shipped_kernels)) {
    require_absolute("python_library_root", this->python_library_root);
    for (const auto& dir : this->include_dirs) require_absolute("include_dirs", dir);
    for (const auto& dir : this->shipped_kernels) require_absolute("shipped_kernels", dir);
    require_prefix();
  }

  std::filesystem::path get_python_path(const std::filesystem::path& relative) const {
    return python_library_root / relative;
  }

  json to_json() const {
    json dirs = json::array();
    for (const auto& dir : include_dirs) dirs.push_back(dir.string());
    json prefixes = json::array();
    for (const auto& prefix : include_prefixes) prefixes.push_back(prefix);
    json shipped = json::array();
    for (const auto& dir : shipped_kernels) shipped.push_back(dir.string());
    json object = json::object();
    object["python_library_root"] = python_library_root.string();
    object["env_prefix"] = env_prefix;
    object["extra_signature"] = extra_signature;
    object["include_dirs"] = std::move(dirs);
    object["include_prefixes"] = std::move(prefixes);
    object["shipped_kernels"] = std::move(shipped);
    return object;
  }

  const std::filesystem::path python_library_root;        // absolute
  const std::string env_prefix;                           // "MYLIB": MYLIB_JIT_CACHE_DIR, ...
  const std::string extra_signature;                      // free text that enters every key
  const std::vector<std::filesystem::path> include_dirs;  // absolute, searched in this order
  // Which <prefix...> files the embedder calls its own. Accepted for compatibility: every header
  // that is reached is hashed, whatever its name.
  const std::vector<std::string> include_prefixes;
  // Cache layers that were installed beside the library: read last, never written, and believed for
  // any build of a request. JIT_SHIPPED_KERNELS=0 leaves them out.
  const std::vector<std::filesystem::path> shipped_kernels;

 private:
  static void require_absolute(std::string_view member, const std::filesystem::path& path) {
    if (path.is_absolute()) return;
    DJ_FAIL(kInvalidArgument,
            "Config: {}: given \"{}\".\n"
            "  Rule ABSOLUTE_PATH: the runtime does not depend on the working directory.\n"
            "  Fix: pass std::filesystem::absolute(path).",
            member, path.string());
  }

  void require_prefix() const {
    bool is_valid = !env_prefix.empty() && env_prefix != "DJ" &&
                    std::isdigit(static_cast<unsigned char>(env_prefix.front())) == 0;
    for (const unsigned char c : env_prefix)
      is_valid = is_valid && (std::isalnum(c) != 0 || c == '_');
    if (is_valid) return;
    DJ_FAIL(kInvalidArgument,
            "Config: env_prefix: given \"{}\".\n"
            "  Rule ENV_PREFIX: letters, digits and _, not empty, no leading digit, and not DJ, "
            "which is what every library falls back to.\n"
            "  Fix: use a short name of your library, such as MYLIB.",
            env_prefix);
  }
};

}  // namespace DJ_HIDDEN deep_jit
