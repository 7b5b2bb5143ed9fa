// Every row, every sample, layouts of its operands on 2 x 2 devices: the partitioned operation computes what the whole
// one does. Element codes and element types that the oracle does not hold are left to the table test, which runs the
// executor; they have the same rule as those that are here. All layouts of each operand while the others are whole or
// laid out alike, and pairs drawn without a pattern.
#include "grammar/diagnostic.h"
#include "interpreter/ir/samples.h"
#include "tests/interpreter/lockstep.h"
#include "tests/share.h"

using namespace shard;
using namespace shard::testing;

namespace {

std::vector<Sharding> layouts(const Mesh& m, const Type& t) {
  const runtime::Shape& shape = t.shape;
  std::vector<Sharding> out{Sharding::replicated(shape.size())};
  for (AxisId a = 0; a < 2; ++a) {
    std::vector<Sharding> more = out;
    for (const Sharding& s : out)
      for (std::size_t d = 0; d < shape.size(); ++d) {
        Sharding more_split = s;
        more_split.dims[d].axes.push_back(a);
        if (shape[d] % runtime::parts(m, more_split.dims[d]) == 0) more.push_back(more_split);
      }
    out = std::move(more);
  }
  return out;
}

Array operand(const ir::SampleOperand& o, unsigned seed) {
  Array a(o.dtype, o.shape);
  if (o.dtype == DType::Key) {
    for (std::size_t i = 0; i < a.bytes.size(); ++i) a.bytes[i] = static_cast<char>(seed * 37 + 11 * i);
    return a;
  }
  std::uint64_t s = seed * 0x9E3779B97F4A7C15ull + 99;
  for (std::size_t i = 0; i < a.size(); ++i) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    double u = static_cast<double>(s >> 11) / 9007199254740992.0, v = o.low + u * (o.high - o.low);
    a.set(i, runtime::is_float(o.dtype) ? v : std::floor(v));
  }
  return a;
}

bool plain(const ir::Sample& s) {  // element types that the oracle can hold
  for (const auto& o : s.operands) switch (o.dtype) {
      case DType::F32:
      case DType::F64:
      case DType::I32:
      case DType::I64:
      case DType::U32:
      case DType::Bool:
      case DType::Key: break;
      default: return false;
    }
  return true;
}

bool close(const Array& got, const Array& want) {
  if (!runtime::is_float(got.dtype)) return got.bytes == want.bytes;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double a = got.get(i), b = want.get(i);
    if (!(a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 2e-4 * (1 + std::fabs(b)))) return false;
  }
  return true;
}

// What the oracle makes of a graph; nothing where it lacks an element code or type.
std::optional<Arrays> reference(const Graph& f, const Arrays& args) {
  try {
    return Reference().run(f, args);
  } catch (const std::logic_error& e) {
    if (std::string(e.what()).rfind("reference:", 0) != 0) throw;
    return std::nullopt;
  }
}

int check(const Graph& f, const MeshRef& m, const Arrays& args, const Arrays& want,
          const std::vector<std::vector<Sharding>>& tried) {
  for (const auto& layout : tried) {
    std::string told;
    std::vector<Blocks> blocks;
    for (std::size_t i = 0; i < args.size(); ++i) {
      told += runtime::to_string(*m, layout[i]) + " ";
      blocks.push_back(split(args[i], *m, layout[i]));
    }
    INFO(told << "\n" << ir::to_string(f));
    try {
      transform::Program p = lowered(f, m, layout);
      auto got = Lockstep(m).run(p.local, blocks);
      for (std::size_t r = 0; r < want.size(); ++r) {
        INFO(ir::to_string(p.local));
        CHECK(close(join(got[r], want[r].shape, *m, p.results[r].layout), want[r]));
      }
    } catch (const std::exception& e) { FAIL_CHECK(e.what()); }
  }
  return static_cast<int>(tried.size());
}

// All layouts of each operand while the others are whole or, where they have its shape, laid out alike; and some
// without a pattern.
std::vector<std::vector<Sharding>> choices(const Mesh& m, const std::vector<Type>& types, unsigned seed, bool few) {
  std::vector<std::vector<Sharding>> each, out;
  for (const Type& t : types) each.push_back(layouts(m, t));
  if (types.empty()) out.push_back({});
  for (std::size_t i = 0; i < types.size() && !few; ++i)
    for (const Sharding& s : each[i]) {
      std::vector<Sharding> one;
      for (const Type& t : types) one.push_back(Sharding::replicated(t.shape.size()));
      one[i] = s;
      out.push_back(one);
      if (types.size() == 1) continue;
      for (std::size_t j = 0; j < types.size(); ++j)
        if (types[j].shape == types[i].shape) one[j] = s;
      out.push_back(one);
    }
  std::uint64_t s = seed * 77777u + 5;
  for (int extra = 0; !types.empty() && extra < (few ? 6 : types.size() > 1 ? 12 : 0); ++extra) {
    std::vector<Sharding> any;
    for (const auto& list : each) {
      s = s * 6364136223846793005ull + 1442695040888963407ull;
      any.push_back(list[(s >> 33) % list.size()]);
    }
    out.push_back(any);
  }
  return out;
}

struct RowUse {
  std::string name;
  std::vector<Type> types;
  Arrays args;
  const ir::OpDef* op;
  ir::Attrs attrs;
};

std::vector<RowUse> uses() {
  std::vector<RowUse> out;
  for (const ir::OpDef& op : rows().rows()) {
    int which = 0;
    for (const ir::Sample& sample : ir::samples_of(op)) {
      ++which;
      if (!plain(sample)) continue;
      RowUse u{std::string(op.name) + ", sample " + std::to_string(which), {}, {}, &op, sample.attrs};
      for (const auto& o : sample.operands) {
        u.types.push_back(Type::of(o.dtype, o.shape));
        u.args.push_back(operand(o, static_cast<unsigned>(u.types.size())));
      }
      out.push_back(std::move(u));
    }
  }
  return out;
}

Graph graph_of(const RowUse& u, const std::optional<ir::Layout>& wish = {}) {
  return graph(u.types, [&](Builder& b, const Vars& p) {
    Vars out = b.emit(*u.op, p, u.attrs);
    if (wish) out[0] = b.emit1(*b.core().shard, {out[0]}, {{"layout", *wish}});
    return out;
  });
}

// The table test looks at all rows under AddressSanitizer too.
std::vector<RowUse> some_uses() {
  std::vector<RowUse> out;
  int i = 0;
  for (RowUse& u : uses())
    if (i++ % kShare == 0) out.push_back(std::move(u));
  return out;
}

}  // namespace

TEST_CASE("every row in every layout") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  int checked = 0;
  for (const RowUse& u : some_uses()) {
    INFO(u.name);
    Graph f = graph_of(u);
    if (auto want = reference(f, u.args)) checked += check(f, m, u.args, *want, choices(*m, u.types, 1, false));
  }
  CHECK(checked > 5000 / (kShare * kShare));
}

TEST_CASE("every row with its result wanted in every layout") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  int checked = 0;
  for (const RowUse& u : some_uses()) {
    INFO(u.name);
    Graph plain_graph = graph_of(u);
    auto want = reference(plain_graph, u.args);
    if (!want || want->empty()) continue;
    unsigned seed = 0;
    for (const Sharding& s : layouts(*m, plain_graph.type(plain_graph.results[0])))
      if (++seed % kShare == 0)
        checked += check(graph_of(u, ir::Layout{m, s}), m, u.args, *want, choices(*m, u.types, seed, true));
  }
  CHECK(checked > 5000 / (kShare * kShare * kShare));
}

// Inside of a program blocks need not divide. What lies behind the end of a dimension is no number that a row could
// take for none: the operand comes shifted and is shifted back where it is in blocks.
TEST_CASE("every row on blocks of sizes that do not divide") {
  MeshRef m = mesh({{"X", 3}, {"Y", 2}});
  int checked = 0;
  for (const RowUse& u : some_uses()) {
    INFO(u.name);
    const auto want = reference(graph_of(u), u.args);
    if (!want) continue;
    std::vector<Sharding> whole;
    for (const Type& t : u.types) whole.push_back(Sharding::replicated(t.shape.size()));
    for (const double by : {64.0, -64.0}) {
      const auto shifts = [&](const Type& t) { return t.dtype != DType::Key && t.dtype != DType::Bool; };
      const auto shifted = [&](Builder& b, Var x, double n) {
        const Type& t = b.type(x);
        return shifts(t) ? ir::add(b, x, ir::broadcast_to(b, ir::constant(b, n, t.dtype), t.shape)) : x;
      };
      Arrays args = u.args;
      for (std::size_t i = 0; i < args.size(); ++i)
        for (std::size_t k = 0; k < args[i].size() && shifts(u.types[i]); ++k) args[i].set(k, args[i].get(k) - by);
      for (std::size_t i = 0; i < u.types.size(); ++i)
        for (std::size_t d = 0; d < u.types[i].shape.size(); ++d)
          for (const Axes& axes : {Axes{0}, Axes{1}, Axes{0, 1}}) {
            Graph f = graph(u.types, [&](Builder& b, const Vars& p) {
              Vars in;
              for (std::size_t k = 0; k < p.size(); ++k) {
                Sharding s = whole[k];
                const bool same = b.type(p[k]).shape == u.types[i].shape;
                if (k == i || same) s.dims[d].axes = axes;
                in.push_back(shifted(b, laid(b, p[k], m, s), by));
              }
              return b.emit(*u.op, in, u.attrs);
            });
            checked += check(f, m, args, *want, {whole});
          }
    }
  }
  CHECK(checked > 2000 / (kShare * kShare));
}

TEST_CASE("every derivative in some layouts") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  int checked = 0;
  for (const RowUse& u : some_uses()) {
    INFO(u.name);
    Graph f = graph_of(u);
    std::vector<int> wrt;
    for (std::size_t i = 0; i < u.types.size(); ++i)
      if (u.types[i].dtype == DType::F32) wrt.push_back(static_cast<int>(i));
    std::vector<bool> with_ct;
    std::vector<Type> types = u.types;
    Arrays args = u.args;
    bool any = false;
    for (Var r : f.results) {
      with_ct.push_back(f.type(r).dtype == DType::F32);
      if (!with_ct.back()) continue;
      any = true;
      types.push_back(f.type(r));
      args.push_back(numbers(f.type(r), 40));
    }
    if (wrt.empty() || !any) continue;
    Graph back;
    try {
      back = transform::vjp(rows(), f, wrt, with_ct, true);
    } catch (const shard::grammar::Error&) {
      continue;  // not differentiable, and says so
    }
    if (auto want = reference(back, args)) checked += check(back, m, args, *want, choices(*m, types, 3, true));
  }
  CHECK(checked > 300 / (kShare * kShare));
}
