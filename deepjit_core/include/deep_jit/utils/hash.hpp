// SHA-256 for keys and checksums; FNV1a for callers of the older interface.
//
//   Sha256 hash;
//   hash.update_field(source);      // with its length: fields cannot run into each other
//   hash.update(raw_bytes);
//   hash.hex_digest();              // 64 hex digits; also sha256_hex(text)
//
// Leaves what is hashed to key.hpp, parser.hpp and entry_manifest.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <deep_jit/utils/detail/sha256_x86.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

namespace detail {

inline constexpr std::array<std::uint32_t, 64> kSha256Rounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

inline std::string to_hex(const unsigned char* bytes, std::size_t num_bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(2 * num_bytes, '0');
  for (std::size_t i = 0; i < num_bytes; ++i) {
    text[2 * i] = kDigits[bytes[i] >> 4];
    text[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return text;
}

inline std::uint32_t rotate(std::uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

// Rotating the names instead of the values keeps the eight words in registers.
inline void sha256_round(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t& d,
                         std::uint32_t e, std::uint32_t f, std::uint32_t g, std::uint32_t& h,
                         std::uint32_t word) {
  const std::uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
  const std::uint32_t t = h + s1 + (g ^ (e & (f ^ g))) + word;
  const std::uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
  d += t;
  h = t + s0 + ((a & b) | (c & (a | b)));
}

// One block of 64 bytes, on any machine.
inline void compress_sha256(std::array<std::uint32_t, 8>& state, const unsigned char* block) {
  std::uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = static_cast<std::uint32_t>(block[4 * i]) << 24 |
           static_cast<std::uint32_t>(block[4 * i + 1]) << 16 |
           static_cast<std::uint32_t>(block[4 * i + 2]) << 8 | block[4 * i + 3];
  }
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ (x >> 3)) + w[i - 7] +
           (rotate(y, 17) ^ rotate(y, 19) ^ (y >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  const auto& k = kSha256Rounds;
  for (std::size_t i = 0; i < 64; i += 8) {
    sha256_round(a, b, c, d, e, f, g, h, k[i] + w[i]);
    sha256_round(h, a, b, c, d, e, f, g, k[i + 1] + w[i + 1]);
    sha256_round(g, h, a, b, c, d, e, f, k[i + 2] + w[i + 2]);
    sha256_round(f, g, h, a, b, c, d, e, k[i + 3] + w[i + 3]);
    sha256_round(e, f, g, h, a, b, c, d, k[i + 4] + w[i + 4]);
    sha256_round(d, e, f, g, h, a, b, c, k[i + 5] + w[i + 5]);
    sha256_round(c, d, e, f, g, h, a, b, k[i + 6] + w[i + 6]);
    sha256_round(b, c, d, e, f, g, h, a, k[i + 7] + w[i + 7]);
  }
  const std::uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += added[i];
}

}  // namespace detail

class Sha256 {
 public:
  void update(std::string_view bytes) {
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    std::size_t left = bytes.size();
    num_bytes_ += left;
    if (num_pending_ != 0) {
      const std::size_t room = kBlock - num_pending_;
      const std::size_t taken = left < room ? left : room;
      if (taken != 0) std::memcpy(pending_ + num_pending_, data, taken);
      num_pending_ += taken;
      data += taken;
      left -= taken;
      if (num_pending_ < kBlock) return;
      compress(pending_, 1);
      num_pending_ = 0;
    }
    const std::size_t num_blocks = left / kBlock;
    compress(data, num_blocks);
    data += num_blocks * kBlock;
    left -= num_blocks * kBlock;
    if (left != 0) std::memcpy(pending_, data, left);
    num_pending_ = left;
  }

  // Length first, so that ("ab", "c") and ("a", "bc") differ.
  void update_field(std::string_view field) {
    unsigned char length[8];
    const std::uint64_t size = field.size();
    for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(size >> (8 * i));
    update({reinterpret_cast<const char*>(length), sizeof length});
    update(field);
  }

  // May be asked for at any point; updating can go on afterwards.
  std::string hex_digest() const {
    Sha256 last = *this;
    const std::uint64_t num_bits = num_bytes_ * 8;
    unsigned char padding[kBlock + 8] = {0x80};
    const std::size_t used = num_pending_ < 56 ? 56 - num_pending_ : 120 - num_pending_;
    for (int i = 0; i < 8; ++i)
      padding[used + static_cast<std::size_t>(i)] =
          static_cast<unsigned char>(num_bits >> (56 - 8 * i));
    last.update({reinterpret_cast<const char*>(padding), used + 8});
    unsigned char digest[32];
    for (std::size_t i = 0; i < 32; ++i)
      digest[i] = static_cast<unsigned char>(last.state_[i / 4] >> (24 - 8 * (i % 4)));
    return detail::to_hex(digest, sizeof digest);
  }

 private:
  static constexpr std::size_t kBlock = 64;

  void compress(const unsigned char* blocks, std::size_t num_blocks) {
#if defined(__x86_64__)
    if (detail::sha256_x86::is_supported()) {
      detail::sha256_x86::compress(state_, blocks, num_blocks, detail::kSha256Rounds);
      return;
    }
#endif
    for (; num_blocks != 0; --num_blocks, blocks += kBlock) detail::compress_sha256(state_, blocks);
  }

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::uint64_t num_bytes_ = 0;
  unsigned char pending_[kBlock] = {};
  std::size_t num_pending_ = 0;
};

inline std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex_digest();
}

// 64-bit FNV-1a. Not for keys: collisions can be made at will.
class FNV1a {
 public:
  void update(std::string_view bytes) {
    for (const char c : bytes) {
      state_ ^= static_cast<unsigned char>(c);
      state_ *= 0x100000001b3ULL;
    }
  }
  std::uint64_t digest() const { return state_; }
  std::string hex_digest() const {
    unsigned char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(state_ >> (56 - 8 * i));
    return detail::to_hex(bytes, sizeof bytes);
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace DJ_HIDDEN deep_jit
