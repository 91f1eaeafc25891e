// What a family of operators keeps between calls: a planned and loaded kernel, found again by
// everything that decides it. `Problem` has ==, hash() and no addresses.
//   class PreparedHostGemm final : public Prepared<GemmAddresses> { ... };
//   return launch_prepared(problem, placement, knobs, addresses, [&] { return prepare(...); });
// The warm path is one look-up and `launch`. Leaves what to prepare to <stem>_launch.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <deep_gemm/csrc/launch/placement.hpp>
#include <deep_gemm/csrc/launch/plan_cache.hpp>
#include <deep_gemm/csrc/plan/knobs.hpp>

namespace deep_gemm {

template <class Addresses>
class Prepared {
 public:
  virtual ~Prepared() = default;
  // False: there is no compiler on this machine, and no kernel in any cache.
  virtual bool launch(const Addresses& addresses) const = 0;
};

template <class Problem>
struct PreparedKey {
  Problem problem;
  Placement placement;
  Knobs knobs;

  friend bool operator==(const PreparedKey&, const PreparedKey&) = default;
};

// Per problem a few hundred bytes; a server sees some hundreds of problems.
inline constexpr std::size_t kMaxPrepared = 4096;

// One cache a family. Never destroyed: threads may still launch while the process ends.
template <class Problem, class Addresses>
PlanCache<PreparedKey<Problem>, Prepared<Addresses>>& prepared_cache() {
  static auto* const instance =
      new PlanCache<PreparedKey<Problem>, Prepared<Addresses>>(kMaxPrepared);
  return *instance;
}

// The warm path alone. Null: nothing is prepared.
template <class Addresses, class Problem>
std::shared_ptr<const Prepared<Addresses>> find_prepared(const Problem& problem,
                                                         const Placement& placement,
                                                         const Knobs& knobs) {
  return prepared_cache<Problem, Addresses>().find(PreparedKey<Problem>{problem, placement, knobs},
                                                   problem.hash());
}

// `prepare` returns a shared_ptr<const Prepared<Addresses>>, and runs at the first such call only.
template <class Problem, class Addresses, class Prepare>
bool launch_prepared(const Problem& problem, const Placement& placement, const Knobs& knobs,
                     const Addresses& addresses, const Prepare& prepare) {
  auto& cache = prepared_cache<Problem, Addresses>();
  const PreparedKey<Problem> key{problem, placement, knobs};
  const std::uint64_t hash = problem.hash();
  auto prepared = cache.find(key, hash);
  if (prepared == nullptr) [[unlikely]] {
    prepared = prepare();
    cache.put(key, hash, prepared);
  }
  return prepared->launch(addresses);
}

}  // namespace deep_gemm
