// Per-device code in tests: local graphs, values that vary along some axes, and their inner product.
#pragma once
#include "tests/interpreter/lockstep.h"

namespace shard::testing {

inline Type varying(const MeshRef& m, runtime::Shape shape, Axes axes) {
  Type t = f32(std::move(shape));
  t.mesh = m;
  for (AxisId a : axes) t.varying.add(a);
  return t;
}

inline Graph local(const MeshRef& m, const std::vector<Type>& params, const Body& body,
                   const ir::OpTable& table = rows()) {
  Builder b(table);
  b.set_local(m);
  Vars in;
  for (const Type& t : params) in.push_back(b.param(t));
  Graph g = b.finish(body(b, in));
  ir::verify(g);
  return g;
}

// Numbers for each device, equal where the type does not vary.
inline Blocks per_device(const MeshRef& m, const Type& t, unsigned seed) {
  Blocks out;
  for (std::int64_t d = 0; d < m->size(); ++d) {
    auto at = coordinates(*m, d);
    out.push_back(numbers(t, seed + 31 * static_cast<unsigned>(position(*m, t.varying.list(), at))));
  }
  return out;
}

// Adds up the devices along which a value varies, and counts the others once.
inline double inner(const MeshRef& m, const Type& t, const Blocks& x, const Blocks& y) {
  double sum = 0;
  for (std::int64_t d = 0; d < m->size(); ++d) {
    auto at = coordinates(*m, d);
    bool counts = true;
    for (AxisId a : (m->all() - t.varying).list()) counts &= at[a] == 0;
    auto k = static_cast<std::size_t>(d);
    for (std::size_t i = 0; counts && i < x[k].size(); ++i) sum += x[k].get(i) * y[k].get(i);
  }
  return sum;
}

}  // namespace shard::testing
