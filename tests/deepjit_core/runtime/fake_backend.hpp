// A back end without a device or a compiler: "compiles" by copying the source, "loads" text.
//
//   fake().has_compiler = false;   // and num_compiles, identity, delay_ms, ...
//   deep_jit::Runtime<FakeBackend> jit(dir.config());
//
// Leaves real compilers and loaders to tests/backends_host.
#pragma once

#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <deep_jit/runtime/runtime.hpp>

namespace fs = std::filesystem;

struct FakeState {
  std::atomic<int> num_compiles{0}, num_loads{0}, delay_ms{0};
  std::atomic<bool> has_compiler{true}, has_device{true}, loader_refuses{false};
  std::string identity = "fake-1";
};

inline FakeState& fake() {
  static FakeState state;
  return state;
}

inline void reset_fake() {
  fake().num_compiles = fake().num_loads = fake().delay_ms = 0;
  fake().has_compiler = fake().has_device = true;
  fake().loader_refuses = false;
  fake().identity = "fake-1";
}

struct FakeBackend {
  struct Device {
    explicit Device(int given) : index(given) {}
    static int current_index() {
      if (!fake().has_device) DJ_FAIL(kDevice, "fake: no device");
      return 0;
    }
    int index;
  };
  struct LaunchOptions {
    std::optional<int> grid_dim = std::nullopt;
    LaunchOptions override_with(const LaunchOptions& other) const {
      return {other.grid_dim ? other.grid_dim : grid_dim};
    }
  };
  struct Kernel {
    std::string text;
    template <class... Args>
    void launch(const LaunchOptions& options, Args&&... args) const {
      ((args += options.grid_dim.value_or(1)), ...);
    }
  };
  struct CompilerOptions {
    std::optional<std::string> arch = std::nullopt;
    std::optional<int> level = std::nullopt;
    CompilerOptions override_with(const CompilerOptions& other) const {
      return {other.arch ? other.arch : arch, other.level ? other.level : level};
    }
  };

  static constexpr std::string_view kName = "fake";

  FakeBackend(const deep_jit::Config&, const deep_jit::Env&) {}
  std::string target(const CompilerOptions& options) const {
    if (options.arch) return *options.arch;
    Device::current_index();
    return "fake-arch";
  }
  std::string options_key(const CompilerOptions& options) const {
    return "level=" + std::to_string(options.level.value_or(0));
  }
  deep_jit::CompilerInfo compiler_info(const CompilerOptions&) const {
    if (!fake().has_compiler) DJ_FAIL(kToolchain, "fake: no compiler");
    return {fake().identity, "fake compiler 1", "/nowhere"};
  }
  std::string compile(const std::string& source, const fs::path& dir, const deep_jit::Env&,
                      const deep_jit::Config&, const CompilerOptions&) const {
    ++fake().num_compiles;
    std::this_thread::sleep_for(std::chrono::milliseconds(fake().delay_ms));
    if (source.find("error") != std::string::npos) DJ_FAIL(kToolchain, "fake: error in source");
    std::ofstream(dir / "kernel.txt") << source;
    return "fake -o kernel.txt";
  }
  static std::shared_ptr<Kernel> load(const fs::path& dir, const deep_jit::Env&, int) {
    ++fake().num_loads;
    std::ifstream file(dir / "kernel.txt");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (fake().loader_refuses.exchange(false)) DJ_FAIL(kDevice, "fake: binary refused");
    return std::make_shared<Kernel>(Kernel{text});
  }
};

// A folder of its own for one test, with a cache in it; gone when the test ends.
class TestDir {
 public:
  TestDir() {
    std::string pattern = (fs::temp_directory_path() / "dj_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    fs::create_directories(path_ / "lib" / "include");
    use_cache(path_ / "cache");
    unsetenv("FAKE_JIT_MODE");
  }
  ~TestDir() {
    std::error_code ignored;
    fs::permissions(path_, fs::perms::owner_all, ignored);
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  deep_jit::Config config(std::string signature = {}) const {
    return deep_jit::Config(path_ / "lib", "FAKE", std::move(signature),
                            {path_ / "lib" / "include"});
  }
  void write(const fs::path& relative, std::string_view text) const {
    fs::create_directories((path_ / relative).parent_path());
    std::ofstream(path_ / relative) << text;
  }
  static void use_cache(const fs::path& dirs) { setenv("FAKE_JIT_CACHE_DIR", dirs.c_str(), 1); }

 private:
  fs::path path_;
};
