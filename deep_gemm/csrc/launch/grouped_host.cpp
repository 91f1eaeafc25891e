// A host plan, addresses and the values of a layout into parts, launched at once.
#include <algorithm>
#include <vector>

#include <deep_gemm/abi/host_grouped.h>
#include <deep_gemm/csrc/launch/gemm_host.hpp>
#include <deep_gemm/csrc/launch/grouped_launch.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/plan/group_ranges.hpp>
#include <deep_gemm/csrc/source/grouped_source.hpp>

namespace deep_gemm {
namespace {

using deep_jit::host::Kernel;

const void* moved(const void* base, std::int64_t bytes) {
  return base == nullptr ? nullptr : static_cast<const std::uint8_t*>(base) + bytes;
}

std::int64_t element_bytes(std::int64_t elements, ElementType type) {
  return type == ElementType::E2m1   ? elements / 2
         : type == ElementType::Bf16 ? elements * 2
                                     : elements;
}

// Cuts groups into parts of at most block_m rows.
class Parts {
 public:
  Parts(const GroupedProblem& problem, const GroupedAddresses& at, std::int64_t block_m)
      : p_(problem), at_(at), block_m_(block_m) {
    for (const GroupRange& range : group_ranges(problem, at.layout)) {
      if (p_.is_along_k()) {
        cut(whole_matrix(range), 0, p_.gemm.m);
      } else {
        cut(rows_of(range), range.begin, range.end);
      }
    }
  }

  const std::vector<HostGemmPart>& get() const { return parts_; }

 private:
  void cut(HostGemmPart part, std::int64_t begin, std::int64_t end) {
    for (part.row = begin; part.row < end; part.row += block_m_) {
      part.rows = std::min(block_m_, end - part.row);
      parts_.push_back(part);
    }
  }

  std::int64_t d_bytes() const { return p_.gemm.d_type == OutputType::Bf16 ? 2 : 4; }

  HostGemmPart rows_of(const GroupRange& range) const {
    const bool is_masked = p_.grouping == Grouping::Counts;
    const std::int64_t b_group = std::max<std::int64_t>(range.group, 0);
    const std::int64_t a_group = is_masked ? b_group : 0;
    HostGemmPart part{};
    part.a = {moved(at_.a, a_group * p_.a_group), p_.gemm.a.stride_bytes};
    part.b = {moved(at_.b, b_group * p_.b_group), p_.gemm.b.stride_bytes};
    part.a_scale = moved(at_.a_scale, a_group * p_.a_scale_group * 4);
    part.b_scale = moved(at_.b_scale, b_group * p_.b_scale_group * 4);
    part.d = static_cast<std::uint8_t*>(at_.d) + a_group * p_.d_group * d_bytes();
    part.k = range.group < 0 ? 0 : p_.gemm.k;
    return part;
  }

  HostOperand operand(const void* base, const GemmOperand& x, std::int64_t mn,
                      const GroupRange& range) const {
    const std::int64_t start = element_bytes(range.begin, x.type);
    if (p_.is_flat)
      return {moved(base, start * mn), element_bytes(range.end - range.begin, x.type)};
    if (x.major == Major::K) return {moved(base, start), x.stride_bytes};
    return {moved(base, range.begin * x.stride_bytes), x.stride_bytes};
  }

  HostGemmPart whole_matrix(const GroupRange& range) const {
    const GemmProblem& g = p_.gemm;
    HostGemmPart part{};
    part.a = operand(at_.a, g.a, g.m, range);
    part.b = operand(at_.b, g.b, g.n, range);
    part.a_scale = moved(at_.a_scale, range.a_scales * g.a_scale.stride_k * 4);
    part.b_scale = moved(at_.b_scale, range.b_scales * g.b_scale.stride_k * 4);
    const std::int64_t d = range.group * p_.d_group * d_bytes();
    part.d = static_cast<std::uint8_t*>(at_.d) + d;
    part.c = moved(at_.c, d);
    part.k = range.end - range.begin;
    return part;
  }

  const GroupedProblem& p_;
  const GroupedAddresses& at_;
  const std::int64_t block_m_;
  std::vector<HostGemmPart> parts_;
};

class PreparedHostGrouped final : public PreparedGrouped {
 public:
  PreparedHostGrouped(const GroupedProblem& problem, const HostGroupedPlan& plan,
                      std::shared_ptr<Kernel> kernel)
      : problem_(problem),
        params_(host_gemm_params(problem.gemm, plan.gemm)),
        kernel_(std::move(kernel)),
        grid_n_(plan.gemm.grid_n),
        num_threads_(static_cast<std::uint32_t>(plan.gemm.num_threads)) {}

  bool launch(const GroupedAddresses& at) const override {
    if (kernel_ == nullptr) return false;
    const Parts parts(problem_, at, params_.block_m);
    if (parts.get().empty()) return true;
    HostGroupedParams params{params_, parts.get().data()};
    params.gemm.alpha = at.alpha;
    params.gemm.workspace =
        host_scratch(static_cast<std::size_t>(params_.workspace_bytes) * num_threads_);
    deep_jit::host::LaunchOptions options;
    options.grid_dim =
        deep_jit::host::Dim3(static_cast<std::uint32_t>(parts.get().size()), grid_n_);
    options.num_threads = num_threads_;
    kernel_->launch(options, params);
    return true;
  }

 private:
  GroupedProblem problem_;
  HostGemmParams params_;
  std::shared_ptr<Kernel> kernel_;  // null: nobody could compile it
  std::uint32_t grid_n_, num_threads_;
};

}  // namespace

std::shared_ptr<const PreparedGrouped> prepare_host_grouped(const GroupedProblem& problem,
                                                            const HostGroupedPlan& plan) {
  return std::make_shared<PreparedHostGrouped>(problem, plan,
                                               compile_host(source_of(GroupedPlan(plan))));
}

}  // namespace deep_gemm
