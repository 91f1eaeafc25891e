#include <deep_gemm/csrc/launch/gemm_launch.hpp>

#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/launch/plan_cache.hpp>

namespace deep_gemm {
namespace {

struct Key {
  GemmProblem problem;
  Placement placement;
  Knobs knobs;

  friend bool operator==(const Key&, const Key&) = default;
};

// Per problem a few hundred bytes; a server sees some hundreds of problems.
constexpr std::size_t kMaxEntries = 4096;

PlanCache<Key, PreparedGemm>& cache() {
  static auto* const instance = new PlanCache<Key, PreparedGemm>(kMaxEntries);
  return *instance;
}

std::shared_ptr<const PreparedGemm> prepare(std::string_view op, const Key& key) {
  DeviceTraits traits;
  if (key.placement.kind == DeviceTraits::Kind::Host) {
    traits = host_traits({}, key.placement.num_threads);
  } else {
    traits.kind = DeviceTraits::Kind::Cuda;
    traits.arch = "of this device";
  }
  const GemmPlan plan = plan_gemm(key.problem, traits, key.knobs, op);
  return prepare_host_gemm(key.problem, std::get<HostGemmPlan>(plan));
}

}  // namespace

bool launch_gemm(std::string_view op, const GemmProblem& problem, const Placement& placement,
                 const Knobs& knobs, const GemmAddresses& addresses) {
  const Key key{problem, placement, knobs};
  const std::uint64_t hash = problem.hash();
  auto prepared = cache().find(key, hash);
  if (prepared == nullptr) [[unlikely]] {
    prepared = prepare(op, key);
    cache().put(key, hash, prepared);
  }
  return prepared->launch(addresses);
}

}  // namespace deep_gemm
