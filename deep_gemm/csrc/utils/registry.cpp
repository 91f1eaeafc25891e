#include <deep_gemm/csrc/utils/registry.hpp>

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <deep_gemm/csrc/utils/control_table.hpp>
#include <deep_gemm/csrc/utils/schemas.hpp>
#include <deep_jit/utils/hash.hpp>
#include <deep_jit/utils/str.hpp>

namespace deep_gemm_process {

// Who has which namespace, over all copies in the process. Why it is inline and visible: such a
// variable is one for the whole process even among libraries loaded apart, which everything else
// here takes care not to be. Layout frozen.
struct Claims {
  std::mutex mutex;
  int count;
  struct {
    char ns[64];
    const void* control;
  } rows[32];
};
__attribute__((visibility("default"))) inline Claims claims_v1;

}  // namespace deep_gemm_process

namespace deep_gemm {
namespace {

struct Libraries {
  TorchLibraryHandle cpu = nullptr, cuda = nullptr, npu = nullptr, any = nullptr;
};

std::vector<Libraries>& libraries() {
  static std::vector<Libraries> all;
  return all;
}

std::string own_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_file), &info) == 0 || info.dli_fname == nullptr)
    return {};
  return info.dli_fname;
}

std::string digest_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return deep_jit::sha256_hex(bytes).substr(0, 16);
}

// False when the namespace is taken, by us or by a stranger.
bool define(const std::string& ns) {
  TorchLibraryHandle definitions = nullptr;
  if (aoti_torch_library_init_def(ns.c_str(), __FILE__, __LINE__, &definitions) != 0) return false;
  Libraries lib;
  bool is_ok = true;
  for (std::size_t i = 0; i < kNumSchemas; ++i)
    is_ok = is_ok && aoti_torch_library_def(definitions, kSchemas[i]) == 0;
  const auto open = [&](const char* key, TorchLibraryHandle* handle) {
    is_ok = is_ok && aoti_torch_library_init_impl(ns.c_str(), key, __FILE__, __LINE__, handle) == 0;
  };
  open("CPU", &lib.cpu);
  open("CUDA", &lib.cuda);
  open("PrivateUse1", &lib.npu);
  open("CompositeExplicitAutograd", &lib.any);
  if (!is_ok) {
    registry().error += deep_jit::str::format("torch refused a schema of {}; ", ns);
    return true;
  }
  libraries().push_back(lib);
  return true;
}

const void* find_claim(const std::string& ns) {
  const auto& claims = deep_gemm_process::claims_v1;
  for (int i = 0; i < claims.count; ++i)
    if (ns == claims.rows[i].ns) return claims.rows[i].control;
  return nullptr;
}

void claim(const std::string& ns) {
  auto& claims = deep_gemm_process::claims_v1;
  if (claims.count >= 32 || ns.size() >= sizeof claims.rows[0].ns) return;
  auto& row = claims.rows[claims.count++];
  std::memcpy(row.ns, ns.c_str(), ns.size() + 1);
  row.control = &kOwnControl;
}

void start(Registry& r) {
  r.file = own_file();
  r.ns = "deep_gemm_" + digest_of(r.file);
  r.owner = &kOwnControl;
  const std::lock_guard<std::mutex> guard(deep_gemm_process::claims_v1.mutex);
  if (const void* other = find_claim(r.ns)) {
    r.owner = static_cast<const ControlTable*>(other);
    return;
  }
  r.is_owner = define(r.ns);
  if (!r.is_owner) {
    r.error += deep_jit::str::format("namespace {} is taken; ", r.ns);
    return;
  }
  claim(r.ns);
  constexpr const char* kAlias = "deep_gemm";
  if (find_claim(kAlias) == nullptr && define(kAlias)) {
    r.claimed_alias = true;
    claim(kAlias);
  }
}

}  // namespace

Registry& registry() {
  static Registry* const instance = new Registry();  // outlives every other static
  return *instance;
}

OpRegistration::OpRegistration(const char* name, BoxedFunction function, Keys keys) noexcept {
  static std::once_flag once;
  try {
    std::call_once(once, [] { start(registry()); });
    const auto put = [&](TorchLibraryHandle handle) {
      if (torch_library_impl(handle, name, function, TORCH_ABI_VERSION) != 0)
        registry().error += deep_jit::str::format("torch refused {}; ", name);
    };
    for (const Libraries& lib : libraries()) {
      if (keys == Keys::NoTensors) {
        put(lib.any);
      } else if (keys == Keys::Npu) {
        put(lib.npu);
      } else {
        put(lib.cpu);
        put(lib.cuda);
      }
    }
  } catch (...) {
    // Nothing may leave a library's initialisation; what is missing shows as an unknown operator.
  }
}

}  // namespace deep_gemm
