// The smallest whole program: source text to numbers, on an NPU or on the simulated one.
//
//   . $ASCEND_HOME_PATH/set_env.sh        # CANN; or ASCEND_HOME_PATH of the simulated toolkit
//   ./vector_add                          # "vector_add: 100003 right on Ascend910B2 (dav-2201)"
//
// docs/ascend.md says how to build it with and without Bazel. Any exit code but 0 is a fault that
// we want to hear of, with the text printed.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <deep_jit/backend/ascend/backend.hpp>

namespace {

namespace acl = deep_jit::ascend::driver;

// Written to CANN's documentation: queues between the copy in, the vector unit and the copy out;
// padded copies, so that n need not fill a tile.
constexpr const char* kSource = R"(#include "kernel_operator.h"
using namespace AscendC;

constexpr int64_t kTile = 2048;

extern "C" __global__ __vector__ void vector_add(__gm__ float* out, __gm__ float* a,
                                                 __gm__ float* b, int64_t n) {
  TPipe pipe;
  TQue<TPosition::VECIN, 2> queue_a, queue_b;
  TQue<TPosition::VECOUT, 2> queue_out;
  pipe.InitBuffer(queue_a, 2, kTile * sizeof(float));
  pipe.InitBuffer(queue_b, 2, kTile * sizeof(float));
  pipe.InitBuffer(queue_out, 2, kTile * sizeof(float));
  GlobalTensor<float> global_a, global_b, global_out;
  global_a.SetGlobalBuffer(a, n);
  global_b.SetGlobalBuffer(b, n);
  global_out.SetGlobalBuffer(out, n);
  for (int64_t at = GetBlockIdx() * kTile; at < n; at += GetBlockNum() * kTile) {
    const int64_t count = n - at < kTile ? n - at : kTile;
    const DataCopyExtParams size{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
    const DataCopyPadExtParams<float> padding{false, 0, 0, 0.0f};
    LocalTensor<float> x = queue_a.AllocTensor<float>();
    LocalTensor<float> y = queue_b.AllocTensor<float>();
    DataCopyPad(x, global_a[at], size, padding);
    DataCopyPad(y, global_b[at], size, padding);
    queue_a.EnQue(x);
    queue_b.EnQue(y);
    x = queue_a.DeQue<float>();
    y = queue_b.DeQue<float>();
    LocalTensor<float> z = queue_out.AllocTensor<float>();
    Add(z, x, y, static_cast<int32_t>(count));
    queue_a.FreeTensor(x);
    queue_b.FreeTensor(y);
    queue_out.EnQue(z);
    z = queue_out.DeQue<float>();
    DataCopyPad(global_out[at], z, size);
    queue_out.FreeTensor(z);
  }
}
)";

class Array {
 public:
  explicit Array(const std::vector<float>& values) : bytes_(values.size() * sizeof(float)) {
    DJ_ACL_CHECK(acl::lazy_aclrtMalloc(&data_, bytes_, ACL_MEM_MALLOC_HUGE_FIRST));
    DJ_ACL_CHECK(
        acl::lazy_aclrtMemcpy(data_, bytes_, values.data(), bytes_, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  ~Array() { acl::lazy_aclrtFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  float* data() const { return static_cast<float*>(data_); }
  std::vector<float> read() const {
    std::vector<float> values(bytes_ / sizeof(float));
    DJ_ACL_CHECK(
        acl::lazy_aclrtMemcpy(values.data(), bytes_, data_, bytes_, ACL_MEMCPY_DEVICE_TO_HOST));
    return values;
  }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

int run() {
  using deep_jit::ascend::Device;
  deep_jit::Runtime<deep_jit::Ascend> jit(
      deep_jit::Config(std::filesystem::current_path(), "EXAMPLE"));
  std::printf("%s", jit.backend.report().c_str());

  acl::ensure_initialized();
  DJ_ACL_CHECK(acl::lazy_aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  DJ_ACL_CHECK(acl::lazy_aclrtCreateStream(&stream));
  const Device device(0);

  constexpr std::int64_t kCount = 100003;  // fills no tile
  std::vector<float> a(kCount), b(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) {
    a[static_cast<std::size_t>(i)] = static_cast<float>(i % 1000);
    b[static_cast<std::size_t>(i)] = 0.25f * static_cast<float>(i % 7);
  }
  const Array device_a(a), device_b(b), out(std::vector<float>(kCount, -1.0f));
  const auto kernel = jit.compile("vector_add", kSource);
  jit.launch(kernel, {.stream = stream, .grid_dim = device.get_num_vector_cores()}, out.data(),
             device_a.data(), device_b.data(), kCount);
  DJ_ACL_CHECK(acl::lazy_aclrtSynchronizeStream(stream));

  int num_wrong = 0;
  const std::vector<float> got = out.read();
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == a[i] + b[i]) continue;
    if (++num_wrong <= 5) std::printf("[%zu] got %g, want %g\n", i, got[i], a[i] + b[i]);
  }
  acl::lazy_aclrtDestroyStream(stream);
  std::printf("vector_add: %lld right, %d wrong on %s (%s)\n",
              static_cast<long long>(kCount - num_wrong), num_wrong, device.get_soc_name().c_str(),
              device.get_npu_arch().c_str());
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
