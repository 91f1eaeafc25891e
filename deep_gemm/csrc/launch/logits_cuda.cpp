// A CUDA plan of indexer logits and addresses into the kernel's one parameter.
#include <algorithm>
#include <cstring>

#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/launch/logits_launch.hpp>
#include <deep_gemm/csrc/source/logits_source.hpp>
#include <deep_jit/backend/cuda/tensor_map.hpp>

namespace deep_gemm {
namespace {

using deep_jit::cuda::Kernel;

class PreparedPortableLogits final : public PreparedLogits {
 public:
  PreparedPortableLogits(const LogitsProblem& problem, const PortableLogitsPlan& plan, int device,
                         const Knobs& knobs)
      : params_(params_of(problem, plan.block_rows)),
        kernel_(compile_cuda(source_of(plan), device)) {
    options_.num_smem_bytes = plan.smem_bytes;
    options_.grid_dim = deep_jit::cuda::Dim3(plan.grid_x, plan.grid_y);
    options_.block_dim = deep_jit::cuda::Dim3(kPortableLogitsThreads);
    options_.enable_pdl = knobs.pdl != 0;
  }

  bool launch(const LogitsAddresses& addresses) const override {
    LogitsParams params = params_;
    put_addresses(params, addresses);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  LogitsParams params_;
  std::shared_ptr<Kernel> kernel_;
  deep_jit::cuda::LaunchOptions options_;
};

// ---- Hopper: tensor maps are made once; a launch copies the parameters and moves the maps ----

CUtensorMapSwizzle swizzle_of(int row_bytes) {
  return row_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : row_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                           : CU_TENSOR_MAP_SWIZZLE_32B;
}

// At an address that is moved before the launch.
TensorMap encoded(const deep_jit::cuda::TensorMapDesc& desc) {
  const CUtensorMap made =
      deep_jit::cuda::encode_tensor_map(desc, reinterpret_cast<const void*>(std::uintptr_t{1024}));
  TensorMap map;
  static_assert(sizeof(map) == sizeof(made));
  std::memcpy(&map, &made, sizeof(map));
  return map;
}

void move(TensorMap& map, const void* address) {
  CUtensorMap made;
  std::memcpy(&made, &map, sizeof(map));
  deep_jit::cuda::patch_tensor_map(made, address);
  std::memcpy(&map, &made, sizeof(map));
}

class PreparedSm90Logits final : public PreparedLogits {
 public:
  PreparedSm90Logits(const LogitsProblem& p, const Sm90LogitsPlan& plan, int device,
                     const Knobs& knobs)
      : kernel_(compile_cuda(source_of(plan), device)) {
    const auto dim = static_cast<std::uint64_t>(p.head_dim);
    const auto keys = static_cast<std::uint64_t>(p.keys);
    const auto box_dim = static_cast<std::uint32_t>(p.head_dim);
    params_.q = encoded({.name = "q",
                         .sizes = {dim, static_cast<std::uint64_t>(p.rows * p.heads)},
                         .strides_bytes = {dim},
                         .box = {box_dim, 128},
                         .swizzle = swizzle_of(p.head_dim)});
    params_.kv = encoded({.name = "kv",
                          .sizes = {dim, keys},
                          .strides_bytes = {static_cast<std::uint64_t>(p.kv_stride)},
                          .box = {box_dim, 64},
                          .swizzle = swizzle_of(p.head_dim)});
    params_.kv_scale = encoded({.name = "kv_scale",
                                .dtype = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                .sizes = {keys, 1},
                                .strides_bytes = {(keys * 4 + 15) / 16 * 16},
                                .box = {64, 1}});
    params_.weights_row_stride = p.weights_stride;
    params_.logits_row_stride = p.logits_stride;
    params_.seq = static_cast<int>(p.rows);
    params_.kv_len = static_cast<int>(p.keys);
    params_.compressed = p.is_compressed;
    params_.clean = p.is_clean;
    options_.num_smem_bytes = plan.smem_bytes;
    options_.grid_dim = deep_jit::cuda::Dim3(plan.grid);
    options_.block_dim = deep_jit::cuda::Dim3(static_cast<unsigned>(plan.num_threads));
    options_.enable_pdl = knobs.pdl != 0;
  }

  bool launch(const LogitsAddresses& at) const override {
    MqaParams params = params_;
    move(params.q, at.q);
    move(params.kv, at.kv);
    move(params.kv_scale, at.kv_scale);
    params.weights = static_cast<const float*>(at.weights);
    params.starts = static_cast<const int*>(at.starts);
    params.ends = static_cast<const int*>(at.ends);
    params.logits = at.logits;
    kernel_->launch(options_, params);
    return true;
  }

 private:
  MqaParams params_{};
  std::shared_ptr<Kernel> kernel_;
  deep_jit::cuda::LaunchOptions options_;
};

class PreparedSm90PagedLogits final : public PreparedLogits {
 public:
  PreparedSm90PagedLogits(const LogitsProblem& p, const Sm90PagedLogitsPlan& plan, int device,
                          const Knobs& knobs)
      : kernel_(compile_cuda(source_of(plan), device)) {
    const auto dim = static_cast<std::uint64_t>(p.head_dim);
    const auto box_dim = static_cast<std::uint32_t>(p.head_dim);
    params_.q =
        encoded({.name = "q",
                 .sizes = {dim, static_cast<std::uint64_t>(p.rows * p.heads)},
                 .strides_bytes = {dim},
                 .box = {box_dim, static_cast<std::uint32_t>(plan.config.queries * p.heads)},
                 .swizzle = swizzle_of(p.head_dim)});
    params_.kv = encoded({.name = "kv_cache",
                          .sizes = {dim, static_cast<std::uint64_t>(p.page),
                                    static_cast<std::uint64_t>(p.num_blocks)},
                          .strides_bytes = {dim, static_cast<std::uint64_t>(p.block_stride)},
                          .box = {box_dim, static_cast<std::uint32_t>(plan.config.part_keys), 1},
                          .swizzle = swizzle_of(p.head_dim)});
    params_.block_stride = p.block_stride;
    params_.table_stride = p.table_stride;
    params_.weights_row_stride = p.weights_stride;
    params_.logits_row_stride = p.logits_stride;
    params_.batch = static_cast<int>(p.rows / p.next_n);
    params_.next_n = static_cast<int>(p.next_n);
    params_.page = static_cast<int>(p.page);
    params_.width = static_cast<int>(p.width);
    options_.num_smem_bytes = plan.smem_bytes;
    options_.grid_dim = deep_jit::cuda::Dim3(plan.grid_x, plan.grid_y);
    options_.block_dim = deep_jit::cuda::Dim3(static_cast<unsigned>(plan.num_threads));
    options_.enable_pdl = knobs.pdl != 0;
  }

  bool launch(const LogitsAddresses& at) const override {
    PagedMqaParams params = params_;
    move(params.q, at.q);
    move(params.kv, at.kv);
    params.cache = static_cast<const unsigned char*>(at.kv);
    params.weights = static_cast<const float*>(at.weights);
    params.lengths = static_cast<const int*>(at.ends);
    params.table = static_cast<const int*>(at.table);
    params.schedule = static_cast<const int*>(at.schedule);
    params.logits = at.logits;
    kernel_->launch(options_, params);
    return true;
  }

 private:
  PagedMqaParams params_{};
  std::shared_ptr<Kernel> kernel_;
  deep_jit::cuda::LaunchOptions options_;
};

class PreparedCudaSchedule final : public PreparedLogitsSchedule {
 public:
  PreparedCudaSchedule(const LogitsScheduleProblem& p, int device, const Knobs& knobs)
      : kernel_(compile_cuda(portable_logits_schedule_source(), device)) {
    params_.lengths_stride = p.lengths_stride;
    params_.batch = static_cast<int>(p.batch);
    params_.next_n = static_cast<int>(p.next_n);
    params_.slots = static_cast<int>(p.slots);
    options_.grid_dim = deep_jit::cuda::Dim3(1);
    options_.block_dim = deep_jit::cuda::Dim3(kLogitsScheduleThreads);
    options_.enable_pdl = knobs.pdl != 0;
  }

  bool launch(const LogitsScheduleAddresses& addresses) const override {
    LogitsScheduleParams params = params_;
    params.lengths = static_cast<const int*>(addresses.lengths);
    params.schedule = static_cast<int*>(addresses.schedule);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  LogitsScheduleParams params_{};
  std::shared_ptr<Kernel> kernel_;
  deep_jit::cuda::LaunchOptions options_;
};

class PreparedCudaSparseSchedule final : public PreparedSparseSchedule {
 public:
  PreparedCudaSparseSchedule(const SparseScheduleProblem& p, int device, const Knobs& knobs)
      : params_(params_of(p)), kernel_(compile_cuda(portable_sparse_schedule_source(), device)) {
    constexpr std::int64_t kMaxGrid = 1 << 16;
    const std::int64_t wanted = (p.rows * p.num_blocks + kSparseThreads - 1) / kSparseThreads;
    options_.grid_dim = deep_jit::cuda::Dim3(static_cast<unsigned>(std::min(wanted, kMaxGrid)));
    options_.block_dim = deep_jit::cuda::Dim3(kSparseThreads);
    options_.enable_pdl = knobs.pdl != 0;
  }

  bool launch(const SparseScheduleAddresses& addresses) const override {
    SparseScheduleParams params = params_;
    put_addresses(params, addresses);
    kernel_->launch(options_, params);
    return true;
  }

 private:
  SparseScheduleParams params_;
  std::shared_ptr<Kernel> kernel_;
  deep_jit::cuda::LaunchOptions options_;
};

}  // namespace

std::shared_ptr<const PreparedLogits> prepare_cuda_logits(const LogitsProblem& problem,
                                                          const LogitsPlan& plan, int device,
                                                          const Knobs& knobs) {
  if (const auto* tuned = std::get_if<Sm90LogitsPlan>(&plan))
    return std::make_shared<PreparedSm90Logits>(problem, *tuned, device, knobs);
  if (const auto* tuned = std::get_if<Sm90PagedLogitsPlan>(&plan))
    return std::make_shared<PreparedSm90PagedLogits>(problem, *tuned, device, knobs);
  return std::make_shared<PreparedPortableLogits>(problem, std::get<PortableLogitsPlan>(plan),
                                                  device, knobs);
}

std::shared_ptr<const PreparedLogitsSchedule> prepare_cuda_logits_schedule(
    const LogitsScheduleProblem& problem, int device, const Knobs& knobs) {
  return std::make_shared<PreparedCudaSchedule>(problem, device, knobs);
}

std::shared_ptr<const PreparedSparseSchedule> prepare_cuda_sparse_schedule(
    const SparseScheduleProblem& problem, int device, const Knobs& knobs) {
  return std::make_shared<PreparedCudaSparseSchedule>(problem, device, knobs);
}

}  // namespace deep_gemm
