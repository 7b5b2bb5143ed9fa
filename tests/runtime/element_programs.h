// Running single elementwise codes and programs on the small arrays of the tests.
#pragma once
#include <limits>
#include <vector>

#include "runtime/kernels/element_program.h"
#include "tests/runtime/arrays.h"

namespace shard::runtime::test {

inline constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

inline void run(const ElementProgram& p, std::vector<View> in, std::vector<View> out) {
  const ElementKernel kernel(p, in, out);
  std::vector<void*> inputs, outputs;
  for (const View& v : in) inputs.push_back(v.data);
  for (const View& v : out) outputs.push_back(v.data);
  kernel.run(inputs.data(), outputs.data());
}
inline bool gives_bool(Code c) { return facts(c).gives == Gives::Truth; }

inline Array unary(Code c, Array& x, DType to = DType::Key) {
  const DType result = to != DType::Key ? to : gives_bool(c) ? DType::Bool : x.dtype;
  Array out(result, x.shape);
  run({{x.dtype, result}, {0}, {}, {{c, x.dtype, 1, 0}}, {1}}, {x.view()}, {out.view()});
  return out;
}
inline Array binary(Code c, Array& x, Array& y) {
  const DType result = gives_bool(c) ? DType::Bool : x.dtype;
  Array out(result, x.shape);
  run({{x.dtype, x.dtype, result}, {0, 1}, {}, {{c, x.dtype, 2, 0, 1}}, {2}}, {x.view(), y.view()}, {out.view()});
  return out;
}
inline Array of(DType t, const std::vector<double>& values) {
  Array a(t, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) set(a.view(), static_cast<std::int64_t>(i), values[i]);
  return a;
}
inline std::vector<double> list(Array a) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < a.size(); ++i) out.push_back(get(a.view(), i));
  return out;
}
inline std::vector<double> one(Code c, DType t, const std::vector<double>& x) {
  Array a = of(t, x);
  return list(unary(c, a));
}
inline std::vector<double> two(Code c, DType t, const std::vector<double>& x, const std::vector<double>& y) {
  Array a = of(t, x), b = of(t, y);
  return list(binary(c, a, b));
}
}  // namespace shard::runtime::test
