#include <deep_gemm/csrc/launch/back_end.hpp>

namespace deep_gemm {

std::span<const BackEnd> back_ends() {
  static const BackEnd rows[] = {kHostBackEnd, kCudaBackEnd};
  return rows;
}

const BackEnd& back_end_of(std::string_view device) {
  const std::string_view kind = device.substr(0, device.find(':'));
  for (const BackEnd& one : back_ends())
    if (one.device == kind) return one;
  return back_ends().front();
}

}  // namespace deep_gemm
