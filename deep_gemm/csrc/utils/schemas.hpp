// The schema table of python_api.cpp, for those that walk it. Leaves text to that file.
#pragma once

#include <cstddef>

namespace deep_gemm {

extern const char* const kSchemas[];
extern const std::size_t kNumSchemas;

}  // namespace deep_gemm
