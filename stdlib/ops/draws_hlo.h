// What samplers in StableHLO share: keys and uniform numbers of all elements at once; a loop goes on for as long as one
// element is not done, and leaves those that are as they are.
#pragma once
#include "stdlib/ops/hlo.h"

namespace shard::stdlib::drawing {

using hlo::Value;
using hlo::Values;

constexpr int kMostTurns = 1 << 20;  // nothing is ever drawn so often

inline Words keys_over(const hlo::Value& key, const Shape& shape) {
  Ints dims;
  for (std::size_t d = shape.size() - key.shape.size(); d < shape.size(); ++d)
    dims.push_back(static_cast<std::int64_t>(d));
  const hlo::Value wide = hlo::broadcast(key, shape);
  Ints all;
  for (std::size_t d = 0; d < shape.size(); ++d) all.push_back(static_cast<std::int64_t>(d));
  return words_of(wide, shape, all);
}
inline Words hashed(const Words& key, int part) { return threefry(key, {key.first.number(0), key.first.number(part)}); }
// In [0, 1): the bits of this counter behind the exponent of 1, less 1.
inline hlo::Value uniform(const Words& key, const Words& counter, DType dtype) {
  const Words bits = threefry(key, counter);
  if (dtype != DType::F64) {
    const hlo::Value word = hlo::binary("xor", bits.first, bits.second);
    return hlo::convert(hlo::binary("shift_right_logical", word, word.number(9)), dtype) * 0x1p-23;
  }
  const hlo::Value high = hlo::convert(bits.first, DType::U64), low = hlo::convert(bits.second, DType::U64);
  const hlo::Value word = hlo::either(hlo::binary("shift_left", high, high.number(32)), low);
  return hlo::convert(hlo::binary("shift_right_logical", word, word.number(12)), dtype) * 0x1p-52;
}
inline hlo::Value uniform(const Words& key, DType dtype) {
  return uniform(key, {key.first.number(0), key.first.number(0)}, dtype);
}
inline hlo::Value any(const hlo::Value& x) {
  Ints dims;
  for (int d = 0; d < x.rank(); ++d) dims.push_back(d);
  return hlo::reduced(x, runtime::Reduce::Or, dims);
}
inline hlo::Value above(const hlo::Value& x, const hlo::Value& y) { return hlo::compare(x, y, "GT"); }
inline hlo::Value at_least(const hlo::Value& x, const hlo::Value& y) { return hlo::compare(x, y, "GE"); }
inline hlo::Value inverted(const hlo::Value& x) { return hlo::unary("not", x); }
// The next values where `active`, else those that there are.
inline hlo::Values where(const hlo::Value& active, const hlo::Values& next, const hlo::Values& now) {
  hlo::Values out;
  for (std::size_t i = 0; i < now.size(); ++i) out.push_back(hlo::select(active, next[i], now[i]));
  return out;
}

}  // namespace shard::stdlib::drawing
