#include <deep_gemm/csrc/launch/jit_cuda.hpp>

#include <charconv>

#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm {
namespace {

// What a typical member of each family has; launches ask the device itself.
struct FamilyRow {
  int compute;
  int num_sms;
  std::int64_t smem_bytes, l2_bytes;
};

constexpr FamilyRow kFamilies[] = {
    {80, 108, 166912, std::int64_t{40} << 20},   {86, 84, 101376, std::int64_t{6} << 20},
    {89, 142, 101376, std::int64_t{96} << 20},   {90, 132, 232448, std::int64_t{50} << 20},
    {100, 148, 232448, std::int64_t{126} << 20}, {103, 148, 232448, std::int64_t{126} << 20},
    {110, 20, 232448, std::int64_t{32} << 20},   {120, 188, 101376, std::int64_t{128} << 20},
};

const FamilyRow& family_of(int compute) {
  const FamilyRow* best = &kFamilies[0];
  for (const FamilyRow& row : kFamilies)
    if (row.compute <= compute) best = &row;
  return *best;
}

int leading_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

deep_jit::Runtime<deep_jit::CUDA>& cuda_jit() {
  // Never destroyed: threads may still launch while the process ends.
  static auto* const jit = [] {
    const auto root = package_root();
    return new deep_jit::Runtime<deep_jit::CUDA>(
        deep_jit::Config(root, "DG", "", {root / "include"}, {}, shipped_kernels()));
  }();
  return *jit;
}

DeviceTraits cuda_traits(std::string_view arch, int index) {
  DeviceTraits traits;
  traits.kind = DeviceTraits::Kind::Cuda;
  traits.num_threads = 1;
  if (!arch.empty()) {
    traits.arch = deep_jit::cuda::checked_arch(std::string(arch));
    traits.compute = leading_number(traits.arch);
    const FamilyRow& family = family_of(traits.compute);
    traits.num_sms = family.num_sms;
    traits.smem_bytes = family.smem_bytes;
    traits.l2_bytes = family.l2_bytes;
    return traits;
  }
  const deep_jit::cuda::Device device(index);
  traits.arch = cuda_jit().backend.target_of(device);
  traits.compute = device.get_arch_major() * 10 + device.get_arch_minor();
  traits.num_sms = device.get_num_sms();
  traits.smem_bytes = device.get_num_smem_bytes();
  traits.l2_bytes = device.get_num_l2_cache_bytes();
  return traits;
}

std::shared_ptr<deep_jit::cuda::Kernel> compile_cuda(const KernelSource& source, int index) {
  // Why: the runtime compiles for and loads on the device that is current.
  const deep_jit::cuda::PrimaryContext primary(index);
  const deep_jit::cuda::ContextScope scope(primary);
  return cuda_jit().compile(source.name, source.text);
}

}  // namespace deep_gemm
