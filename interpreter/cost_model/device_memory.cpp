// Bytes on one device: what the engine's own planning says that a call holds (`exec::MemoryUse`, which memory_stats
// tells too), with results in the memory of arguments that are given away where one fits, and a reason for each byte.
#include <algorithm>

#include "grammar/stable_sort.h"
#include "interpreter/cost_model/estimate.h"
#include "interpreter/ir/op.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/factor_layout.h"

namespace shard::cost_model {
namespace {

using ir::Graph;
using ir::Node;
using ir::Var;

std::int64_t on_device(const exec::ArrayInfo& a) {
  return runtime::bytes_of(a.mesh ? runtime::local_shape(*a.mesh, a.type.shape, a.layout) : a.type.shape,
                           runtime::size_of(a.type.dtype));
}

// Which argument's memory each result takes: by result, -1 for none.
std::vector<int> places_of_results(const transform::Program& program, std::span<const exec::ArrayInfo> arguments,
                                   const std::vector<bool>& donated) {
  std::vector<int> out;
  std::vector<char> taken(arguments.size(), 0);
  for (std::size_t r = 0; r < program.results.size(); ++r) {
    out.push_back(-1);
    const Var v = program.local.results[r];
    const auto same = std::find(program.local.params.begin(), program.local.params.end(), v);
    if (same != program.local.params.end()) {  // it is that argument
      out.back() = static_cast<int>(same - program.local.params.begin());
      continue;
    }
    for (std::size_t i = 0; i < arguments.size() && out.back() < 0; ++i)
      if (!taken[i] && i < donated.size() && donated[i] && on_device(arguments[i]) == on_device(program.results[r])) {
        taken[i] = 1;
        out.back() = static_cast<int>(i);
      }
  }
  return out;
}

// Of a loop's result the line inside of it.
grammar::Span made_at(const Node& n, Var v) {
  if (n.regions.empty()) return n.span;
  for (const ir::RegionEdge& e : ir::region_edges(n).edges) {
    if (!e.output || n.outputs[*e.output] != v || e.results.empty()) continue;
    const Graph& body = *n.regions[e.results[0].region];
    const Var made = body.results[e.results[0].index];
    for (const Node& m : body.nodes)
      if (std::find(m.outputs.begin(), m.outputs.end(), made) != m.outputs.end()) return made_at(m, made);
  }
  return n.span;
}

bool says_something(const Node& n) { return n.op->comm && n.op->comm->communicates(); }

class Reasons {
 public:
  Reasons(const Graph& g, const std::vector<int>& places, const exec::MemoryUse& use)
      : g_(g), forward_(g.types.size(), 0), kept_(g.types.size(), 0) {
    // What reaches a result that is not a new state: the forward part, as gradients and updates reach the state alone.
    for (std::size_t r = 0; r < places.size(); ++r)
      if (places[r] < 0) forward_[at(g.results[r])] = 1;
    for (std::size_t i = g.nodes.size(); i-- > 0;)
      if (forward(g.nodes[i]))
        for (Var v : g.nodes[i].inputs) forward_[at(v)] = 1;
    std::vector<char> made(forward_);  // ... and what is made beside it: a loop's rows for the backward one
    for (const Node& n : g.nodes)
      for (Var v : n.outputs) made[at(v)] = forward(n);
    for (const Node& n : g.nodes)
      for (Var v : n.inputs) kept_[at(v)] |= made[at(v)] && !forward(n) && ir::host_copy(n) != ir::HostCopy::Out;
    for (const auto& [v, reader] : use.read_again) kept_[at(v)] |= made[at(v)] && !forward(*reader);
    for (Var v : use.made_again) kept_[at(v)] = 0;
    made_.swap(made);
  }
  MemoryCause of_argument(std::size_t i, bool becomes) const {
    return !becomes                     ? MemoryCause::Arguments
           : forward_[at(g_.params[i])] ? MemoryCause::Parameters
                                        : MemoryCause::Optimizer;
  }
  // `like`: types of what is learned.
  MemoryCause of(const exec::Piece& p, const std::vector<ir::Type>& like) const {
    if (p.maker && ir::host_copy(*p.maker) != ir::HostCopy::None) return MemoryCause::Temporaries;
    const bool here = p.depth == 0 && p.value.valid();
    const auto same = [&](const ir::Type& t) { return t.shape == g_.type(p.value).shape; };
    if (here && !made_[at(p.value)] && std::any_of(like.begin(), like.end(), same)) return MemoryCause::Gradients;
    if (p.maker && says_something(*p.maker)) return MemoryCause::Communication;
    return here && kept_[at(p.value)] ? MemoryCause::Residual : MemoryCause::Temporaries;
  }

  bool kept(Var v) const { return kept_[at(v)] != 0; }

 private:
  bool forward(const Node& n) const {
    return std::any_of(n.outputs.begin(), n.outputs.end(), [&](Var v) { return forward_[at(v)] != 0; });
  }
  const Graph& g_;
  std::vector<char> forward_, made_, kept_;
};

}  // namespace

std::string_view words_of(MemoryCause why) {
  constexpr std::string_view words[kWhys] = {"parameters", "optimizer_state", "other_arguments", "results", "gradients",
                                             "kept",       "communication",   "temporaries"};
  return words[static_cast<std::size_t>(why)];
}

Memory memory_of(const exec::Executable& plan, std::span<const exec::ArrayInfo> arguments,
                 const std::vector<bool>& donated) {
  const transform::Program& program = plan.program();
  const exec::MemoryUse& use = plan.memory();
  const std::vector<int> places = places_of_results(program, arguments, donated);
  const Reasons reasons(program.local, places, use);
  Memory out;
  const auto add = [&](MemoryCause why, std::int64_t bytes) { out.whys[static_cast<std::size_t>(why)] += bytes; };
  std::vector<ir::Type> learned;
  const std::vector<int> uses = ir::count_uses(program.local);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (uses[at(program.local.params[i])] == 0) continue;
    const bool becomes = i < donated.size() && donated[i];
    const MemoryCause why = reasons.of_argument(i, becomes);
    if (becomes) learned.push_back(program.local.type(program.local.params[i]));
    out.arguments += on_device(arguments[i]);
    add(why, on_device(arguments[i]));
  }
  for (std::size_t r = 0; r < places.size(); ++r) {
    out.results += on_device(program.results[r]);
    if (places[r] < 0) add(MemoryCause::Results, on_device(program.results[r]));
  }
  const std::int64_t always = out.arguments + out.of(MemoryCause::Results);
  out.peak = always + use.temporaries;
  out.scratch = use.working;
  out.host = use.host;
  for (const auto& [node, bytes] : use.curve) out.curve.emplace_back(node, always + bytes);
  if (use.most.at) out.where = use.most.at->span;
  for (const exec::Piece& p : use.most.pieces) {
    Cause c{p.maker ? made_at(*p.maker, p.value) : grammar::Span{}, reasons.of(p, learned), p.bytes};
    add(c.why, c.bytes);
    const auto same = [&](const Cause& x) {
      return x.why == c.why && x.where.source == c.where.source && x.where.begin == c.where.begin;
    };
    const auto known = std::find_if(out.causes.begin(), out.causes.end(), same);
    (known == out.causes.end() ? out.causes.emplace_back(Cause{c.where, c.why, 0}) : *known).bytes += c.bytes;
  }
  stable_sort(out.causes, [](const Cause& a, const Cause& b) { return a.bytes > b.bytes; });
  return out;
}

namespace {

// The name of a value, seen through its copy to the host and out of the loop that makes its rows.
std::string name_of(const Graph& g, const Node& n, Var v) {
  const auto maker = [](const Graph& in, Var w) {
    return std::find_if(in.nodes.begin(), in.nodes.end(), [&](const Node& m) {
      return std::find(m.outputs.begin(), m.outputs.end(), w) != m.outputs.end();
    });
  };
  if (ir::host_copy(n) != ir::HostCopy::None) {
    const auto from = maker(g, n.inputs[0]);
    return from == g.nodes.end() ? "" : name_of(g, *from, n.inputs[0]);
  }
  if (n.regions.empty()) return n.attrs.has("name") ? n.attrs.text("name") : "";
  for (const ir::RegionEdge& e : ir::region_edges(n).edges) {
    if (!e.output || n.outputs[*e.output] != v || e.results.empty()) continue;
    const Graph& body = *n.regions[e.results[0].region];
    const Var made = body.results[e.results[0].index];
    if (const auto m = maker(body, made); m != body.nodes.end()) return name_of(body, *m, made);
  }
  return "";
}

bool is_view(const Node& n) {
  const ir::Structure* s = ir::structure_of(*n.op);
  return std::holds_alternative<ir::ViewOf>(n.op->kernel) || (s && *s == ir::Structure::Shard) ||
         (n.op->comm && !n.op->comm->communicates());
}

}  // namespace

std::int64_t Residual::bytes() const {
  return count * runtime::numel(type.shape) * static_cast<std::int64_t>(runtime::size_of(type.dtype));
}

std::vector<Residual> residuals_of(const exec::Executable& plan, std::span<const exec::ArrayInfo> arguments,
                                   const std::vector<bool>& donated) {
  const Graph& g = plan.program().local;
  const Reasons reasons(g, places_of_results(plan.program(), arguments, donated), plan.memory());
  std::vector<char> kept(g.types.size(), 0);
  for (std::size_t v = 0; v < kept.size(); ++v) kept[v] = reasons.kept(Var{static_cast<std::int32_t>(v)});
  std::vector<Residual> out;
  for (std::size_t i = g.nodes.size(); i-- > 0;) {  // what is kept of a view is what it looks at
    const Node& n = g.nodes[i];
    for (Var v : n.outputs) {
      const bool host = ir::lies_on_host(n, v);
      if (n.inputs.empty() || (!host && !kept[at(v)])) continue;
      if (is_view(n)) {
        kept[at(n.inputs[0])] = 1;
        continue;
      }
      Residual one{name_of(g, n, v), ir::Type::of(g.type(v).dtype, g.type(v).shape), made_at(n, v), host};
      const auto same = std::find_if(out.begin(), out.end(), [&](const Residual& k) {
        return k.name == one.name && k.type == one.type && k.host == host && k.where.source == one.where.source &&
               k.where.begin == one.where.begin;
      });
      same == out.end() ? void(out.push_back(std::move(one))) : void(++same->count);
    }
  }
  std::reverse(out.begin(), out.end());
  stable_sort(out, [](const Residual& a, const Residual& b) { return a.bytes() > b.bytes(); });
  return out;
}

std::vector<bool> handed_over(std::span<const exec::ArrayInfo> arguments, const transform::Program& program) {
  std::vector<bool> out;
  std::vector<char> taken(program.results.size(), 0);
  for (const exec::ArrayInfo& a : arguments) {
    bool like = false;
    for (std::size_t r = 0; r < taken.size() && !like; ++r)
      if (!taken[r] && program.results[r].type == a.type && program.results[r].layout == a.layout) {
        like = true;
        taken[r] = 1;
      }
    out.push_back(like);
  }
  return out;
}

Estimate estimate(const Chip& chip, const exec::Executable& plan, std::span<const exec::ArrayInfo> arguments,
                  const std::vector<bool>& donated) {
  const transform::Program& program = plan.program();
  return estimate(chip, program, *instructions_of(plan, chip.simulated), memory_of(plan, arguments, donated));
}

Estimate estimate(const Chip& chip, const transform::Program& program, const Instructions& instructions,
                  const Memory& memory) {
  Estimate out;
  out.time = play(chip, instructions, program.mesh.get());
  out.time.seconds += chip.call;
  out.time.compute += chip.call;
  out.memory = memory;
  if (chip.simulated > 0) {  // on the machine itself: what its kernels take for themselves counts
    out.memory.peak += memory.scratch + memory.host;
    out.memory.whys[static_cast<std::size_t>(MemoryCause::Temporaries)] += memory.scratch;
    out.memory.whys[static_cast<std::size_t>(MemoryCause::Residual)] += memory.host;
    out.memory.scratch = out.memory.host = 0;
  }
  const double devices = chip.simulated > 0 && program.mesh ? static_cast<double>(program.mesh->size()) : 1;
  out.fits = static_cast<double>(out.memory.peak) * devices <= chip.memory;
  return out;
}

}  // namespace shard::cost_model
