// Random bits and keys. Element i of a whole array is made of the key and the counter i alone, so a block of the array
// can be made where it lies, and equals what one device would have made.
#include "runtime/kernels/kernels.h"

#include <algorithm>

#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kTile = 1024;

struct Words {
  const std::uint32_t* first;
  std::int64_t step;
};
Words words_of(const View& key) { return {key.as<const std::uint32_t>(), key.shape.empty() ? 0 : key.strides[0] * 2}; }

template <class T>
void combine(const std::uint32_t* o0, const std::uint32_t* o1, std::int64_t n, T* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (sizeof(T) == 8)
      out[i] = (std::uint64_t{o0[i]} << 32) | o1[i];
    else
      out[i] = static_cast<T>(o0[i] ^ o1[i]);
  }
}

// `n` elements from `counter` on.
void bits(const std::uint32_t* key, std::uint64_t counter, std::int64_t n, DType type, unsigned char* out) {
  std::uint32_t o0[kTile], o1[kTile];
  const VectorTable& t = vector_table();
  const std::size_t item = size_of(type);
  for (std::int64_t at = 0; at < n; at += kTile) {
    const std::int64_t w = std::min(kTile, n - at);
    t.threefry(key[0], key[1], counter + static_cast<std::uint64_t>(at), w, o0, o1);
    void* to = out + static_cast<std::size_t>(at) * item;
    switch (item) {
      case 1: combine(o0, o1, w, static_cast<std::uint8_t*>(to)); break;
      case 2: combine(o0, o1, w, static_cast<std::uint16_t*>(to)); break;
      case 4: combine(o0, o1, w, static_cast<std::uint32_t*>(to)); break;
      default: combine(o0, o1, w, static_cast<std::uint64_t*>(to)); break;
    }
  }
}

}  // namespace

void random_bits(const View& key, const Shape& whole, std::span<const std::int64_t> start, const Shape& block,
                 const View& out, const Stop* stop) {
  const std::int64_t count = numel(block);
  if (count == 0) return;
  const std::int64_t batch = key.shape.empty() ? 1 : key.shape[0];
  Nest<1> nest;  // of counters
  const Strides strides = row_major(whole);
  std::uint64_t base = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    nest.add(block[i], {strides[i]});
    base += static_cast<std::uint64_t>(start[i]) * static_cast<std::uint64_t>(strides[i]);
  }
  const int last = nest.rank - 1;
  const bool dense = last >= 0 && nest.stride[0][last] == 1;
  const int outer = dense ? last : nest.rank;
  const std::int64_t line = dense ? nest.size[last] : 1, lines = nest.count(outer);
  const std::size_t item = size_of(out.dtype);
  const std::int64_t cut = std::min(line, kTile * 4), cuts = (line + cut - 1) / cut;  // long lines are shared out
  const Words words = words_of(key);
  spread(
      batch * lines * cuts, std::max<std::int64_t>(1, kTile * 4 / cut),
      [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t unit = lo; unit < hi; ++unit) {
          const std::int64_t b = unit / (lines * cuts), l = unit / cuts % lines, from = unit % cuts * cut;
          const Position<1> at(nest, outer, l);
          bits(words.first + b * words.step, base + static_cast<std::uint64_t>(at.offset[0] + from),
               std::min(cut, line - from), out.dtype,
               out.as<unsigned char>() + static_cast<std::size_t>(b * count + l * line + from) * item);
        }
      },
      stop);
}

void key_from_seed(std::int64_t seed, std::uint32_t words[2]) {
  // As JAX without 64-bit types: the seed is cut to 32 bits.
  words[0] = 0;
  words[1] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(seed));
}

void split_keys(const View& key, std::int64_t start, const View& out) {
  const std::int64_t batch = key.shape.empty() ? 1 : key.shape[0], n = out.shape.empty() ? 1 : out.shape.back();
  const Words words = words_of(key);
  const VectorTable& t = vector_table();
  const std::int64_t cuts = (n + kTile - 1) / kTile;
  spread(batch * cuts, std::max<std::int64_t>(1, kTile / std::max<std::int64_t>(n, 1)),
         [&](std::int64_t lo, std::int64_t hi) {
           std::uint32_t o0[kTile], o1[kTile];
           for (std::int64_t unit = lo; unit < hi; ++unit) {
             const std::int64_t b = unit / cuts, from = unit % cuts * kTile, w = std::min(kTile, n - from);
             const std::uint32_t* k = words.first + b * words.step;
             t.threefry(k[0], k[1], static_cast<std::uint64_t>(start + from), w, o0, o1);
             std::uint32_t* to = out.as<std::uint32_t>() + 2 * (b * n + from);
             for (std::int64_t i = 0; i < w; ++i) {
               to[2 * i] = o0[i];
               to[2 * i + 1] = o1[i];
             }
           }
         });
}

void fold_in(const View& key, const View& data, const View& out) {
  const std::int64_t n = numel(out.shape);
  const Words words = words_of(key);
  const std::int64_t step = data.shape.empty() ? 0 : data.strides[0];
  const VectorTable& t = vector_table();
  std::uint32_t* to = out.as<std::uint32_t>();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t* k = words.first + i * words.step;
    std::uint32_t o0 = 0, o1 = 0;
    t.threefry(k[0], k[1], data.as<const std::uint32_t>()[i * step], 1, &o0, &o1);
    to[2 * i] = o0;
    to[2 * i + 1] = o1;
  }
}

}  // namespace shard::runtime
