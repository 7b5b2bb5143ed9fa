// Sources: RFC 3720 (the polynomial), zlib's crc32_combine (multiplication of polynomials in reflected order).
#include "runtime/array/crc32c.h"

#include <cstring>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace shard::runtime {
namespace {

constexpr std::uint32_t kCastagnoli = 0x82f63b78;  // reflected

struct ByteTables {
  std::uint32_t t[8][256];
  ByteTables() {
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = c & 1 ? (c >> 1) ^ kCastagnoli : c >> 1;
      t[0][i] = c;
    }
    for (std::uint32_t i = 0; i < 256; ++i)
      for (int k = 1; k < 8; ++k) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 255];
  }
};

// The register behind these bytes, eight at a time ("slicing by 8").
std::uint32_t advance_by_table(std::uint32_t state, const char* p, std::size_t n) {
  static const ByteTables kTables;
  const auto& t = kTables.t;
  for (; n >= 8; n -= 8, p += 8) {
    std::uint64_t x = 0;
    std::memcpy(&x, p, 8);
    x ^= state;
    state = 0;
    for (int k = 0; k < 8; ++k) state ^= t[7 - k][x >> (8 * k) & 255];
  }
  for (; n > 0; --n) state = t[0][(state ^ static_cast<unsigned char>(*p++)) & 255] ^ (state >> 8);
  return state;
}

// Product of polynomials modulo Castagnoli's; the highest bit is the coefficient of 1.
std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t m = 1u << 31; m != 0; m >>= 1) {
    if (a & m) product ^= b;
    b = b & 1 ? (b >> 1) ^ kCastagnoli : b >> 1;
  }
  return product;
}

std::uint32_t power_of_x(std::uint64_t bytes) {  // x^(8 bytes)
  std::uint32_t out = 1u << 31, square = 1u << 23;
  for (; bytes != 0; bytes >>= 1, square = times(square, square))
    if (bytes & 1) out = times(out, square);
  return out;
}

}  // namespace

ZeroBytes::ZeroBytes(std::uint64_t count) {
  const std::uint32_t power = power_of_x(count);
  std::uint32_t column[32];
  for (int i = 0; i < 32; ++i) column[i] = times(1u << i, power);
  for (std::size_t k = 0; k < 4; ++k)
    for (std::uint32_t v = 0; v < 256; ++v) {
      std::uint32_t sum = 0;
      for (std::size_t i = 0; i < 8; ++i)
        if (v >> i & 1) sum ^= column[8 * k + i];
      tables_[k][v] = sum;
    }
}

namespace {

#if defined(__x86_64__)
std::uint64_t word_at(const char* p) {
  std::uint64_t x = 0;
  std::memcpy(&x, p, 8);
  return x;
}

// The instruction takes three cycles and one can begin in each: three streams side by side, which are then put
// together.
constexpr std::size_t kStream = 4096;

__attribute__((target("sse4.2"))) std::uint32_t advance_by_machine(std::uint32_t state, const char* p, std::size_t n) {
  static const ZeroBytes kOne(kStream), kTwo(2 * kStream);
  for (; n >= 3 * kStream; n -= 3 * kStream, p += 3 * kStream) {
    std::uint64_t a = state, b = 0, c = 0;
    for (std::size_t i = 0; i < kStream; i += 8) {
      a = _mm_crc32_u64(a, word_at(p + i));
      b = _mm_crc32_u64(b, word_at(p + kStream + i));
      c = _mm_crc32_u64(c, word_at(p + 2 * kStream + i));
    }
    state = kTwo(static_cast<std::uint32_t>(a)) ^ kOne(static_cast<std::uint32_t>(b)) ^ static_cast<std::uint32_t>(c);
  }
  std::uint64_t wide = state;
  for (; n >= 8; n -= 8, p += 8) wide = _mm_crc32_u64(wide, word_at(p));
  state = static_cast<std::uint32_t>(wide);
  for (; n > 0; --n) state = _mm_crc32_u8(state, static_cast<unsigned char>(*p++));
  return state;
}
#endif

std::uint32_t advance_register(std::uint32_t state, std::string_view bytes) {
#if defined(__x86_64__)
  static const bool kMachine = __builtin_cpu_supports("sse4.2");
  if (kMachine) return advance_by_machine(state, bytes.data(), bytes.size());
#endif
  return advance_by_table(state, bytes.data(), bytes.size());
}

}  // namespace

std::uint32_t crc32c(std::uint32_t before, std::string_view bytes) { return ~advance_register(~before, bytes); }

void PartialSum::skip(std::uint64_t count) {
  if (count == 0 || state_ == 0) return;
  auto it = gaps_.find(count);
  if (it == gaps_.end()) {
    if (gaps_.size() > 64) gaps_.clear();
    it = gaps_.emplace(count, ZeroBytes(count)).first;
  }
  state_ = it->second(state_);
}

void PartialSum::run(std::uint64_t offset, std::string_view bytes) {
  skip(offset - at_);
  state_ = advance_register(state_, bytes);
  at_ = offset + bytes.size();
}

void PartialSum::run(std::uint64_t offset, std::uint64_t size, std::uint32_t sum) {
  skip(offset - at_);
  at_ = offset;
  skip(size);
  at_ += size;
  state_ ^= sum;
}

std::uint32_t PartialSum::apart(std::string_view bytes) { return advance_register(0, bytes); }

std::uint32_t PartialSum::finish(std::uint64_t size) {
  skip(size - at_);
  return state_;
}

std::uint32_t PartialSum::whole(std::uint32_t crc, std::uint64_t size) { return ~crc ^ times(~0u, power_of_x(size)); }

}  // namespace shard::runtime
