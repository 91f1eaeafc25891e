#include <deep_gemm/csrc/problem/logits_problem.hpp>

#include <deep_gemm/csrc/problem/sizes.hpp>
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

const char* text_of(OutputType type) { return type == OutputType::Bf16 ? "bf16" : "f32"; }

}  // namespace

std::uint64_t LogitsProblem::hash() const {
  std::uint64_t seed = mix_all(1, type, weights_type, logits_type, rows, keys, width, heads);
  seed = mix_all(seed, head_dim, kv_stride, weights_stride, logits_stride, is_compressed, is_clean);
  seed = mix_all(seed, is_paged, next_n, page, num_blocks, block_stride, table_stride, slots);
  return mix_all(seed, alignment, is_meta, sparse_block);
}

std::string LogitsProblem::to_string() const {
  constexpr const char* kTypes[] = {"e4m3", "e4m3-mx", "e2m1-mx"};
  std::string text = deep_jit::str::format("rows{} keys{} h{} d{} {} weights {} -> {}", rows, keys,
                                           heads, head_dim, kTypes[static_cast<int>(type)],
                                           text_of(weights_type), text_of(logits_type));
  if (is_paged)
    text += deep_jit::str::format(" page{} next{} blocks{}+{} slots{}", page, next_n, num_blocks,
                                  block_stride, slots);
  if (is_sparse())
    text += deep_jit::str::format(" chosen{}x{}", width / sparse_block, sparse_block);
  if (is_compressed) text += deep_jit::str::format(" compressed{}", width);
  if (is_clean) text += " clean";
  return text;
}

std::int64_t logits_row_stride(bool is_paged, bool is_compressed, std::int64_t width,
                               OutputType type) {
  const std::int64_t quantum = 1024 / (type == OutputType::Bf16 ? 2 : 4);
  const bool is_exact = is_paged || is_compressed;
  return round_up(is_exact ? round_up(width, 256) : width + 256, quantum);
}

std::uint64_t LogitsScheduleProblem::hash() const {
  return mix_all(2, batch, next_n, lengths_stride, slots, is_meta);
}

std::uint64_t SparseScheduleProblem::hash() const {
  const std::uint64_t seed = mix_all(3, rows, num_blocks, keys, block, is_unaligned, page);
  return mix_all(seed, table_stride, is_meta);
}

}  // namespace deep_gemm
