#include "interpreter/lang/staging/advice.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "grammar/stable_sort.h"
#include "interpreter/ir/collective.h"
#include "interpreter/ir/why.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/explanation.h"
#include "interpreter/transform/pipeline.h"
#include "runtime/array/stop.h"
#include "runtime/mesh/axis_parts.h"

namespace shard::lang {
namespace {

using runtime::AxisId;
using transform::CommRecord;

constexpr std::size_t kCostliest = 4, kRounds = 3, kSpecs = 12;
constexpr double kBetter = 0.99, kMoreWork = 1.5;
constexpr auto kTime = std::chrono::seconds(1);

std::int64_t sent(const transform::Program& p) {
  std::int64_t all = 0;
  for (const CommRecord& r : p.communication) all += r.sent;
  return all;
}

// What can be written of a value's layout, which may be over parts of axes.
runtime::Sharding over_wholes(const runtime::Type& t) {
  return t.mesh && t.mesh->whole ? runtime::to_wholes(t.sharding, *t.mesh) : t.sharding;
}

// A value that a constraint is for: what an expression of the script made, or an argument.
struct Place {
  grammar::Span made;
  std::size_t argument = 0;  // where `made` is of no source
  runtime::Type type;
};

struct Constraint {
  Place place;
  runtime::Sharding layout;
};

// The graph with a constraint on such a value; nothing where it is not found. Of the operations of one expression it is
// the first of that shape which another expression reads.
class Constrained {
 public:
  Constrained(const ir::OpTable& table, const runtime::MeshRef& mesh) : table_(table), mesh_(mesh) {}

  std::optional<ir::Graph> apply(const ir::Graph& g, const Constraint& c) const {
    if (!c.place.made.known()) return behind(g, g.params.at(c.place.argument), 0, c);
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      const ir::Node& n = g.nodes[i];
      if (n.span == c.place.made)
        for (const ir::Var v : n.outputs)
          if (g.type(v).shape == c.place.type.shape && leaves(g, v, n.span)) return behind(g, v, i + 1, c);
      for (std::size_t r = 0; r < n.regions.size(); ++r)
        if (auto inner = apply_inside(*n.regions[r], c)) {
          ir::Graph out = g;
          out.nodes[i].regions[r] = ir::share(std::move(*inner));
          return out;
        }
    }
    return std::nullopt;
  }

 private:
  std::optional<ir::Graph> apply_inside(const ir::Graph& g, const Constraint& c) const {
    return c.place.made.known() ? apply(g, c) : std::nullopt;
  }
  static bool leaves(const ir::Graph& g, ir::Var v, grammar::Span span) {
    if (std::find(g.results.begin(), g.results.end(), v) != g.results.end()) return true;
    return std::any_of(g.nodes.begin(), g.nodes.end(), [&](const ir::Node& n) {
      return n.span != span && std::find(n.inputs.begin(), n.inputs.end(), v) != n.inputs.end();
    });
  }
  std::optional<ir::Graph> behind(const ir::Graph& g, ir::Var v, std::size_t at, const Constraint& c) const {
    ir::Node node;
    node.op = table_.core().shard;
    node.attrs.set("layout", ir::Layout{mesh_, c.layout});
    node.inputs = {v};
    node.span = at > 0 ? g.nodes[at - 1].span : ir::Origin();
    const std::vector<runtime::Type> in = {g.type(v)};
    try {
      const std::vector<runtime::Type> made = ir::infer(ir::OpCall{*node.op, in, node.attrs});
      if (made[0] != in[0]) return std::nullopt;  // a type of its own: the rest was traced for another one
    } catch (const runtime::RuntimeError&) { return std::nullopt; }
    ir::Graph out = g;
    const ir::Var laid{static_cast<std::int32_t>(out.types.size())};
    out.types.push_back(in[0]);
    node.outputs = {laid};
    for (std::size_t i = at; i < out.nodes.size(); ++i)
      std::replace(out.nodes[i].inputs.begin(), out.nodes[i].inputs.end(), v, laid);
    std::replace(out.results.begin(), out.results.end(), v, laid);
    out.nodes.insert(out.nodes.begin() + static_cast<std::ptrdiff_t>(at), std::move(node));
    return out;
  }
  const ir::OpTable& table_;
  const runtime::MeshRef& mesh_;
};

class Search {
 public:
  Search(Interpreter& in, const CompiledCall& call)
      : in_(in), call_(call), constrained_(in.context().table(), call.mesh), until_(Clock::now() + kTime) {}

  Advice run() {
    Advice out;
    std::optional<transform::Program> now = lowered(*call_.graph);
    if (!now) return out;
    out.before = out.after = sent(*now);
    results_ = now->results;
    flops_ = now->flops;
    ir::Graph graph = *call_.graph;
    for (std::size_t round = 0; round < kRounds && out.after > 0 && in_time_; ++round) {
      std::optional<Tried> best;
      for (const std::vector<Constraint>& together : candidates(*now)) {
        if (Clock::now() > until_) {
          in_time_ = false;
          break;
        }
        std::optional<Tried> one = tried(graph, together);
        if (one && (!best || one->sent < best->sent)) best = std::move(one);
      }
      if (!best || static_cast<double>(best->sent) > kBetter * static_cast<double>(out.after)) break;
      for (const Constraint& c : best->constraints) out.constraints.push_back(words(c));
      out.after = best->sent;
      out.work = flops_ > 0 ? best->program.flops / flops_ : 1;
      graph = std::move(best->graph);
      now = std::move(best->program);
    }
    out.tried = count_;
    out.in_time = in_time_;
    return out;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Tried {
    std::vector<Constraint> constraints;
    ir::Graph graph;
    transform::Program program;
    std::int64_t sent = 0;
  };

  std::optional<transform::Program> lowered(const ir::Graph& g) const {
    runtime::Stop::ask_here();
    try {
      return transform::lower(in_.context().table(), g, call_.mesh, call_.given,
                              transform::LowerOptions{{}, in_.context().target().passes()});
    } catch (const runtime::RuntimeError& e) {
      if (e.code == "interrupt") throw;
    } catch (const grammar::Error&) {  // the layout does not go with another one that is written
    }
    return std::nullopt;
  }

  std::optional<Tried> tried(const ir::Graph& from, const std::vector<Constraint>& together) {
    std::optional<ir::Graph> graph(from);
    for (const Constraint& c : together)
      if (graph) graph = constrained_.apply(*graph, c);
    if (!graph) return std::nullopt;
    ++count_;
    std::optional<transform::Program> program = lowered(*graph);
    if (!program || program->results != results_ || program->flops > kMoreWork * flops_) return std::nullopt;
    const std::int64_t bytes = sent(*program);
    return Tried{together, std::move(*graph), std::move(*program), bytes};
  }

  // Of the costliest collectives first; each value next to one by itself, then all of them alike.
  std::vector<std::vector<Constraint>> candidates(const transform::Program& p) const {
    std::vector<const CommRecord*> records;
    for (const CommRecord& r : p.communication)
      if (r.why) records.push_back(&r);
    stable_sort(records, [&](const CommRecord* a, const CommRecord* b) { return a->sent > b->sent; });
    if (records.size() > kCostliest) records.resize(kCostliest);
    std::vector<std::vector<Constraint>> out;
    for (const CommRecord* r : records) {
      std::vector<Place> places;
      add(places, r->why->value.made, r->why->value.type);
      for (const auto& v : r->why->terms) add(places, v.made, v.type);
      for (const auto& v : r->why->beside) add(places, v.made, v.type);
      if (r->why->by) add(places, r->why->where, r->why->wanted);
      for (const Place& place : places)
        for (const runtime::Sharding& s : candidate_layouts(place.type, *call_.mesh)) out.push_back({{place, s}});
      if (places.size() < 2) continue;
      for (const runtime::Sharding& s : candidate_layouts(places[0].type, *call_.mesh)) {
        std::vector<Constraint> alike;
        for (const Place& place : places)
          if (place.type.shape.size() == s.dims.size()) alike.push_back({place, s});
        if (alike.size() > 1) out.push_back(std::move(alike));
      }
    }
    return out;
  }

  // Only what can be written: an expression on one line, an argument that has a name of its own.
  void add(std::vector<Place>& to, grammar::Span made, const runtime::Type& type) const {
    Place place{made, 0, type};
    if (made.known()) {
      if (code_of(made).empty()) return;
    } else {
      const auto given = [&](const transform::ArrayInfo& a) {
        return a.type.shape == type.shape && a.layout.dims == over_wholes(type).dims;
      };
      if (std::count_if(call_.given.begin(), call_.given.end(), given) != 1) return;
      place.argument =
          static_cast<std::size_t>(std::find_if(call_.given.begin(), call_.given.end(), given) - call_.given.begin());
      if (place.argument >= call_.names.size() || call_.names[place.argument].find('.') != std::string::npos) return;
    }
    const auto same = [&](const Place& p) { return p.made == place.made && p.argument == place.argument; };
    if (std::none_of(to.begin(), to.end(), same)) to.push_back(std::move(place));
  }

  std::string code_of(grammar::Span span) const {
    if (!in_.sources().has(span.source)) return "";
    std::string code(in_.sources().at(span.source).text().substr(span.begin, span.end - span.begin));
    const bool whole = code.find('\n') == std::string::npos && !code.starts_with("shard ") &&
                       !code.starts_with("let ") && !code.starts_with("return ");
    return whole ? code : "";
  }

  std::string words(const Constraint& c) const {
    const std::string spec = " as " + runtime::to_string(*call_.mesh, c.layout);
    if (!c.place.made.known()) {
      const std::string& name = call_.names[c.place.argument];
      return "first: let " + name + " = shard " + name + spec;
    }
    return "line " + std::to_string(source_line(in_.sources(), c.place.made)) + ": (shard " + code_of(c.place.made) +
           spec + ")";
  }

  Interpreter& in_;
  const CompiledCall& call_;
  Constrained constrained_;
  Clock::time_point until_;
  std::vector<transform::ArrayInfo> results_;  // as they are without; the caller may need them so
  double flops_ = 0;
  bool in_time_ = true;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<runtime::Sharding> candidate_layouts(const runtime::Type& t, const runtime::Mesh& mesh) {
  std::vector<runtime::Sharding> out;
  const auto add = [&](const runtime::Sharding& s) {
    if (std::find(out.begin(), out.end(), s) == out.end() && out.size() < kSpecs) out.push_back(s);
  };
  const std::size_t rank = t.shape.size();
  runtime::Sharding now = over_wholes(t);
  now.unreduced = now.reduced = {};
  add(now);
  for (std::size_t d = 0; d < rank; ++d)
    for (AxisId a = 0; a < mesh.axes.size(); ++a) {
      if (mesh.size_of(a) < 2 || t.shape[d] % mesh.size_of(a) != 0) continue;
      runtime::Sharding one = runtime::Sharding::replicated(rank), more = now;
      one.dims[d].axes = {a};
      add(one);
      if (more.split_axes().has(a) || !more.dims[d].axes.empty()) continue;
      more.dims[d].axes = {a};
      add(more);
    }
  add(runtime::Sharding::replicated(rank));
  return out;
}

Advice advise(Interpreter& in, const CompiledCall& call) { return call.mesh ? Search(in, call).run() : Advice{}; }

std::string advice_text(const Advice& a) {
  const std::string tried = in_thousands(static_cast<std::int64_t>(a.tried)) +
                            (a.tried == 1 ? " constraint was tried" : " constraints were tried") +
                            (a.in_time ? "" : ", then the time was up");
  if (a.before == 0) return "  advice  nothing is sent\n";
  if (a.constraints.empty())
    return "  advice  none: a device sends " + in_thousands(a.before) + " bytes; " + tried + "\n";
  std::string out = "  advice  a device sends about " + in_thousands(a.after) + " bytes instead of " +
                    in_thousands(a.before) + " with\n";
  for (const std::string& c : a.constraints) out += "    " + c + "\n";
  if (a.work > 1.01) out += "    and computes " + two_places(a.work) + " times as much\n";
  return out + "    (" + tried + ")\n";
}

}  // namespace shard::lang
