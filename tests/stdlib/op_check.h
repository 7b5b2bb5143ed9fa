// Checks of one row on one sample, for the table test: values through the executor, so that kernels, fusion and
// partitioning are all in it. Each check gives the first disagreement as text, or nothing; so a test can also ask that
// a wrong row is caught.
#pragma once
#include "grammar/diagnostic.h"
#include "interpreter/ir/samples.h"
#include "interpreter/transform/batch.h"
#include "interpreter/transform/differentiate.h"
#include "tests/interpreter/execute.h"

namespace shard::testing {

struct Use {
  const ir::OpTable* table;
  const ir::OpDef* op;
  std::vector<Type> types;
  Arrays args;
  ir::Attrs attrs;
};

// Elements of the types that Array itself does not number.
inline double element(const Array& a, std::size_t i) {
  if (a.dtype != DType::BF16) return a.get(i);
  std::uint32_t word = std::uint32_t{reinterpret_cast<const std::uint16_t*>(a.bytes.data())[i]} << 16;
  float f = 0;
  std::memcpy(&f, &word, 4);
  return f;
}
inline void put(Array& a, std::size_t i, double v) {
  switch (a.dtype) {
    case DType::C64:  // parts that differ
      reinterpret_cast<float*>(a.bytes.data())[2 * i] = static_cast<float>(v);
      reinterpret_cast<float*>(a.bytes.data())[2 * i + 1] = static_cast<float>(1 - v);
      return;
    case DType::C128:
      reinterpret_cast<double*>(a.bytes.data())[2 * i] = v;
      reinterpret_cast<double*>(a.bytes.data())[2 * i + 1] = 1 - v;
      return;
    case DType::BF16: {
      float f = static_cast<float>(v);
      std::uint32_t word = 0;
      std::memcpy(&word, &f, 4);
      reinterpret_cast<std::uint16_t*>(a.bytes.data())[i] =
          static_cast<std::uint16_t>(word >> 16);  // cut off: any number will do
      return;
    }
    case DType::U8: reinterpret_cast<std::uint8_t*>(a.bytes.data())[i] = static_cast<std::uint8_t>(v); return;
    default: a.set(i, v);
  }
}

// Numbers without a pattern in [low, high); whole ones for integers, no two alike in ten thousand for floats.
inline Array sampled(const ir::SampleOperand& o, unsigned seed) {
  Array a(o.dtype, o.shape);
  std::uint64_t s = seed * 0x9E3779B97F4A7C15ull + 99;
  auto next = [&] { return s = s * 6364136223846793005ull + 1442695040888963407ull, s >> 11; };
  if (o.dtype == DType::Key) {
    for (char& c : a.bytes) c = static_cast<char>(next());
    return a;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    double v = o.low + static_cast<double>(next()) / 9007199254740992.0 * (o.high - o.low);
    put(a, i, runtime::is_inexact(o.dtype) ? v : std::floor(v));
  }
  return a;
}

inline Use use_of(const ir::OpTable& table, const ir::OpDef& op, const ir::Sample& sample, bool in_f64 = false,
                  std::int64_t front = 0) {
  Use u{&table, &op, {}, {}, sample.attrs};
  for (ir::SampleOperand o : sample.operands) {
    if (in_f64 && runtime::is_float(o.dtype)) o.dtype = DType::F64;
    if (front) o.shape.insert(o.shape.begin(), front);
    u.args.push_back(sampled(o, static_cast<unsigned>(u.args.size()) + 1));
    u.types.push_back(Type::of(o.dtype, o.shape));
  }
  return u;
}

inline Graph graph_of(const Use& u) {
  Builder b(*u.table);
  Vars in;
  for (const Type& t : u.types) in.push_back(b.param(t));
  Graph g = b.finish(b.emit(*u.op, std::span<const Var>(in), u.attrs));
  ir::verify(g);
  return g;
}

inline Arrays run_on(const ir::OpTable& table, const Graph& g, const Arrays& args, const MeshRef& m,
                     const std::vector<Sharding>& layouts) {
  runtime::Pool pool;
  std::vector<ArrayRef> arrays;
  std::vector<exec::ArrayInfo> infos;
  for (std::size_t i = 0; i < args.size(); ++i) {
    arrays.push_back(m ? laid_out(pool, args[i], m, layouts[i]) : plain(pool, args[i]));
    infos.push_back(exec::array_info(*arrays.back()));
  }
  Arrays out;
  for (const ArrayRef& r : exec::compile(*exec::make_lockstep(table, pool), table, g, infos, m)->run(arrays, {}, {}))
    out.push_back(read(pool, r));
  return out;
}
inline Arrays run_alone(const ir::OpTable& table, const Graph& g, const Arrays& args) {
  return run_on(table, g, args, nullptr, {});
}

inline double tolerance_of(DType t) {
  return t == DType::BF16 ? 4e-2 : t == DType::F16 ? 5e-3 : t == DType::F64 ? 1e-9 : 2e-4;
}

inline std::string differs(const Arrays& got, const Arrays& want) {
  if (got.size() != want.size()) return "another number of results";
  for (std::size_t r = 0; r < want.size(); ++r) {
    if (got[r].shape != want[r].shape || got[r].dtype != want[r].dtype)
      return "result " + std::to_string(r) + " has another type";
    if (!runtime::is_float(want[r].dtype)) {
      if (got[r].bytes != want[r].bytes) return "result " + std::to_string(r) + " has other values";
      continue;
    }
    for (std::size_t i = 0; i < want[r].size(); ++i) {
      double a = element(got[r], i), b = element(want[r], i);
      if (a == b || (std::isnan(a) && std::isnan(b)) ||
          std::fabs(a - b) <= tolerance_of(want[r].dtype) * (1 + std::fabs(b)))
        continue;
      return "result " + std::to_string(r) + ", element " + std::to_string(i) + ": " + std::to_string(a) + " and not " +
             std::to_string(b);
    }
  }
  return "";
}

// ---- derivatives, in f64: both directions agree, and agree with central differences

struct Sides {
  std::vector<int> wrt;
  std::vector<bool> with_ct;
  bool any = false;
};

inline Sides sides_of(const Graph& f) {
  Sides s;
  for (std::size_t i = 0; i < f.params.size(); ++i)
    if (f.type(f.params[i]).dtype == DType::F64) s.wrt.push_back(static_cast<int>(i));
  for (Var r : f.results) {
    s.with_ct.push_back(f.type(r).dtype == DType::F64);
    s.any |= s.with_ct.back();
  }
  s.any &= !s.wrt.empty();
  return s;
}

inline std::string wrong_derivative(const Use& u) {
  Graph f = graph_of(u);
  Sides s = sides_of(f);
  if (!s.any) return "";
  Graph forward, reverse;
  try {
    forward = transform::jvp(*u.table, f, s.wrt);
    reverse = transform::vjp(*u.table, f, s.wrt, s.with_ct, false);
  } catch (const grammar::Error& e) { return e.diagnostic.code == "not_differentiable" ? "" : e.what(); }
  const double h = 1e-6;
  Arrays plus = u.args, minus = u.args, with_tangents = u.args, with_cts = u.args, tangents, cts;
  for (int w : s.wrt) {
    auto i = static_cast<std::size_t>(w);
    tangents.push_back(numbers(u.types[i], 70 + static_cast<unsigned>(w)));
    with_tangents.push_back(tangents.back());
    for (std::size_t k = 0; k < tangents.back().size(); ++k) {
      plus[i].set(k, u.args[i].get(k) + h * tangents.back().get(k));
      minus[i].set(k, u.args[i].get(k) - h * tangents.back().get(k));
    }
  }
  for (std::size_t r = 0; r < f.results.size(); ++r)
    if (s.with_ct[r]) {
      cts.push_back(numbers(f.type(f.results[r]), 90 + static_cast<unsigned>(r)));
      with_cts.push_back(cts.back());
    }
  Arrays up = run_alone(*u.table, f, plus), down = run_alone(*u.table, f, minus);
  Arrays pushed = run_alone(*u.table, forward, with_tangents), pulled = run_alone(*u.table, reverse, with_cts);
  double by_push = 0, by_pull = 0, by_difference = 0, size = 1;
  for (std::size_t r = 0, c = 0; r < f.results.size(); ++r) {
    if (!s.with_ct[r]) continue;
    for (std::size_t k = 0; k < cts[c].size(); ++k) {
      by_push += pushed[f.results.size() + r].get(k) * cts[c].get(k);
      by_difference += (up[r].get(k) - down[r].get(k)) / (2 * h) * cts[c].get(k);
      size += std::fabs(pushed[f.results.size() + r].get(k) * cts[c].get(k));
    }
    ++c;
  }
  for (std::size_t w = 0; w < s.wrt.size(); ++w)
    for (std::size_t k = 0; k < tangents[w].size(); ++k) by_pull += tangents[w].get(k) * pulled[w].get(k);
  if (!(std::fabs(by_push - by_pull) <= 1e-9 * size))
    return "forward gives " + std::to_string(by_push) + ", reverse " + std::to_string(by_pull);
  if (!(std::fabs(by_push - by_difference) <= 2e-5 * size))
    return "the derivative gives " + std::to_string(by_push) + ", differences " + std::to_string(by_difference);
  return "";
}

// ---- leading dimensions: the batched operation on stacked operands is the operation on each

inline Array row_of(const Array& stacked, std::int64_t row, const runtime::Shape& shape) {
  Array out(stacked.dtype, shape);
  std::memcpy(out.bytes.data(), stacked.bytes.data() + static_cast<std::size_t>(row) * out.bytes.size(),
              out.bytes.size());
  return out;
}

inline std::string wrong_batch(const ir::OpTable& table, const ir::OpDef& op, const ir::Sample& sample,
                               const std::vector<bool>& mapped) {
  const std::int64_t size = 3;
  Use one = use_of(table, op, sample), many = use_of(table, op, sample, false, size);
  Graph f = graph_of(one);
  transform::Batched g = transform::batch(table, f, mapped, size, true);
  ir::verify(g.graph);
  Arrays args;
  for (std::size_t i = 0; i < mapped.size(); ++i) args.push_back(mapped[i] ? many.args[i] : one.args[i]);
  Arrays together = run_alone(table, g.graph, args);
  for (std::int64_t row = 0; row < size; ++row) {
    Arrays mine = args, part;
    for (std::size_t i = 0; i < args.size(); ++i)
      if (mapped[i]) mine[i] = row_of(args[i], row, one.types[i].shape);
    Arrays alone = run_alone(table, f, mine);
    for (std::size_t r = 0; r < alone.size(); ++r) part.push_back(row_of(together[r], row, alone[r].shape));
    if (std::string why = differs(part, alone); !why.empty()) return "row " + std::to_string(row) + ": " + why;
  }
  return "";
}

// ---- layouts

// All layouts of a shape on two axes, each axis on one dimension or none, in either order where both split one.
inline std::vector<Sharding> layouts_of(const Mesh& m, const runtime::Shape& shape) {
  std::vector<Sharding> out{Sharding::replicated(shape.size())};
  for (bool turned : {false, true})
    for (int x = -1; x < static_cast<int>(shape.size()); ++x)
      for (int y = -1; y < static_cast<int>(shape.size()); ++y) {
        if ((x < 0 && y < 0) || (turned && (x != y || x < 0))) continue;
        Sharding s = Sharding::replicated(shape.size());
        AxisId first = turned ? 1 : 0;
        if (x >= 0) s.dims[static_cast<std::size_t>(x)].axes.push_back(first);
        if (y >= 0) s.dims[static_cast<std::size_t>(y)].axes.push_back(static_cast<AxisId>(1 - first));
        bool fits = true;
        for (std::size_t d = 0; d < shape.size(); ++d) fits &= shape[d] % runtime::parts(m, s.dims[d]) == 0;
        if (fits) out.push_back(std::move(s));
      }
  return out;
}

// Combinations of layouts of all operands: every one up to `most`, beyond that some drawn without a pattern.
inline std::vector<std::vector<Sharding>> combinations(const Mesh& m, const std::vector<Type>& types, std::size_t most,
                                                       unsigned seed) {
  std::vector<std::vector<Sharding>> each, out;
  std::size_t all = 1;
  for (const Type& t : types) {
    each.push_back(layouts_of(m, t.shape));
    all = std::min<std::size_t>(all * each.back().size(), 1u << 20);
  }
  std::uint64_t s = seed * 7919u + 17;
  for (std::size_t k = 0; k < std::min(all, most); ++k) {
    std::vector<Sharding> one;
    std::size_t rest = k;
    for (const auto& list : each) {
      if (all > most) s = s * 6364136223846793005ull + 1442695040888963407ull;
      one.push_back(list[all > most ? (s >> 33) % list.size() : rest % list.size()]);
      rest /= list.size();
    }
    out.push_back(std::move(one));
  }
  return out;
}

inline std::string wrong_in_layouts(const ir::OpTable& table, const Graph& f, const Arrays& args, const Arrays& want,
                                    std::size_t most, unsigned seed, int& tried) {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  std::vector<Type> types;
  for (Var p : f.params) types.push_back(f.type(p));
  for (const auto& layout : combinations(*m, types, most, seed)) {
    ++tried;
    std::string why, at;
    for (const Sharding& s : layout) at += runtime::to_string(*m, s) + " ";
    try {
      why = differs(run_on(table, f, args, m, layout), want);
    } catch (const std::exception& e) { why = e.what(); }
    if (!why.empty()) return at + ": " + why;
  }
  return "";
}

inline std::string wrong_forward(const Use& u, std::size_t most, int& tried) {
  Graph f = graph_of(u);
  return wrong_in_layouts(*u.table, f, u.args, run_alone(*u.table, f, u.args), most, 1, tried);
}

inline std::string wrong_backward(const Use& u, std::size_t most, int& tried) {
  Graph f = graph_of(u);
  Sides s = sides_of(f);
  if (!s.any) return "";
  Graph back;
  try {
    back = transform::vjp(*u.table, f, s.wrt, s.with_ct, false);
  } catch (const grammar::Error&) {
    return "";  // not differentiable, and says so: wrong_derivative looks at the code
  }
  Arrays args = u.args;
  for (std::size_t r = 0; r < f.results.size(); ++r)
    if (s.with_ct[r]) args.push_back(numbers(f.type(f.results[r]), 40));
  return wrong_in_layouts(*u.table, back, args, run_alone(*u.table, back, args), most, 2, tried);
}

}  // namespace shard::testing
