// The header that the demo's kernels reach through the include folder.
#pragma once

namespace demo {

__device__ inline int add(int a, int b) { return a + b; }

}  // namespace demo
