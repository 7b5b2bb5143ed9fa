// Keys and random bits as StableHLO: Threefry-2x32 written out in words of 32 bits, so that the bits are the kernels'
// on every engine (an engine's own generator counts as it likes).
#include "stdlib/ops/hlo.h"

namespace shard::stdlib {
// The words of keys, spread over `shape`, whose first dimensions are those of the keys.
Words words_of(const hlo::Value& key, const Shape& shape, std::span<const std::int64_t> dims) {
  Shape wide = key.shape;
  wide.push_back(2);
  const hlo::Value words = hlo::bitcast(key, DType::U32, wide);
  const auto word = [&](std::int64_t i) {
    return hlo::spread(hlo::reshape(hlo::part(words, words.rank() - 1, i, i + 1), key.shape), shape, dims);
  };
  return {word(0), word(1)};
}

Words threefry(const Words& key, Words x) {
  constexpr int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const auto xored = [](const hlo::Value& a, const hlo::Value& b) { return hlo::binary("xor", a, b); };
  const hlo::Value k[3] = {key.first, key.second, xored(xored(key.first, key.second), key.first.number(0x1BD11BDA))};
  x = {x.first + k[0], x.second + k[1]};
  for (int i = 1; i <= 5; ++i) {
    for (int r : turns[(i + 1) % 2]) {
      x.first = x.first + x.second;
      const hlo::Value up = hlo::binary("shift_left", x.second, x.second.number(r)),
                       down = hlo::binary("shift_right_logical", x.second, x.second.number(32 - r));
      x.second = xored(hlo::either(up, down), x.first);
    }
    x = {x.first + k[i % 3], x.second + k[(i + 1) % 3] + i};
  }
  return x;
}

namespace {

hlo::Value key_of(const Words& words) {
  Shape wide = words.first.shape;
  wide.push_back(1);
  const hlo::Values both{hlo::reshape(words.first, wide), hlo::reshape(words.second, wide)};
  return hlo::bitcast(hlo::concatenate(both, static_cast<int>(wide.size()) - 1), DType::Key, words.first.shape);
}

Ints leading(std::size_t count) {
  Ints dims;
  for (std::size_t d = 0; d < count; ++d) dims.push_back(static_cast<std::int64_t>(d));
  return dims;
}

}  // namespace

// The counter of an element is its place in the whole array.
hlo::Values bits_hlo(const hlo::Use& u) {
  const Shape &whole = u.attrs.ints("whole"), &shape = u.out[0].shape;
  const std::size_t keys = shape.size() - whole.size();
  const bool wide = runtime::numel(whole) > (std::int64_t{1} << 32);
  const DType counted = wide ? DType::U64 : DType::U32;
  hlo::Value counter = u.to.constant(counted, shape, 0);
  std::int64_t stride = 1;
  for (std::size_t d = whole.size(); d-- > 0; stride *= whole[d]) {
    hlo::Value at = hlo::iota(u.to, counted, shape, static_cast<int>(keys + d));
    if (u.in.size() > 1) at = at + hlo::broadcast(hlo::convert(u.in[1 + d], counted), shape);
    counter = counter + at * u.to.integer(counted, shape, stride);
  }
  Words x{counter.number(0), counter};
  if (wide)
    x = {hlo::convert(hlo::binary("shift_right_logical", counter, counter.number(32)), DType::U32),
         hlo::convert(hlo::binary("and", counter, counter.number(0xFFFFFFFF)), DType::U32)};
  x = threefry(words_of(u.in[0], shape, leading(keys)), x);
  const DType dtype = u.out[0].dtype;
  if (dtype != DType::U64) return {hlo::convert(hlo::binary("xor", x.first, x.second), dtype)};
  const hlo::Value high = hlo::convert(x.first, dtype);
  return {hlo::either(hlo::binary("shift_left", high, high.number(32)), hlo::convert(x.second, dtype))};
}

hlo::Values split_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  hlo::Value counter = hlo::iota(u.to, DType::U32, shape, static_cast<int>(shape.size()) - 1);
  if (u.in.size() > 1) counter = counter + hlo::broadcast(hlo::convert(u.in[1], DType::U32), shape);
  return {key_of(threefry(words_of(u.in[0], shape, leading(shape.size() - 1)), {counter.number(0), counter}))};
}

hlo::Values fold_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  const hlo::Value key = hlo::broadcast(u.in[0], shape), data = hlo::broadcast(u.in[1], shape);
  return {key_of(threefry(words_of(key, shape, leading(shape.size())), {data.number(0), data}))};
}

hlo::Values make_key_hlo(const hlo::Use& u) {
  const hlo::Value seed = hlo::bitcast(u.in[0], DType::U32, u.in[0].shape);
  return {key_of({seed.number(0), seed})};
}

}  // namespace shard::stdlib
