// A kernel as text: what the runtime compiles, and what golden files hold.
#pragma once

#include <string>
#include <vector>

namespace deep_gemm {

struct KernelSource {
  std::string name;  // its extern "C" entry
  std::string text;
  std::vector<std::string> extra_flags;  // option overrides
};

}  // namespace deep_gemm
