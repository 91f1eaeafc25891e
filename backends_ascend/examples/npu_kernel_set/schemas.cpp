// What makes the example an extension of its own. In deep_gemm itself these are python_api.cpp and
// control.cpp, and a new NPU kernel adds one line to the former.
#include <deep_gemm/csrc/utils/registration.h>
#include <deep_gemm/csrc/utils/control_table.hpp>
#include <deep_gemm/csrc/utils/schemas.hpp>

namespace deep_gemm {

const char* const kSchemas[] = {
    "scaled_add(Tensor(a!) out, Tensor a, Tensor b, float scale) -> ()"};
const std::size_t kNumSchemas = sizeof(kSchemas) / sizeof(kSchemas[0]);

const ControlTable kOwnControl = {};

}  // namespace deep_gemm

REGISTER_EXTENSION(npu_kernel_set)
