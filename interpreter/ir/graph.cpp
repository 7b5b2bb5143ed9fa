// Graphs by structure, their text (one node a line:  %3: f32[4,2] = mul(%0, %1)), and their laws: broken ones are
// defects of a pass or a row, never of a script.
#include "interpreter/ir/graph.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "interpreter/ir/op.h"

namespace shard::ir {
namespace {

bool equal_nodes(const Node& a, const Node& b) {
  if (a.op != b.op || a.inputs != b.inputs || a.outputs != b.outputs || a.regions.size() != b.regions.size() ||
      !(a.attrs == b.attrs))
    return false;
  for (std::size_t i = 0; i < a.regions.size(); ++i)
    if (a.regions[i] != b.regions[i] && !equal(*a.regions[i], *b.regions[i])) return false;
  return true;
}

}  // namespace

GraphRef share(Graph g) { return std::make_shared<const Graph>(std::move(g)); }

std::vector<Type> types_of(const Graph& g, std::span<const Var> vars) {
  std::vector<Type> out;
  out.reserve(vars.size());
  for (Var v : vars) out.push_back(g.type(v));
  return out;
}

std::vector<int> count_uses(const Graph& g) {
  std::vector<int> uses(g.types.size(), 0);
  for (const Node& n : g.nodes)
    for (Var v : n.inputs) ++uses[at(v)];
  for (Var v : g.results) ++uses[at(v)];
  return uses;
}

std::vector<const Node*> producers(const Graph& g) {
  std::vector<const Node*> made(g.types.size(), nullptr);
  for (const Node& n : g.nodes)
    for (Var v : n.outputs) made[at(v)] = &n;
  return made;
}

std::size_t hash(const Graph& g) {
  std::size_t h = mix(g.nodes.size(), g.params.size());
  for (Var p : g.params) h = mix(h, runtime::hash(g.type(p)));
  for (const Node& n : g.nodes) {
    h = mix(h, std::hash<const void*>{}(n.op));
    h = mix(h, hash(n.attrs));
    for (Var v : n.inputs) h = mix(h, static_cast<std::size_t>(v.id));
    for (const auto& r : n.regions) h = mix(h, hash(*r));
  }
  for (Var r : g.results) h = mix(h, static_cast<std::size_t>(r.id));
  return h;
}

bool equal(const Graph& a, const Graph& b) {
  if (a.local != b.local || a.params != b.params || a.results != b.results || a.nodes.size() != b.nodes.size() ||
      a.types.size() != b.types.size())
    return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i)
    if (!equal_nodes(a.nodes[i], b.nodes[i])) return false;
  for (std::size_t i = 0; i < a.types.size(); ++i)
    if (!(a.types[i] == b.types[i])) return false;
  return true;
}

namespace {

std::string name(Var v) { return v.valid() ? "%" + std::to_string(v.id) : "%none"; }

void print(const Graph& g, const std::string& indent, std::string& out) {
  out += indent + "(";
  for (std::size_t i = 0; i < g.params.size(); ++i)
    out += (i ? ", " : "") + name(g.params[i]) + ": " + runtime::to_string(g.type(g.params[i]));
  out += ") {\n";
  for (const Node& n : g.nodes) {
    out += indent + "  ";
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      out += (i ? ", " : "") + name(n.outputs[i]) + ": " + runtime::to_string(g.type(n.outputs[i]));
    if (!n.outputs.empty()) out += " = ";
    out += std::string(n.op->name) + "(";
    for (std::size_t i = 0; i < n.inputs.size(); ++i) out += (i ? ", " : "") + name(n.inputs[i]);
    std::string attrs = to_string(n.attrs);
    if (!attrs.empty()) out += (n.inputs.empty() ? "" : "; ") + attrs;
    out += ")\n";
    for (const auto& r : n.regions) print(*r, indent + "    ", out);
  }
  out += indent + "  return ";
  for (std::size_t i = 0; i < g.results.size(); ++i) out += (i ? ", " : "") + name(g.results[i]);
  out += "\n" + indent + "}\n";
}

}  // namespace

std::string to_string(const Graph& g) {
  std::string out;
  print(g, "", out);
  return out;
}

namespace {

[[noreturn]] void broken(const char* law, const Graph& g, const Node* n) {
  std::string where = n ? " at " + std::string(n->op ? n->op->name : "a node without an operation") : "";
  throw std::logic_error(std::string("broken graph: ") + law + where + "\n" + to_string(g));
}

// `per_device`: the graph is local, or lies in the body of per-device code.
void verify(const Graph& g, bool per_device) {
  std::vector<bool> defined(g.types.size(), false);
  auto define = [&](Var v, const Node* n) {
    if (!v.valid() || at(v) >= g.types.size()) broken("L1 a value is out of range", g, n);
    if (defined[at(v)]) broken("L2 a value is defined twice", g, n);
    defined[at(v)] = true;
  };
  auto use = [&](Var v, const Node* n) {
    if (!v.valid() || at(v) >= g.types.size() || !defined[at(v)])
      broken("L3 a value is used before it is defined", g, n);
  };
  for (Var p : g.params) define(p, nullptr);
  for (const Node& n : g.nodes) {
    if (!n.op) broken("L4 a node has no operation", g, &n);
    if (is_composite(*n.op)) broken("L5 a composite was not expanded", g, &n);
    if (n.op->comm && !per_device) broken("L6 a collective in a global graph", g, &n);
    for (Var v : n.inputs) use(v, &n);
    for (Var v : n.outputs) define(v, &n);
    for (const auto& r : n.regions) {
      if (!r) broken("L7 a region is missing", g, &n);
      verify(*r, per_device || is(n, Structure::Manual));
    }
  }
  for (Var r : g.results) use(r, nullptr);
  for (const Type& t : g.types) {
    if (t.sharding.dims.size() != t.shape.size())
      broken("L8 a type's layout has another rank than its shape", g, nullptr);
    for (auto n : t.shape)
      if (n < 0) broken("L9 a negative size", g, nullptr);
  }
}

}  // namespace

void verify(const Graph& g) { verify(g, g.local); }

// ---- a graph as a function in Shard
namespace {

class Writer {
 public:
  void function(const Graph& g, std::size_t arguments, const std::string& indent) {
    out_ += "fn(";
    for (std::size_t i = 0; i < g.params.size(); ++i) {
      out_ += (i ? ", " : "") + fresh(g, g.params[i]);
      out_ += ": " + runtime::to_string(g.type(g.params[i]));
    }
    out_ += ") {";
    const std::string inner = indent + "  ";
    if (arguments < g.params.size()) {
      out_ += "  # from outside:";
      for (std::size_t i = arguments; i < g.params.size(); ++i) out_ += " " + name(g, g.params[i]);
    }
    out_ += "\n";
    for (const Node& n : g.nodes) node(g, n, inner);
    out_ += inner + (g.results.size() == 1 ? "" : "(");
    for (std::size_t i = 0; i < g.results.size(); ++i) out_ += (i ? ", " : "") + name(g, g.results[i]);
    out_ += g.results.size() == 1 ? "\n" : ")\n";
    out_ += indent + "}";
  }
  std::string take() { return std::move(out_); }

 private:
  void node(const Graph& g, const Node& n, const std::string& indent) {
    std::vector<std::string> inputs;
    for (Var v : n.inputs) inputs.push_back(name(g, v));
    out_ += indent;
    std::string types;
    if (!n.outputs.empty()) {
      const bool one = n.outputs.size() == 1;
      out_ += one ? "let " : "let (";
      for (std::size_t i = 0; i < n.outputs.size(); ++i) {
        out_ += (i ? ", " : "") + fresh(g, n.outputs[i]);
        types += (i ? ", " : "") + runtime::to_string(g.type(n.outputs[i]));
      }
      out_ += one ? " = " : ") = ";
    }
    if (is(n, Structure::Constant)) {
      out_ += to_string(*n.attrs.find("value"));
    } else {
      out_ += std::string(n.op->name) + "(";
      bool first = true;
      const auto comma = [&] { out_ += std::exchange(first, false) ? "" : ", "; };
      for (const std::string& v : inputs) comma(), out_ += v;
      for (const auto& r : n.regions) comma(), function(*r, r->params.size(), indent);
      for (const auto& [key, value] : n.attrs)
        if (!std::holds_alternative<std::monostate>(value)) comma(), out_ += key + ": " + to_string(value);
      out_ += ")";
    }
    out_ += (types.empty() ? "" : "   # " + types) + "\n";
  }

  // a, b, ... z, aa, ab, ...: one name a value of all graphs, words of the language left out.
  std::string fresh(const Graph& g, Var v) {
    std::string& out = names_[{&g, v.id}];
    do {
      std::size_t k = count_++;
      out.clear();
      for (;; k = k / 26 - 1) {
        out.insert(out.begin(), static_cast<char>('a' + k % 26));
        if (k < 26) break;
      }
    } while (out == "as" || out == "fn" || out == "if" || out == "in" || out == "or");
    return out;
  }
  std::string name(const Graph& g, Var v) const {
    const auto it = names_.find({&g, v.id});
    return it == names_.end() ? "_" : it->second;
  }

  std::map<std::pair<const Graph*, std::int32_t>, std::string> names_;
  std::size_t count_ = 0;
  std::string out_;
};

}  // namespace

std::string as_function(const Graph& g, std::size_t arguments) {
  Writer w;
  w.function(g, arguments, "");
  return w.take();
}

}  // namespace shard::ir
