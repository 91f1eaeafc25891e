#include <deep_gemm/csrc/launch/jit.hpp>

#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm {

deep_jit::Runtime<deep_jit::Host>& host_jit() {
  // Never destroyed: threads may still run kernels while the process ends.
  static auto* const jit = [] {
    const auto root = package_root();
    return new deep_jit::Runtime<deep_jit::Host>(
        deep_jit::Config(root, "DG", "", {root / "include"}, {}, shipped_kernels()));
  }();
  return *jit;
}

DeviceTraits host_traits(std::string_view arch, int num_threads) {
  DeviceTraits traits;
  traits.kind = DeviceTraits::Kind::Host;
  traits.arch = arch.empty() ? deep_jit::host::native_target() : std::string(arch);
  const std::string_view march = std::string_view(traits.arch).substr(0, traits.arch.find('+'));
  switch (deep_jit::host::detail::x86_level(march)) {
    case 4:
      traits.vector_bytes = 64;
      traits.num_vector_registers = 32;
      break;
    case 3:
      traits.vector_bytes = 32;
      traits.num_vector_registers = 16;
      break;
    default:
      traits.vector_bytes = 16;
      traits.num_vector_registers = march.substr(0, 3) == "arm" ? 32 : 16;
  }
  const deep_jit::host::Device device;
  traits.l2_bytes = static_cast<std::int64_t>(device.get_l2_bytes());
  traits.num_threads = num_threads > 0 ? num_threads : static_cast<int>(device.get_num_threads());
  return traits;
}

DeviceTraits traits_at(const Placement& placement) {
  return placement.kind == DeviceTraits::Kind::Host ? host_traits({}, placement.num_threads)
                                                    : cuda_traits({}, placement.index);
}

deep_jit::host::CompilerOptions host_options(const KernelSource& source, std::string_view arch) {
  deep_jit::host::CompilerOptions options;
  if (!arch.empty()) options.arch = std::string(arch);
  options.extra_flags = source.extra_flags;
  return options;
}

bool has_host_compiler(std::string* why_not) {
  try {
    host_jit().backend.compiler_info({});
    return true;
  } catch (const deep_jit::exception::Exception& error) {
    if (why_not != nullptr) *why_not = error.message();
    return false;
  }
}

}  // namespace deep_gemm
