// The few enums that say what a GEMM's operands, scales and outputs are.
//   Major::K;  ElementType::E4m3;  ScaleType::F32
// Read by host and device: no include, no function. Leaves out parameter structs (the other files
// here).
#pragma once

namespace deep_gemm {

enum class ElementType : int { E4m3 = 0, E2m1 = 1, Bf16 = 2 };
enum class OutputType : int { Bf16 = 0, F32 = 1 };
enum class ScaleType : int { None = 0, F32 = 1, Ue8m0x4 = 2 };  // Ue8m0x4: four of K per int32

// Which direction of an operand has stride 1.
enum class Major : int { K = 0, Mn = 1 };

}  // namespace deep_gemm
