#include "interpreter/ir/shard_text.h"

#include <map>

#include "interpreter/ir/op.h"

namespace shard::ir {
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
    const Structure* s = structure_of(*n.op);
    if (s && *s == Structure::Constant) {
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
