// Source in, loaded kernel out: memory cache, then disk, then one compile per key.
//
//   auto jit = create_lazy_jit<Host>([] { return Config(root, "MYLIB", "", {root / "include"}); });
//   auto kernel = jit->compile("add", source);             // at start
//   jit->launch(kernel, {.grid_dim = 64}, out, a, b, n);   // warm path: hold the kernel
//
// compile() hashes the source, so it is no warm path: a held Kernel is. Wiring only: leaves files
// to cache/disk.hpp, digests to key.hpp, threads to single_flight.hpp, tools to the back end.
// Longer than usual: the order of the steps is one class, to be read from top to bottom.
#pragma once

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <deep_jit/cache/disk.hpp>
#include <deep_jit/cache/memory.hpp>
#include <deep_jit/runtime/backend_like.hpp>
#include <deep_jit/runtime/config.hpp>
#include <deep_jit/runtime/events.hpp>
#include <deep_jit/runtime/key.hpp>
#include <deep_jit/runtime/per_process.hpp>
#include <deep_jit/runtime/runtime_parts.hpp>
#include <deep_jit/runtime/single_flight.hpp>
#include <deep_jit/utils/env.hpp>
#include <deep_jit/utils/exception.hpp>
#include <deep_jit/utils/gil.hpp>
#include <deep_jit/utils/lazy.hpp>
#include <deep_jit/utils/macros.hpp>
#include <deep_jit/utils/parser.hpp>

namespace DJ_HIDDEN deep_jit {

template <class B>
class Runtime {
 public:
  using Backend = B;
  using Device = typename B::Device;
  using Kernel = typename B::Kernel;
  using CompilerOptions = typename B::CompilerOptions;
  using LaunchOptions = typename B::LaunchOptions;

  // Touches no device, no file and no compiler.
  explicit Runtime(Config library)
      : config(std::move(library)),
        env(config.env_prefix),
        disk_cache([this] { return detail::open_disk_cache(env, config); }),
        backend(config, env),
        parser(config.include_dirs),
        scratch_([this] { return detail::open_scratch(config); }) {
    static_assert(BackendLike<B>, "see backend_like.hpp for what a back end offers");
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  std::shared_ptr<Kernel> compile(std::string_view name, std::string_view source,
                                  const CompilerOptions& override_options = {}) {
    detail::require_kernel_name(name);
    const CompilerOptions options = default_compiler_options.override_with(override_options);
    const int device_index = Device::current_index();
    const Request request = make_request(name, source, options);
    if constexpr (requires { backend.require_runnable(request.target, device_index); })
      backend.require_runnable(request.target, device_index);
    // A kernel is loaded for one device; the entry on disk serves every device of its target.
    const std::string key = str::format("{}.{}@{}", name, request.digest, device_index);
    if (auto kernel = mem_cache.get(key)) {
      report(Event::Kind::kMemoryHit, request, 0);
      return kernel;
    }
    const GilScopedRelease without_gil;
    return flights_.current().run(key, [&]() -> std::shared_ptr<Kernel> {
      // The flight that finished between the look above and this one has filled it.
      if (auto kernel = mem_cache.get(key)) return kernel;
      auto kernel = obtain(request, source, options, device_index);
      mem_cache.put(key, kernel);
      return kernel;
    });
  }

  // Folder of the entry. With options.arch set, needs no device.
  std::filesystem::path compile_without_load(std::string_view name, std::string_view source,
                                             const CompilerOptions& override_options = {}) {
    return ensure_entry(name, source, override_options).dir;
  }

  // The same, with what it took.
  detail::EnsuredEntry ensure_entry(std::string_view name, std::string_view source,
                                    const CompilerOptions& override_options = {}) {
    detail::require_kernel_name(name);
    const CompilerOptions options = default_compiler_options.override_with(override_options);
    const Request request = make_request(name, source, options);
    const GilScopedRelease without_gil;
    return *builds_.current().run(str::format("{}.{}", name, request.digest), [&] {
      const auto compiler = find_compiler(options);
      return find_or_build(request, source, options, compiler,
                           [&](const DiskCache::Entry& entry, bool is_new) {
                             return std::make_shared<const detail::EnsuredEntry>(
                                 detail::EnsuredEntry{entry.dir, request.digest, !is_new});
                           });
    });
  }

  // Whether the disk holds the kernel as compile() would take it. Compiles and loads nothing.
  bool is_on_disk(std::string_view name, std::string_view source,
                  const CompilerOptions& override_options = {}) {
    detail::require_kernel_name(name);
    const CompilerOptions options = default_compiler_options.override_with(override_options);
    const Request request = make_request(name, source, options);
    const auto compiler = find_compiler(options);
    return disk_cache->find(request.name, request.digest, builds_of(compiler)).has_value();
  }

  template <class... Args>
  void launch(const std::shared_ptr<Kernel>& kernel, const LaunchOptions& options, Args&&... args) {
    if (kernel == nullptr) [[unlikely]]
      detail::fail_null_kernel();
    kernel->launch(default_launch_options.override_with(options), std::forward<Args>(args)...);
  }

  // The request digest. Needs no compiler, and no device when the options name an arch.
  std::string cache_key(std::string_view source, const CompilerOptions& override_options = {}) {
    return make_request({}, source, default_compiler_options.override_with(override_options))
        .digest;
  }

  // The same as printable parts, for people who ask why two keys differ.
  key::RequestParts request_parts(std::string_view source,
                                  const CompilerOptions& override_options = {}) {
    return parts_of(source, default_compiler_options.override_with(override_options));
  }

  const Config config;
  const Env env;
  detail::DeviceTable<Device> device;  // device->..., device.get(index): read once per index
  CompilerOptions default_compiler_options;
  LaunchOptions default_launch_options;
  LazyInit<DiskCache> disk_cache;  // the variables are read at the first use
  B backend;
  IncludeParser parser;
  MemCache<Kernel> mem_cache;
  Events events;

 private:
  using Request = detail::Request;

  Request make_request(std::string_view name, std::string_view source,
                       const CompilerOptions& options) {
    key::RequestParts parts = parts_of(source, options);
    return {std::string(name), parts.digest(), std::move(parts.target)};
  }

  key::RequestParts parts_of(std::string_view source, const CompilerOptions& options) {
    key::RequestParts parts;
    if constexpr (requires { B::kName; }) parts.backend = B::kName;
    parts.content = parser.content_digest(source);
    parts.target = backend.target(options);
    parts.options = backend.options_key(options);
    parts.extra_signature = config.extra_signature;
    return parts;
  }

  // Who would build, or why nobody can. Only a machine without a compiler is excused.
  detail::CompilerVerdict find_compiler(const CompilerOptions& options) {
    detail::CompilerVerdict verdict;
    try {
      verdict.info = backend.compiler_info(options);
      key::BuildParts parts{verdict.info->identity, {}};
      if constexpr (requires { backend.build_key(options); })
        parts.flags = backend.build_key(options);
      verdict.build = parts.digest();
    } catch (const exception::Exception& error) {
      if (error.kind() != exception::Kind::kToolchain) throw;
      verdict.why_not = std::current_exception();
    }
    return verdict;
  }

  std::shared_ptr<Kernel> obtain(const Request& request, std::string_view source,
                                 const CompilerOptions& options, int device_index) {
    const auto compiler = find_compiler(options);
    return find_or_build(
        request, source, options, compiler,
        [&](const DiskCache::Entry& entry, bool) { return load(request, entry, device_index); });
  }

  // `use` turns an entry into the answer. When it throws because the loader refuses the binary, the
  // entry is a miss: set aside, and built once more.
  template <class Use>
  auto find_or_build(const Request& request, std::string_view source,
                     const CompilerOptions& options, const detail::CompilerVerdict& compiler,
                     const Use& use)
      -> decltype(use(std::declval<const DiskCache::Entry&>(), false)) {
    std::exception_ptr refusal;
    if (auto hit = try_disk(request, compiler, use, refusal)) return hit;
    detail::require_compile_allowed(env, config, request.name, request.digest);
    if (compiler.why_not) std::rethrow_exception(refusal ? refusal : compiler.why_not);
    const auto lock = disk_cache->lock(request.name, request.digest, detail::lock_wait(env));
    // Whoever held the lock has probably built what is wanted.
    if (auto hit = try_disk(request, compiler, use, refusal)) return hit;
    const DiskCache::Entry entry = build(request, source, options, compiler);
    try {
      return use(entry, true);
    } catch (const exception::Exception& error) {
      if (detail::is_refusal(error)) disk_cache->discard(entry, error.message());
      throw;
    }
  }

  // A user's own layer is held to today's compiler, where there is one.
  static DiskCache::BuildFilter builds_of(const detail::CompilerVerdict& compiler) {
    return [&compiler](const Manifest& manifest, bool is_user_layer) {
      return !is_user_layer || compiler.why_not != nullptr || manifest.build == compiler.build;
    };
  }

  template <class Use>
  auto try_disk(const Request& request, const detail::CompilerVerdict& compiler, const Use& use,
                std::exception_ptr& refusal)
      -> decltype(use(std::declval<const DiskCache::Entry&>(), false)) {
    auto entry = disk_cache->find(request.name, request.digest, builds_of(compiler));
    if (!entry) return nullptr;
    try {
      auto answer = use(*entry, false);
      report(Event::Kind::kDiskHit, request, 0);
      return answer;
    } catch (const exception::Exception& error) {
      if (!detail::is_refusal(error)) throw;
      refusal = std::current_exception();
      disk_cache->discard(*entry, error.message());
      return nullptr;
    }
  }

  DiskCache::Entry build(const Request& request, std::string_view source,
                         const CompilerOptions& options, const detail::CompilerVerdict& compiler) {
    Manifest manifest;
    manifest.request = request.digest;
    manifest.build = compiler.build;
    manifest.name = request.name;
    manifest.target = request.target;
    manifest.toolchain = compiler.info->version;
    const detail::Stopwatch watch;
    auto staging = disk_cache->stage(request.name);
    try {
      manifest.command = compile_into(staging.dir(), source, options);
    } catch (const exception::Exception& error) {
      // A cache without space is no reason to fail: once more where the cache is not.
      if (staging.is_private() || !detail::lacks_space(staging.dir(), error)) throw;
      staging = scratch_->stage(request.name);
      manifest.command = compile_into(staging.dir(), source, options);
    }
    report(Event::Kind::kCompile, request, watch.ms());
    DiskCache::Entry entry = disk_cache->publish(std::move(staging), std::move(manifest));
    ephemeral_entries_.keep(entry);
    return entry;
  }

  std::string compile_into(const std::filesystem::path& dir, std::string_view source,
                           const CompilerOptions& options) {
    const std::string text(source);
    if constexpr (std::is_void_v<decltype(backend.compile(text, dir, env, config, options))>) {
      backend.compile(text, dir, env, config, options);
      return {};
    } else {
      return backend.compile(text, dir, env, config, options);
    }
  }

  std::shared_ptr<Kernel> load(const Request& request, const DiskCache::Entry& entry,
                               int device_index) {
    const detail::Stopwatch watch;
    std::shared_ptr<Kernel> kernel;
    if constexpr (requires { B::load(entry.dir, env, device_index, std::string_view()); }) {
      kernel = B::load(entry.dir, env, device_index, std::string_view(request.name));
    } else {
      kernel = B::load(entry.dir, env, device_index);
    }
    const double ms = watch.ms();
    report(Event::Kind::kLoad, request, ms);
    if (env.template get_or<bool>("JIT_PRINT_LOAD_TIME", false)) {
      std::fputs(
          str::format("{}: loaded {} in {} ms\n", config.env_prefix, request.name, ms).c_str(),
          stderr);
    }
    return kernel;
  }

  void report(Event::Kind kind, const Request& request, double ms) noexcept {
    events.report({kind, request.name, request.digest, ms});
  }

  detail::PerProcess<SingleFlight<Kernel>> flights_;
  detail::PerProcess<SingleFlight<const detail::EnsuredEntry>> builds_;
  detail::EphemeralEntries ephemeral_entries_;
  LazyInit<DiskCache> scratch_;  // has no folder: what it stages is private
};

// Built at first use; nothing is read or touched before that.
template <class B>
LazyInit<Runtime<B>> create_lazy_jit(Config config) {
  return LazyInit<Runtime<B>>(
      [config = std::move(config)] { return std::make_shared<Runtime<B>>(config); });
}

}  // namespace DJ_HIDDEN deep_jit
