// Indexer logits on a CPU, over contiguous or paged keys.            stem: logits
//   logits[i,j] = kv_scale[j] * sum over h of weights[i,h] * max(0, dot(q[i,h], kv[j]))
//   for starts[i] <= j < ends[i]; MX operands are dequantised first and have no kv_scale
// Grid: {tiles of kHostLogitsKeys keys, groups of queries}; a block decodes its keys once, as
// columns, and runs its queries over them, a few heads at a time. Order: dot by ascending element,
// heads ascending, in float. Hence a logit's bits depend on its own query and key alone.
//   constexpr LogitsConfig kConfig{...};
//   extern "C" void host_mqa_logits(const DjHostBlock* block, void* const* args) {
//     deep_gemm::host::mqa_logits<kConfig>(*block, *static_cast<const LogitsParams*>(args[0]));
//   }
#pragma once

#include <deep_gemm/abi/host_block.h>
#include <deep_gemm/abi/logits_params.h>
#include <deep_gemm/numeric/float_formats.h>
#include <deep_gemm/host/decode.hpp>

namespace deep_gemm::host {

// ---- Contract: what a plan may ask for (same words as plan/logits_plan) ----
template <LogitsConfig C>
struct LogitsContract {
  static_assert(C.head_dim % 32 == 0 && C.head_dim >= 32 && C.head_dim <= 128,
                "HEAD_DIM: 32, 64, 96 or 128");
  static_assert(C.vector_bytes == 16 || C.vector_bytes == 32 || C.vector_bytes == 64,
                "VECTOR_BYTES: the width of a register of the target");
  static_assert(kHostLogitsKeys % (C.vectors * C.vector_bytes / 4) == 0 &&
                    C.vectors * C.vector_bytes / 4 % 8 == 0,
                "TILE_COLUMNS: groups of eight that fill the tile");
};

// ---- Derived: numbers that follow from the configuration ----
template <LogitsConfig C>
struct LogitsDerived : LogitsContract<C> {
  static constexpr bool kIsMx = C.type != LogitsType::Fp8;
  static constexpr ElementType kElement =
      C.type == LogitsType::Fp4Mx ? ElementType::E2m1 : ElementType::E4m3;
  static constexpr int kLanes = C.vector_bytes / 4;
  static constexpr int kCols = C.vectors * kLanes;
  static constexpr int kPanels = kHostLogitsKeys / kCols;
  static constexpr std::int64_t kRowBytes = Decode<kElement>::bytes(C.head_dim);
  using Vec = simd::Vector<float, C.vector_bytes>;
};

// ---- Scratch: one block's, on its stack ----
template <LogitsConfig C>
struct alignas(64) LogitsScratch {
  using D = LogitsDerived<C>;
  float keys[D::kPanels][C.head_dim][D::kCols];
  float heads[C.head_dim][C.rows];
  float scale[kHostLogitsKeys];
  float sums[kHostLogitsKeys];
};

// Where key j lies, and the word of its scale.
struct KeyAt {
  const std::uint8_t* data;
  const std::uint8_t* scale;
};

template <LogitsConfig C>
inline KeyAt key_at(const LogitsParams& p, std::int64_t group, std::int64_t j) {
  constexpr std::int64_t kBytes = LogitsDerived<C>::kRowBytes;
  if constexpr (C.is_paged) {
    const std::int64_t block = p.table[group * p.table_stride + j / p.page], at = j % p.page;
    const auto* base = static_cast<const std::uint8_t*>(p.kv) + block * p.block_stride;
    return {base + at * kBytes, base + p.page * kBytes + at * 4};
  } else {
    return {static_cast<const std::uint8_t*>(p.kv) + j * p.kv_stride,
            static_cast<const std::uint8_t*>(p.kv_scale) + j * 4};
  }
}

// Eight elements from `d` on, dequantised.
template <LogitsConfig C>
[[gnu::always_inline]] inline simd::f32x8 load_dequantised(const std::uint8_t* data,
                                                           std::uint32_t scales, int d) {
  using Element = Decode<LogitsDerived<C>::kElement>;
  const simd::f32x8 x = Element::load8(data + Element::bytes(d));
  if constexpr (!LogitsDerived<C>::kIsMx) return x;
  return x * numeric::ue8m0_to_float(static_cast<numeric::u8>(scales >> (d / 32 * 8)));
}

// The keys of a tile as columns. find(c) is where the key of column c lies; no data: zeros.
template <LogitsConfig C, class Find>
void decode_found(const Find& find, LogitsScratch<C>& s) {
  using D = LogitsDerived<C>;
  for (int c = 0; c < kHostLogitsKeys; c += 8) {
    KeyAt at[8] = {};
    std::uint32_t words[8] = {};
    for (int i = 0; i < 8; ++i) {
      s.scale[c + i] = 0.0f;
      at[i] = find(c + i);
      if (at[i].data == nullptr) continue;
      words[i] = simd::load<std::uint32_t>(at[i].scale);
      s.scale[c + i] = D::kIsMx ? 1.0f : numeric::bits_to_float(words[i]);
    }
    for (int d = 0; d < C.head_dim; d += 8) {
      simd::f32x8 v[8];
      for (int i = 0; i < 8; ++i)
        v[i] = at[i].data == nullptr ? simd::f32x8{} : load_dequantised<C>(at[i].data, words[i], d);
      simd::transpose8(v);
      for (int i = 0; i < 8; ++i) {
        simd::store(s.keys[c / D::kCols][d + i] + c % D::kCols, v[i]);
      }
    }
  }
}

// Keys [first, last) of the tile; the others are zero.
template <LogitsConfig C>
void decode_keys(const LogitsParams& p, std::int64_t group, std::int64_t tile, std::int64_t first,
                 std::int64_t last, LogitsScratch<C>& s) {
  decode_found<C>(
      [&](int c) {
        const std::int64_t j = tile + c;
        return j < first || j >= last ? KeyAt{} : key_at<C>(p, group, j);
      },
      s);
}

// Heads [first, first + C.rows) of a query as rows; those past the last are zero.
template <LogitsConfig C>
void decode_heads(const LogitsParams& p, std::int64_t row, int first, LogitsScratch<C>& s) {
  constexpr std::int64_t kBytes = LogitsDerived<C>::kRowBytes;
  for (int r = 0; r < C.rows; ++r) {
    const bool is_head = first + r < p.heads;
    const std::int64_t at = row * p.heads + first + r;
    const auto* data = static_cast<const std::uint8_t*>(p.q) + at * kBytes;
    const bool is_scaled = LogitsDerived<C>::kIsMx && is_head;
    const std::uint32_t scales = is_scaled ? static_cast<const std::uint32_t*>(p.q_scale)[at] : 0;
    for (int d = 0; d < C.head_dim; d += 8) {
      const simd::f32x8 x = is_head ? load_dequantised<C>(data, scales, d) : simd::f32x8{};
      for (int e = 0; e < 8; ++e) s.heads[d + e][r] = x[e];
    }
  }
}

inline float weight_at(const LogitsParams& p, std::int64_t row, int head) {
  const std::int64_t at = row * p.weights_stride + head;
  if (p.bf16_weights)
    return numeric::bf16_to_float(static_cast<const std::uint16_t*>(p.weights)[at]);
  return static_cast<const float*>(p.weights)[at];
}

// These heads against all keys of the tile: ReLU, weights, sum over heads.
template <LogitsConfig C>
void weigh_heads(const float (&weights)[C.rows], LogitsScratch<C>& s) {
  using D = LogitsDerived<C>;
  using Vec = typename D::Vec;
  for (int panel = 0; panel < D::kPanels; ++panel) {
    Vec dot[C.rows][C.vectors] = {};
    for (int d = 0; d < C.head_dim; ++d) {
      Vec key[C.vectors];
#pragma GCC unroll 4
      for (int v = 0; v < C.vectors; ++v)
        key[v] = simd::load<Vec>(s.keys[panel][d] + v * D::kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < C.rows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < C.vectors; ++v) dot[r][v] += s.heads[d][r] * key[v];
      }
    }
    for (int v = 0; v < C.vectors; ++v) {
      float* sums = s.sums + panel * D::kCols + v * D::kLanes;
      Vec sum = simd::load<Vec>(sums);
      for (int r = 0; r < C.rows; ++r)  // not (x > 0): a NaN stays one
        sum += weights[r] * (dot[r][v] < 0.0f ? Vec{} : dot[r][v]);
      simd::store(sums, sum);
    }
  }
}

// A query's heads against all keys of the tile.
template <LogitsConfig C>
void weigh_row(const LogitsParams& p, std::int64_t row, LogitsScratch<C>& s) {
  for (int head = 0; head < p.heads; head += C.rows) {
    float weights[C.rows];
    for (int r = 0; r < C.rows; ++r)
      weights[r] = head + r < p.heads ? weight_at(p, row, head + r) : 0.0f;
    decode_heads<C>(p, row, head, s);
    weigh_heads<C>(weights, s);
  }
}

inline void store_logit(const LogitsParams& p, std::int64_t row, std::int64_t column, float x) {
  const std::int64_t at = row * p.logits_stride + column;
  if (p.bf16_logits) {
    static_cast<std::uint16_t*>(p.logits)[at] = numeric::float_to_bf16(x);
  } else {
    static_cast<float*>(p.logits)[at] = x;
  }
}

// Columns of one query: logits inside [start, end), -inf beside them when cleaning.
template <LogitsConfig C>
void store_logits(const LogitsParams& p, std::int64_t row, std::int64_t tile, std::int64_t start,
                  std::int64_t end, const LogitsScratch<C>& s) {
  const std::int64_t shift = p.compressed ? start : 0;
  for (int c = 0; c < kHostLogitsKeys; ++c) {
    const std::int64_t j = tile + c;
    const bool is_inside = j >= start && j < end;
    if (!is_inside && !(p.clean && j < p.keys)) continue;
    const std::int64_t column = j - shift;
    if (column >= p.width) continue;
    store_logit(p, row, column, is_inside ? s.sums[c] * s.scale[c] : -__builtin_inff());
  }
}

// ---- Body: one block of the grid ----
template <LogitsConfig C>
void mqa_logits(const DjHostBlock& block, const LogitsParams& p) {
  const std::int64_t tile = std::int64_t{block.index[0]} * kHostLogitsKeys;
  const std::int64_t group = block.index[1];
  const std::int64_t per_group = C.is_paged ? p.next_n : p.block_rows;
  const std::int64_t row0 = group * per_group;
  const std::int64_t row1 = row0 + per_group < p.rows ? row0 + per_group : p.rows;
  const auto start_of = [&](std::int64_t row) {
    const std::int64_t start = p.starts == nullptr ? 0 : p.starts[row];
    return start > 0 ? start : 0;
  };
  const auto end_of = [&](std::int64_t row) {
    return p.ends[row] < p.keys ? std::int64_t{p.ends[row]} : p.keys;
  };
  std::int64_t first = p.keys, last = 0;
  for (std::int64_t row = row0; row < row1; ++row) {
    const std::int64_t start = start_of(row), end = end_of(row);
    if (start >= end) continue;
    first = start < first ? start : first;
    last = end > last ? end : last;
  }
  LogitsScratch<C> scratch;
  const bool is_needed = first < tile + kHostLogitsKeys && last > tile;
  if (is_needed) decode_keys<C>(p, group, tile, first, last, scratch);
  for (std::int64_t row = row0; row < row1; ++row) {
    const std::int64_t start = start_of(row), end = end_of(row);
    std::memset(scratch.sums, 0, sizeof(scratch.sums));
    if (start < end && start < tile + kHostLogitsKeys && end > tile) weigh_row<C>(p, row, scratch);
    store_logits<C>(p, row, tile, start, end, scratch);
  }
}

}  // namespace deep_gemm::host
