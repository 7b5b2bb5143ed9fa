// Small graphs for tests of passes: a table with every row, a maker of graphs, and comparison of what two graphs
// compute.
#pragma once
#include <catch2/catch.hpp>

#include "interpreter/transform/batch.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/ops/ops.h"
#include "tests/interpreter/reference.h"

namespace shard::testing {

using ir::Builder;
using ir::GraphRef;
using ir::Vars;

inline const ir::OpTable& rows() {
  static const std::unique_ptr<const ir::OpTable> table = [] {
    auto t = std::make_unique<ir::OpTable>();
    stdlib::register_all(*t);
    t->freeze();
    return t;
  }();
  return *table;
}

inline Type f32(runtime::Shape s = {}) { return Type::of(DType::F32, std::move(s)); }
inline Type f64(runtime::Shape s = {}) { return Type::of(DType::F64, std::move(s)); }
inline Type i32(runtime::Shape s = {}) { return Type::of(DType::I32, std::move(s)); }

using Body = std::function<Vars(Builder&, const Vars&)>;
inline Graph graph(const std::vector<Type>& params, const Body& body) {
  Builder b(rows());
  Vars in;
  for (const Type& t : params) in.push_back(b.param(t));
  Graph g = b.finish(body(b, in));
  ir::verify(g);
  return g;
}
inline GraphRef region(const std::vector<Type>& params, const Body& body) {
  return std::make_shared<const Graph>(graph(params, body));
}

inline Vars scan(Builder& b, const GraphRef& body, const Vars& consts, const Vars& carry, const Vars& xs,
                 std::int64_t length, bool reverse = false) {
  Vars in = consts;
  in.insert(in.end(), carry.begin(), carry.end());
  in.insert(in.end(), xs.begin(), xs.end());
  return b.emit(*b.core().scan, in,
                {{"consts", static_cast<std::int64_t>(consts.size())},
                 {"carry", static_cast<std::int64_t>(carry.size())},
                 {"length", length},
                 {"reverse", reverse}},
                {body});
}

inline std::vector<double> flat(const Arrays& arrays) {
  std::vector<double> out;
  for (const Array& a : arrays)
    for (double v : a.values()) out.push_back(v);
  return out;
}

// One assertion an array: millions of elements are compared.
inline void check_close(const std::vector<double>& got, const std::vector<double>& want, double tolerance = 2e-5) {
  REQUIRE(got.size() == want.size());
  std::size_t i = 0;
  while (i < want.size() && got[i] == Approx(want[i]).epsilon(tolerance).margin(tolerance)) ++i;
  if (i == want.size()) return;
  INFO("element " << i << " of " << want.size() << ": " << got[i] << ", expected " << want[i]);
  CHECK(i == want.size());
}

inline std::vector<double> run(const Graph& g, const Arrays& args) {
  ir::verify(g);
  return flat(Reference().run(g, args));
}

// Numbers without a pattern in (-1, 1), the same on every machine.
inline Array numbers(const Type& t, unsigned seed) {
  Array a(t.dtype, t.shape);
  std::uint64_t s = seed * 0x9E3779B97F4A7C15ull + 12345;
  for (std::size_t i = 0; i < a.size(); ++i) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    double v = static_cast<double>(s >> 40) / static_cast<double>(1ull << 23) - 1;
    a.set(i, runtime::is_float(t.dtype) ? v : std::floor(v * 4));
  }
  return a;
}

// <J t, c> = <t, J' c> for the forward and the reverse derivative with respect to all float parameters, and both equal
// the central difference along t. Graphs in f64.
inline void check_derivatives(const Graph& f, unsigned seed = 1) {
  std::vector<int> wrt;
  Arrays args, forward, reverse, plus, minus;
  for (std::size_t i = 0; i < f.params.size(); ++i) {
    const Type& t = f.type(f.params[i]);
    args.push_back(numbers(t, seed + static_cast<unsigned>(i)));
    if (runtime::is_float(t.dtype)) wrt.push_back(static_cast<int>(i));
  }
  forward = reverse = plus = minus = args;
  const double h = 1e-6;
  Arrays tangents, cts;
  for (int w : wrt) {
    auto i = static_cast<std::size_t>(w);
    tangents.push_back(numbers(f.type(f.params[i]), seed + 100 + static_cast<unsigned>(w)));
    for (std::size_t k = 0; k < tangents.back().size(); ++k) {
      plus[i].set(k, args[i].get(k) + h * tangents.back().get(k));
      minus[i].set(k, args[i].get(k) - h * tangents.back().get(k));
    }
  }
  std::vector<bool> with_ct;
  for (ir::Var r : f.results) {
    with_ct.push_back(runtime::is_float(f.type(r).dtype));
    if (with_ct.back()) cts.push_back(numbers(f.type(r), seed + 200 + static_cast<unsigned>(cts.size())));
  }
  forward.insert(forward.end(), tangents.begin(), tangents.end());
  reverse.insert(reverse.end(), cts.begin(), cts.end());
  Graph fwd = transform::jvp(rows(), f, wrt), rev = transform::vjp(rows(), f, wrt, with_ct, true);
  ir::verify(fwd);
  ir::verify(rev);
  Arrays values = Reference().run(f, args), jt = Reference().run(fwd, forward), jc = Reference().run(rev, reverse);
  Arrays up = Reference().run(f, plus), down = Reference().run(f, minus);
  double left = 0, right = 0, difference = 0;
  for (std::size_t r = 0, c = 0; r < f.results.size(); ++r) {
    CHECK(values[r].values() == jt[r].values());
    CHECK(values[r].values() == jc[r].values());
    if (!with_ct[r]) continue;
    for (std::size_t k = 0; k < cts[c].size(); ++k) {
      left += jt[f.results.size() + r].get(k) * cts[c].get(k);
      difference += (up[r].get(k) - down[r].get(k)) / (2 * h) * cts[c].get(k);
    }
    ++c;
  }
  for (std::size_t w = 0; w < wrt.size(); ++w)
    for (std::size_t k = 0; k < tangents[w].size(); ++k) right += tangents[w].get(k) * jc[f.results.size() + w].get(k);
  CHECK(left == Approx(right).epsilon(1e-9).margin(1e-9));
  CHECK(left == Approx(difference).epsilon(1e-5).margin(1e-6));
}

// vmap by its meaning: the batched graph on stacked arguments gives what the graph gives on each of them, stacked.
inline void check_batched(const Graph& f, const std::vector<bool>& mapped, std::int64_t size, unsigned seed = 1) {
  transform::Batched g = transform::batch(rows(), f, mapped, size, true);
  ir::verify(g.graph);
  Arrays args;
  for (std::size_t i = 0; i < f.params.size(); ++i)
    args.push_back(numbers(mapped[i] ? transform::with_front(f.type(f.params[i]), size) : f.type(f.params[i]),
                           seed + static_cast<unsigned>(i)));
  Arrays together = Reference().run(g.graph, args);
  for (std::int64_t row = 0; row < size; ++row) {
    Arrays mine = args;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!mapped[i]) continue;
      mine[i] = Array(args[i].dtype, f.type(f.params[i]).shape);
      for (std::size_t k = 0; k < mine[i].size(); ++k)
        mine[i].set(k, args[i].get(static_cast<std::size_t>(row) * mine[i].size() + k));
    }
    Arrays alone = Reference().run(f, mine);
    for (std::size_t r = 0; r < alone.size(); ++r) {
      std::vector<double> part;
      for (std::size_t k = 0; k < alone[r].size(); ++k)
        part.push_back(together[r].get(static_cast<std::size_t>(row) * alone[r].size() + k));
      INFO("row " << row << ", result " << r);
      check_close(part, alone[r].values(), 1e-6);
    }
  }
}

}  // namespace shard::testing
