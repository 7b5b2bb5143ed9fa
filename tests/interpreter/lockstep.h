// A slow, plain evaluator of local graphs: every device holds its block, one node after another is done on all devices,
// collectives exchange the blocks. The oracle for partitioning: a partitioned graph on blocks must compute what the
// global graph does on the whole.
#pragma once
#include <map>

#include "interpreter/transform/factor_layout.h"
#include "interpreter/transform/pipeline.h"
#include "tests/interpreter/graphs.h"

namespace shard::testing {

// What each collective does, by name: the oracle reads no column.
enum class Comm { None, Sum, Max, Min, Prod, Gather, ScatterSum, AllToAll, Permute, Index, Cast, Slice };
inline Comm comm_of(const ir::OpDef& op) {
  static const std::map<std::string_view, Comm> by_name = {{"psum", Comm::Sum},
                                                           {"pmax", Comm::Max},
                                                           {"pmin", Comm::Min},
                                                           {"pprod", Comm::Prod},
                                                           {"all_gather", Comm::Gather},
                                                           {"psum_scatter", Comm::ScatterSum},
                                                           {"all_to_all", Comm::AllToAll},
                                                           {"ppermute", Comm::Permute},
                                                           {"axis_index", Comm::Index},
                                                           {"pcast", Comm::Cast},
                                                           {"own_slice", Comm::Slice}};
  auto it = by_name.find(op.name);
  return it == by_name.end() ? Comm::None : it->second;
}
using runtime::AxisId;
using runtime::AxisSet;
using runtime::Mesh;
using runtime::MeshRef;
using runtime::Sharding;

using Axes = std::vector<AxisId>;
using Blocks = std::vector<Array>;  // one a device

inline MeshRef mesh(std::vector<std::pair<std::string, std::int64_t>> axes,
                    runtime::AxisKind kind = runtime::AxisKind::Auto) {
  Mesh m;
  int n = 1;
  for (auto& [name, size] : axes) m.axes.push_back({name, size, kind}), n *= static_cast<int>(size);
  for (int i = 0; i < n; ++i) m.devices.push_back(i);
  return std::make_shared<const Mesh>(std::move(m));
}

inline Sharding spec(std::vector<Axes> dims, Axes unreduced = {}) {
  Sharding s = Sharding::replicated(dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) s.dims[d].axes = dims[d];
  for (AxisId a : unreduced) s.unreduced.add(a);
  return s;
}

inline Var laid(Builder& b, Var x, const MeshRef& m, const Sharding& s) {
  return b.emit1(*b.core().shard, {x}, {{"layout", ir::Layout{m, s}}});
}
inline Var mm(Builder& b, Var x, Var w, const ir::AttrValue& out = {}) {
  ir::Attrs attrs{{"spec", std::string("mk,kn->mn")}};
  if (!std::holds_alternative<std::monostate>(out)) attrs.set("out", out);
  return b.emit1(*b.core().contract, {x, w}, attrs);
}

inline std::vector<std::int64_t> coordinates(const Mesh& m, std::int64_t device) {
  std::vector<std::int64_t> at(m.axes.size());
  for (std::size_t i = m.axes.size(); i-- > 0;) at[i] = device % m.axes[i].size, device /= m.axes[i].size;
  return at;
}
inline std::int64_t position(const Mesh& m, const Axes& axes, const std::vector<std::int64_t>& at) {
  std::int64_t n = 0;
  for (AxisId a : axes) n = n * m.size_of(a) + at[a];
  return n;
}

// Copies the part of `whole` that begins at `start` and has the shape of `part`, out of it or into it.
inline void part_of(Array& whole, const std::vector<std::int64_t>& start, Array& part, bool into) {
  auto outer = runtime::row_major(whole.shape), inner = runtime::row_major(part.shape);
  std::size_t size = runtime::size_of(whole.dtype);
  for (std::size_t i = 0; i < part.size(); ++i) {
    std::int64_t where = 0;
    for (std::size_t d = 0; d < part.shape.size(); ++d)
      where += (start[d] + static_cast<std::int64_t>(i) / inner[d] % part.shape[d]) * outer[d];
    char *w = whole.bytes.data() + static_cast<std::size_t>(where) * size, *p = part.bytes.data() + i * size;
    std::memcpy(into ? w : p, into ? p : w, size);
  }
}
inline Array cut(Array x, const std::vector<std::int64_t>& start, const runtime::Shape& shape) {
  Array out(x.dtype, shape);
  part_of(x, start, out, false);
  return out;
}
inline void paste(Array& x, const std::vector<std::int64_t>& start, Array part) { part_of(x, start, part, true); }

inline std::vector<std::int64_t> start_of(const Mesh& m, const runtime::Shape& local, const Sharding& s,
                                          std::int64_t device) {
  auto at = coordinates(m, device);
  std::vector<std::int64_t> start;
  for (std::size_t d = 0; d < local.size(); ++d) start.push_back(position(m, s.dims[d].axes, at) * local[d]);
  return start;
}

// A whole value as blocks. Unreduced sums: devices hold different terms that add up.
inline Blocks split(const Array& whole, const Mesh& m, const Sharding& s) {
  Blocks out;
  auto local = runtime::local_shape(m, whole.shape, s);
  Axes unreduced = s.unreduced.list();
  for (std::int64_t d = 0; d < m.size(); ++d) {
    out.push_back(cut(whole, start_of(m, local, s, d), local));
    std::int64_t n = m.size_of(s.unreduced), p = position(m, unreduced, coordinates(m, d));
    for (std::size_t i = 0; n > 1 && i < out.back().size(); ++i) {
      double v = out.back().get(i),
             term = p + 1 == n ? v - static_cast<double>((n - 1) * n / 2) : static_cast<double>(p + 1);
      if (s.unreduced_kind == runtime::UnreducedKind::Max)
        term = v - static_cast<double>((p + static_cast<std::int64_t>(i)) % n);
      if (s.unreduced_kind == runtime::UnreducedKind::Min)
        term = v + static_cast<double>((p + static_cast<std::int64_t>(i)) % n);
      out.back().set(i, term);
    }
  }
  return out;
}

// Blocks as a whole value. Devices that should hold the same must do so.
inline Array join(const Blocks& blocks, const runtime::Shape& shape, const Mesh& m, const Sharding& s) {
  Array whole(blocks[0].dtype, shape);
  auto local = runtime::local_shape(m, shape, s);
  AxisSet other = m.all() - s.split_axes() - s.unreduced;
  bool begun = false;
  for (std::int64_t d = 0; d < m.size(); ++d) {
    const Array& mine = blocks[static_cast<std::size_t>(d)];
    REQUIRE(mine.shape == local);
    auto at = coordinates(m, d), same = at;
    for (AxisId a : other.list()) same[a] = 0;
    if (same != at) {
      std::int64_t twin = 0;
      for (std::size_t i = 0; i < same.size(); ++i) twin = twin * m.axes[i].size + same[i];
      INFO("device " << d << " and device " << twin << " should hold the same");
      CHECK(mine.bytes == blocks[static_cast<std::size_t>(twin)].bytes);
      continue;
    }
    if (s.unreduced.empty()) {
      paste(whole, start_of(m, local, s, d), mine);
      continue;
    }
    Array placed(whole.dtype, shape);
    paste(placed, start_of(m, local, s, d), mine);
    for (std::size_t i = 0; i < whole.size(); ++i) whole.set(i, (begun ? whole.get(i) : 0) + placed.get(i));
    begun = true;
  }
  return whole;
}

class Lockstep {
 public:
  explicit Lockstep(MeshRef m) : mesh_(std::move(m)) {}

  std::vector<Blocks> run(const Graph& g, const std::vector<Blocks>& args) {
    std::vector<Blocks> now(g.types.size());
    REQUIRE(args.size() == g.params.size());
    for (std::size_t i = 0; i < args.size(); ++i) now[at(g.params[i])] = args[i];
    for (const Node& n : g.nodes) {
      std::vector<Blocks> in, out;
      for (Var v : n.inputs) in.push_back(now[at(v)]);
      std::vector<Type> types;
      for (Var v : n.outputs) types.push_back(g.type(v));
      out = node(n, in, types);
      for (std::size_t k = 0; k < n.outputs.size(); ++k) {
        for (const Array& a : out[k])
          if (a.shape != types[k].shape || a.dtype != types[k].dtype)
            throw std::logic_error("lockstep: " + std::string(n.op->name) + " gives " + runtime::to_string(a.shape) +
                                   ", is typed " + runtime::to_string(types[k]));
        now[at(n.outputs[k])] = out[k];
      }
    }
    std::vector<Blocks> results;
    for (Var r : g.results) results.push_back(now[at(r)]);
    return results;
  }

 private:
  std::size_t devices() const { return static_cast<std::size_t>(mesh_->size()); }

  std::vector<Blocks> node(const Node& n, const std::vector<Blocks>& in, const std::vector<Type>& types) {
    const ir::Structure* s = ir::structure_of(*n.op);
    if (s && *s == ir::Structure::Collective) return {collective(n, in.empty() ? Blocks(devices()) : in[0], types[0])};
    if (s && *s == ir::Structure::Scan) return scan(n, in, types);
    if (s && *s == ir::Structure::While) return while_loop(n, in);
    if (s && *s == ir::Structure::Branch)
      return run(*n.regions[in[0][0].get(0) != 0 ? 0 : 1], std::vector<Blocks>(in.begin() + 1, in.end()));
    // One device after another, as a graph of one node.
    Graph one;
    Node copy = n;
    copy.inputs.clear();
    copy.outputs.clear();
    for (const Blocks& b : in) {
      copy.inputs.push_back(Var{static_cast<std::int32_t>(one.types.size())});
      one.types.push_back(Type::of(b[0].dtype, b[0].shape));
    }
    one.params = copy.inputs;
    for (const Type& t : types) {
      copy.outputs.push_back(Var{static_cast<std::int32_t>(one.types.size())});
      one.types.push_back(t);
    }
    one.results = copy.outputs;
    one.nodes.push_back(copy);
    std::vector<Blocks> out(types.size());
    for (std::size_t d = 0; d < devices(); ++d) {
      Arrays mine;
      for (const Blocks& b : in) mine.push_back(b[d]);
      Arrays got = Reference().run(one, mine);
      for (std::size_t k = 0; k < got.size(); ++k) out[k].push_back(got[k]);
    }
    return out;
  }

  std::vector<Blocks> scan(const Node& n, const std::vector<Blocks>& in, const std::vector<Type>& types) {
    auto nc = static_cast<std::size_t>(n.attrs.integer("consts")),
         nk = static_cast<std::size_t>(n.attrs.integer("carry"));
    std::int64_t length = n.attrs.integer("length");
    std::vector<Blocks> carry(in.begin() + static_cast<std::ptrdiff_t>(nc),
                              in.begin() + static_cast<std::ptrdiff_t>(nc + nk)),
        out;
    for (const Type& t : types) out.emplace_back(devices(), Array(t.dtype, t.shape));
    for (std::int64_t turn = 0; turn < length; ++turn) {
      std::int64_t i = n.attrs.flag("reverse") ? length - 1 - turn : turn;
      std::vector<Blocks> args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(nc));
      args.insert(args.end(), carry.begin(), carry.end());
      for (std::size_t x = nc + nk; x < in.size(); ++x) {
        Blocks rows;
        for (const Array& a : in[x]) {
          Array r(a.dtype, runtime::Shape(a.shape.begin() + 1, a.shape.end()));
          std::memcpy(r.bytes.data(), a.bytes.data() + static_cast<std::size_t>(i) * r.bytes.size(), r.bytes.size());
          rows.push_back(r);
        }
        args.push_back(rows);
      }
      auto got = run(*n.regions[0], args);
      for (std::size_t k = 0; k < nk; ++k) carry[k] = got[k];
      for (std::size_t k = nk; k < got.size(); ++k)
        for (std::size_t d = 0; d < devices(); ++d)
          std::memcpy(out[k][d].bytes.data() + static_cast<std::size_t>(i) * got[k][d].bytes.size(),
                      got[k][d].bytes.data(), got[k][d].bytes.size());
    }
    for (std::size_t k = 0; k < nk; ++k) out[k] = carry[k];
    return out;
  }

  std::vector<Blocks> while_loop(const Node& n, const std::vector<Blocks>& in) {
    auto cc = n.attrs.integer("cond_consts"), bc = n.attrs.integer("body_consts");
    std::vector<Blocks> cond(in.begin(), in.begin() + cc), body(in.begin() + cc, in.begin() + cc + bc),
        carry(in.begin() + cc + bc, in.end());
    auto with = [&](std::vector<Blocks> a) {
      a.insert(a.end(), carry.begin(), carry.end());
      return a;
    };
    while (run(*n.regions[0], with(cond))[0][0].get(0) != 0) carry = run(*n.regions[1], with(body));
    return carry;
  }

  // Devices along `axes` from the point of view of device d, in order.
  std::vector<std::size_t> along(const Axes& axes, std::size_t d) const {
    auto me = coordinates(*mesh_, static_cast<std::int64_t>(d));
    std::vector<std::size_t> out;
    std::int64_t n = 1;
    for (AxisId a : axes) n *= mesh_->size_of(a);
    for (std::int64_t i = 0; i < n; ++i) {
      auto there = me;
      std::int64_t rest = i;
      for (std::size_t k = axes.size(); k-- > 0;)
        there[axes[k]] = rest % mesh_->size_of(axes[k]), rest /= mesh_->size_of(axes[k]);
      std::int64_t p = 0;
      for (std::size_t k = 0; k < there.size(); ++k) p = p * mesh_->axes[k].size + there[k];
      out.push_back(static_cast<std::size_t>(p));
    }
    return out;
  }

  Array reduced(Comm how, const Blocks& x, const std::vector<std::size_t>& who) const {
    Array out = x[who[0]];
    for (std::size_t k = 1; k < who.size(); ++k)
      for (std::size_t i = 0; i < out.size(); ++i) {
        double a = out.get(i), b = x[who[k]].get(i);
        out.set(i, how == Comm::Max    ? std::max(a, b)
                   : how == Comm::Min  ? std::min(a, b)
                   : how == Comm::Prod ? a * b
                                       : a + b);
      }
    return out;
  }

  Blocks collective(const Node& n, const Blocks& x, const Type& type) const {
    Axes axes;
    for (auto a : n.attrs.ints("axes")) axes.push_back(static_cast<AxisId>(a));
    Blocks out;
    for (std::size_t d = 0; d < devices(); ++d) {
      auto who = along(axes, d);
      std::int64_t me = position(*mesh_, axes, coordinates(*mesh_, static_cast<std::int64_t>(d)));
      if (n.attrs.has("groups")) {  // only the members of its group, in their order
        const ir::Ints& groups = n.attrs.ints("groups");
        std::int64_t size = n.attrs.integer("group_size"),
                     i = std::find(groups.begin(), groups.end(), me) - groups.begin();
        std::vector<std::size_t> members;
        for (std::int64_t k = 0; k < size; ++k)
          members.push_back(who[static_cast<std::size_t>(groups[static_cast<std::size_t>(i / size * size + k)])]);
        who = members;
        me = i % size;
      }
      auto count = static_cast<std::int64_t>(who.size());
      auto dim = [&](const char* name, std::size_t rank) {
        return static_cast<std::size_t>(n.attrs.integer(name) + static_cast<std::int64_t>(rank));
      };
      bool tiled = n.attrs.has("tiled") && n.attrs.flag("tiled");
      // Piece i of an array along a dimension, cut into as many pieces as there are devices.
      auto piece = [&](const Array& a, std::size_t k, std::int64_t i) {
        runtime::Shape shape = a.shape;
        shape[k] /= count;
        std::vector<std::int64_t> start(shape.size(), 0);
        start[k] = i * shape[k];
        return cut(a, start, shape);
      };
      switch (comm_of(*n.op)) {
        case Comm::Sum:
        case Comm::Max:
        case Comm::Min:
        case Comm::Prod: out.push_back(reduced(comm_of(*n.op), x, who)); break;
        case Comm::Index: {
          Array a(DType::I32, {});
          a.set(0, static_cast<double>(me));
          out.push_back(a);
          break;
        }
        case Comm::Cast: out.push_back(x[d]); break;
        case Comm::Slice: out.push_back(piece(x[d], dim("axis", x[d].shape.size()), me)); break;
        case Comm::ScatterSum: {
          Array p = piece(reduced(Comm::Sum, x, who), dim("axis", x[d].shape.size()), me);
          p.shape = type.shape;
          out.push_back(p);
          break;
        }
        case Comm::Gather:
        case Comm::AllToAll: {
          bool gather = comm_of(*n.op) == Comm::Gather;
          Array whole(type.dtype, type.shape);
          std::size_t k = dim(gather ? "axis" : "concat", type.shape.size());
          for (std::int64_t i = 0; i < count; ++i) {
            Array part = x[who[static_cast<std::size_t>(i)]];
            if (!gather) part = piece(part, dim("split", part.shape.size()), me);
            runtime::Shape shape = type.shape;
            shape[k] /= count;
            if (!tiled) part.shape = shape;
            REQUIRE(part.shape == shape);
            std::vector<std::int64_t> start(shape.size(), 0);
            start[k] = i * shape[k];
            paste(whole, start, part);
          }
          out.push_back(whole);
          break;
        }
        case Comm::Permute: {
          Array a(type.dtype, type.shape);
          for (auto [from, to] : n.attrs.pairs("pairs"))
            if (to == me) a = x[who[static_cast<std::size_t>(from)]];
          out.push_back(a);
          break;
        }
        case Comm::None: throw std::logic_error("lockstep: not a collective");
      }
    }
    return out;
  }

  MeshRef mesh_;
};

// What a local graph says between devices: "psum(64)", the larger of what one device gives and gets, in order; loops
// once.
inline void collect_communication(const Graph& g, std::vector<std::string>& out) {
  for (const Node& n : g.nodes) {
    for (const auto& r : n.regions) collect_communication(*r, out);
    Comm c = comm_of(*n.op);
    if (c == Comm::None || c == Comm::Index || c == Comm::Cast || c == Comm::Slice) continue;
    std::int64_t bytes = std::max(transform::bytes_of(g.type(n.inputs[0])), transform::bytes_of(g.type(n.outputs[0])));
    out.push_back(std::string(n.op->name) + "(" + std::to_string(bytes) + ")");
  }
}
inline std::vector<std::string> communicates(const Graph& g) {
  std::vector<std::string> out;
  collect_communication(g, out);
  return out;
}

// The pipeline's program for arguments of these layouts, verified after each pass.
inline transform::Program lowered(const Graph& f, const MeshRef& m, const std::vector<Sharding>& layouts,
                                  transform::Passes passes = {.join_sums = false}) {
  std::vector<transform::ArrayInfo> args;
  for (std::size_t i = 0; i < f.params.size(); ++i)
    args.push_back({f.type(f.params[i]), layouts[i], layouts[i].split_axes() | layouts[i].unreduced, m});
  return transform::lower(rows(), f, m, args, {[](std::string_view, const Graph& g) { ir::verify(g); }, passes});
}

// Partitions `f` for these layouts, runs both on the same numbers, compares, and gives the partitioned graph.
inline transform::Program check_partitioned(const Graph& f, const MeshRef& m, const std::vector<Sharding>& layouts,
                                            unsigned seed = 1, double tolerance = 2e-5) {
  transform::Program p = lowered(f, m, layouts);
  Arrays args;
  std::vector<Blocks> blocks;
  for (std::size_t i = 0; i < f.params.size(); ++i) {
    args.push_back(numbers(f.type(f.params[i]), seed + static_cast<unsigned>(i)));
    blocks.push_back(split(args.back(), *m, layouts[i]));
  }
  Arrays want = Reference().run(f, args);
  std::vector<Blocks> got = Lockstep(p.mesh ? p.mesh : m).run(p.local, blocks);  // the same devices in their order
  REQUIRE(p.results.size() == want.size());
  for (std::size_t r = 0; r < want.size(); ++r) {
    INFO("result " << r << " as " << runtime::to_string(*m, p.results[r].layout) << "\n" << ir::to_string(p.local));
    check_close(join(got[r], want[r].shape, *m, p.results[r].layout).values(), want[r].values(), tolerance);
  }
  return p;
}

}  // namespace shard::testing
