#include <deep_gemm/csrc/problem/gemm_problem.hpp>

#include <deep_jit/utils/str.hpp>

namespace deep_gemm {
namespace {

constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t x = seed ^ (value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2));
  x *= 0xBF58476D1CE4E5B9ull;
  return x ^ (x >> 31);
}

template <class... T>
std::uint64_t mix_all(std::uint64_t seed, T... values) {
  ((seed = mix(seed, static_cast<std::uint64_t>(values))), ...);
  return seed;
}

std::uint64_t hash_of(std::uint64_t seed, const GemmOperand& x) {
  return mix_all(seed, x.type, x.major, x.stride_bytes);
}

std::uint64_t hash_of(std::uint64_t seed, const GemmScale& s) {
  return mix_all(seed, s.type, s.gran_mn, s.gran_k, s.stride_mn, s.stride_k);
}

std::string describe(const GemmOperand& x, const GemmScale& s) {
  constexpr const char* kTypes[] = {"e4m3", "e2m1", "bf16"};
  constexpr const char* kScales[] = {"", "f32", "ue8m0x4"};
  std::string text = kTypes[static_cast<int>(x.type)];
  text += x.major == Major::K ? ":k" : ":mn";
  if (s.type != ScaleType::None)
    text +=
        deep_jit::str::format(":{}({},{})", kScales[static_cast<int>(s.type)], s.gran_mn, s.gran_k);
  return text;
}

}  // namespace

std::uint64_t GemmProblem::hash() const {
  std::uint64_t seed = mix_all(0, m, n, k);
  seed = hash_of(hash_of(seed, a), b);
  seed = hash_of(hash_of(seed, a_scale), b_scale);
  return mix_all(seed, d_type, d_stride, c_stride, accumulate, has_alpha, alignment, d_alignment,
                 is_meta);
}

std::string GemmProblem::to_string() const {
  constexpr const char* kAccumulate[] = {"", " +d", " +c"};
  return deep_jit::str::format("m{} n{} k{} {} x {} -> {}{}", m, n, k, describe(a, a_scale),
                               describe(b, b_scale), d_type == OutputType::Bf16 ? "bf16" : "f32",
                               kAccumulate[static_cast<int>(accumulate)]);
}

}  // namespace deep_gemm
