// help(f): how a function is called and what it does. Builtins tell their signature and sentence, what their row says
// of shapes, gradients and layouts, and an example (examples.txt); functions of scripts their header
// and the `##` comment above them. The page of all builtins is made of the same.
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

#include "grammar/diagnostic.h"
#include "interpreter/ir/builder.h"
#include "interpreter/ir/samples.h"
#include "interpreter/lang/eval/builtins.h"
#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/value_text.h"
#include "interpreter/lang/values/wrapped.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/host/help/help.h"
#include "stdlib/stdlib.h"

namespace shard::stdlib {
namespace {

// The documented functions of a record: name, parameters, the first sentence of the comment.
std::string functions_of(const lang::Record& record) {
  std::string s;
  for (const auto& [name, v] : record.fields) {
    const lang::Closure* closure = lang::written_function(v);
    if (!closure || closure->function->doc.empty()) continue;
    const std::string& doc = closure->function->doc;
    std::string head = lang::header(*closure->function);
    if (const std::size_t open = head.find('('); open != std::string::npos) head = name + head.substr(open);
    std::size_t end = std::min(doc.find(". "), doc.find(".\n"));
    if (end == std::string::npos) end = doc.ends_with('.') ? doc.size() - 1 : doc.size();
    std::string line = doc.substr(0, end);
    std::replace(line.begin(), line.end(), '\n', ' ');
    s += head + "\n  " + line + "\n";
  }
  return s;
}

// ---- the records of a module that are chips, a line each, in the units of data sheets
double number_in(const lang::Record& record, std::string_view field) {
  const Value* v = record.find(std::string(field));
  if (!v) return -1;
  return v->is<std::int64_t>() ? static_cast<double>(*v->get<std::int64_t>())
         : v->is<double>()     ? *v->get<double>()
                               : -1;
}

std::string in_units(double x, double unit) {
  if (x < 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x / unit);
  return text;
}

std::string domain_of(const lang::Record& chip) {
  const Value* domain = chip.find("domain");
  if (!domain || !domain->items()) return in_units(number_in(chip, "domain"), 1);
  std::string out;
  for (const Value& size : *domain->items())
    out += (out.empty() ? "" : "x") + std::to_string(size.is<std::int64_t>() ? *size.get<std::int64_t>() : 0);
  return out;
}

// A line for each field that is a chip: a record with `name` and `flops`. Empty where there is none.
std::string chips_table(const lang::Record& module) {
  constexpr double kTera = 1e12, kGiga = 1e9;
  std::vector<std::vector<std::string>> rows{
      {"chip", "memory", "bf16", "f32", "f64", "bandwidth", "link", "network", "host", "domain"},
      {"", "GB", "TFLOP/s", "TFLOP/s", "TFLOP/s", "GB/s", "GB/s", "GB/s", "GB/s", "chips"}};
  for (const auto& [field, v] : module.fields) {
    const lang::Record* chip = v.fields();
    const Value* name = chip ? chip->find("name") : nullptr;
    const Value* flops = chip ? chip->find("flops") : nullptr;
    if (!name || !name->is_string() || !flops || !flops->fields()) continue;
    std::vector<std::string> row{name->str(), in_units(number_in(*chip, "memory"), kGiga)};
    for (const char* type : {"bf16", "f32", "f64"}) row.push_back(in_units(number_in(*flops->fields(), type), kTera));
    for (const char* way : {"bandwidth", "link", "network", "host"})
      row.push_back(in_units(number_in(*chip, way), kGiga));
    row.push_back(domain_of(*chip));
    rows.push_back(std::move(row));
  }
  if (rows.size() == 2) return {};
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[i].size());
      const std::string gap(width - row[i].size(), ' ');
      line += (i ? "  " : "") + (i ? gap + row[i] : row[i] + gap);
    }
    out += line + "\n";
  }
  return out;
}

// ---- what a row says about itself: the shapes of its samples, its gradient, and what explicit axes make of a split
// operand. Nothing is written down twice: the row is used on its samples' types and tells.

struct Facts {
  std::vector<std::string> shapes;  // "(f32[4,6], f32[6,8]) -> f32[4,8]"
  std::string gradient;
  std::vector<std::string> layout;  // the same with one dimension split over an explicit axis
};

using ir::Builder;
using ir::Graph;
using ir::OpDef;
using ir::Sample;
using ir::Vars;

constexpr std::size_t kLayouts = 6;  // lines of the layout rule

std::vector<Type> types_of(const Sample& s) {
  std::vector<Type> out;
  for (const auto& o : s.operands) out.push_back(Type::of(o.dtype, o.shape));
  return out;
}

Graph use(const ir::OpTable& table, const OpDef& op, const Sample& s, const std::vector<Type>& types) {
  Builder b(table);
  Vars in;
  for (const Type& t : types) in.push_back(b.param(t));
  return b.finish(b.emit(op, std::span<const ir::Var>(in), s.attrs));
}

std::string text_of(const std::vector<Type>& types) {
  std::string out;
  for (const Type& t : types) out += (out.empty() ? "" : ", ") + runtime::to_string(t);
  return out;
}
std::vector<Type> results_of(const Graph& g) {
  std::vector<Type> out;
  for (ir::Var r : g.results) out.push_back(g.type(r));
  return out;
}

// A sample's attributes as a call writes them: without what an operand left out says.
std::string written(const Sample& s) {
  std::string out;
  for (const auto& [name, value] : s.attrs)
    if (!name.starts_with("has_") && !std::holds_alternative<std::monostate>(value))
      out += ", " + name + ": " + ir::to_string(value);
  return s.operands.empty() && !out.empty() ? out.substr(2) : out;
}

std::vector<std::string> shapes(const ir::OpTable& table, const OpDef& op) {
  std::vector<std::string> out;
  for (const Sample& s : samples_of(op)) {
    const auto types = types_of(s);
    const std::string line =
        "(" + text_of(types) + written(s) + ") -> " + text_of(results_of(use(table, op, s, types)));
    if (line.size() < 100 && !among(out, line)) out.push_back(line);
    if (out.size() == 2) break;
  }
  return out;
}

std::string gradient(const ir::OpTable& table, const OpDef& op) {
  for (const Sample& s : samples_of(op)) {
    const Graph g = use(table, op, s, types_of(s));
    std::vector<int> wrt;
    std::vector<bool> with_ct;
    for (std::size_t i = 0; i < g.params.size(); ++i)
      if (runtime::is_inexact(g.type(g.params[i]).dtype)) wrt.push_back(static_cast<int>(i));
    for (ir::Var r : g.results) with_ct.push_back(runtime::is_inexact(g.type(r).dtype));
    if (wrt.empty() || std::find(with_ct.begin(), with_ct.end(), true) == with_ct.end()) continue;
    try {
      transform::vjp(table, g, wrt, with_ct, false);
    } catch (const grammar::Error& e) { return std::string("none: ") + e.what(); }
    // Without a step the result is an operand itself.
    const bool flat = !g.nodes.empty() && std::all_of(g.nodes.begin(), g.nodes.end(), [](const ir::Node& n) {
      return std::holds_alternative<ir::Zero>(n.op->derivative) || n.inputs.empty() || n.op->name == "convert";
    });
    return flat ? "zero: the value does not change with small changes" : "forward and reverse, any number of times";
  }
  return "none: the results, or all operands, are no floating point numbers";
}

// What becomes of one operand split over an explicit axis of two devices, dimension by dimension.
std::vector<std::string> layouts(const ir::OpTable& table, const OpDef& op) {
  auto mesh = std::make_shared<const runtime::Mesh>(runtime::Mesh{{{"X", 2, runtime::AxisKind::Explicit}}, {0, 1}});
  std::vector<std::string> out;
  for (const Sample& s : samples_of(op)) {
    const auto whole = types_of(s);
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (std::size_t d = 0; d < whole[i].shape.size(); ++d) {
        if (whole[i].shape[d] % 2 || out.size() == kLayouts) continue;
        // The operand alone; where that is refused, with all operands of its rank split alike.
        std::string line;
        for (bool alike : {false, true}) {
          std::vector<Type> types = whole;
          for (std::size_t j = 0; j < types.size(); ++j) {
            types[j].mesh = mesh;
            const bool same = types[j].shape.size() == whole[i].shape.size() && types[j].shape[d] % 2 == 0;
            if (j == i || (alike && same)) types[j].sharding.dims[d].axes = {0};
          }
          std::string tried = "(" + text_of(types) + written(s) + ") -> ";
          try {
            line = tried + text_of(results_of(use(table, op, s, types)));
            break;
          } catch (const grammar::Error&) {
            if (line.empty()) line = tried + "an error that says what to write";
          }
        }
        if (!among(out, line)) out.push_back(line);
      }
    if (!out.empty()) break;
  }
  return out;
}

Facts facts_of(const ir::OpTable& table, const OpDef& op) {
  return {shapes(table, op), gradient(table, op), layouts(table, op)};
}

// ---- builtins

// What is known of one.
struct Entry {
  std::vector<std::pair<std::string, std::string>> calls;  // signature and sentence: of the host function, of the row
  Facts facts;
  std::string example;
};

void add_example(Entry& e, std::string_view name) {
  const Example* x = example_of(name);
  if (!x) return;
  e.example = x->code;
  if (!x->shapes.empty()) e.facts.shapes = {x->shapes};
  if (!x->gradient.empty()) e.facts.gradient = x->gradient;
  if (!x->layout.empty()) e.facts.layout = {x->layout};
}

// The ways to call it, and its row where it has one.
struct Ways {
  std::string name;
  const ir::OpDef* row = nullptr;
  std::vector<std::pair<std::string, std::string>> calls;
};

Ways ways_of(Interpreter& in, const Value& v) {
  const ir::OpTable& table = in.context().table();
  Ways w;
  if (const auto* op = v.get<const ir::OpDef*>()) {
    w.row = *op;
    w.name = std::string(w.row->name);
  } else if (const auto* native = v.get<std::shared_ptr<const lang::Native>>()) {
    w.name = (*native)->name;
    w.calls.emplace_back((*native)->signature, (*native)->doc);
    // A function of the host that passes arrays on to an operation of the same name: both ways are told.
    w.row = table.find(w.name);
    if (w.row && w.row->internal) w.row = nullptr;
  }
  if (w.row) w.calls.emplace_back(table.signature(*w.row).text, std::string(w.row->doc));
  return w;
}

Entry entry_of(Interpreter& in, const Value& v) {
  Ways w = ways_of(in, v);
  Entry e;
  e.calls = std::move(w.calls);
  if (w.row) e.facts = facts_of(in.context().table(), *w.row);
  add_example(e, w.name);
  return e;
}

void add_lines(std::string& out, const std::string& label, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    out += "  " + (i ? std::string(label.size(), ' ') : label) + lines[i] + "\n";
}

}  // namespace

// Of lines that end.
std::string indented(const std::string& text, const std::string& by) {
  std::string out = text.empty() ? "" : by;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) out += by;
  }
  return out;
}

bool among(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string sentences_of(Interpreter& in, const Value& builtin) {
  std::string out;
  for (const auto& [signature, doc] : ways_of(in, builtin).calls)
    out += (out.empty() ? "" : "\n" + signature + "\n") + "  " + doc;
  return out;
}

std::string help_of(Interpreter& in, const Value& v) {
  const auto entry = [](const std::string& head, const std::string& doc) {
    return head + "\n" + (doc.empty() ? "" : "  " + doc + "\n");
  };
  if (v.is<const ir::OpDef*>() || v.is<std::shared_ptr<const lang::Native>>()) {
    const Entry e = entry_of(in, v);
    std::string out;
    for (const auto& [signature, doc] : e.calls) out += entry(signature, doc);
    add_lines(out, "shapes:   ", e.facts.shapes);
    if (!e.facts.gradient.empty()) add_lines(out, "gradient: ", {e.facts.gradient});
    add_lines(out, "layout:   ", e.facts.layout);
    if (!e.example.empty()) out += "  example:\n" + indented(e.example, "    ");
    return out;
  }
  if (const lang::Record* module = v.fields())  // such as nn: what in it has a comment, a line each
    if (std::string all = functions_of(*module) + chips_table(*module); !all.empty()) return all;
  if (const auto* wrapped = v.get<std::shared_ptr<const lang::Wrapped>>()) {
    if ((*wrapped)->kind == lang::Wrapped::Kind::Transform)
      return entry(lang::repr(v, in.context().pool()), (*wrapped)->doc());
    if (!lang::written_function(v)) return help_of(in, (*wrapped)->function);
  }
  if (const lang::Closure* closure = lang::written_function(v))
    return entry(lang::header(*closure->function),
                 closure->function->doc.empty() ? "" : indented(closure->function->doc, "  ").substr(2));
  return lang::repr(v, in.context().pool()) + "\n  a " + lang::kind_name(v) + "\n";
}

namespace {

Value help(Interpreter& in, BoundArgs& a) {
  if (!a.given(0)) {
    in.write(help_subjects());
    return {};
  }
  if (!a[0].is_string()) {
    in.write(help_of(in, a[0]));
    return {};
  }
  const std::string text = help_on(in, a[0].str());
  if (text.empty())
    in.fail("name", a.span, "nothing is called \"" + a[0].str() + "\" or speaks of it", help_hints(in, a[0].str()));
  in.write(text);
  return {};
}

}  // namespace

const Example* example_of(std::string_view name) {
  static const std::vector<Example> all = examples();
  auto it = std::find_if(all.begin(), all.end(), [&](const Example& e) { return e.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::vector<Example> examples() {
  static constexpr std::pair<std::string_view, std::string Example::*> kFields[] = {{"what: ", &Example::what},
                                                                                    {"subjects: ", &Example::subjects},
                                                                                    {"shapes: ", &Example::shapes},
                                                                                    {"gradient: ", &Example::gradient},
                                                                                    {"layout: ", &Example::layout}};
  std::vector<Example> out;
  std::string group;
  std::istringstream in{examples_text()};
  for (std::string line; std::getline(in, line);) {
    const auto* field =
        std::find_if(std::begin(kFields), std::end(kFields), [&](const auto& f) { return line.starts_with(f.first); });
    if (line.starts_with("=== "))
      group = line.substr(4);
    else if (line.starts_with("== "))
      out.push_back({line.substr(3), group, {}, {}, {}, {}, {}, {}});
    else if (out.empty())
      continue;
    else if (field != std::end(kFields))
      out.back().*field->second = line.substr(field->first.size());
    else
      out.back().code += line + "\n";
  }
  return out;
}

std::vector<std::string> builtin_functions(Interpreter& in) {
  std::vector<std::string> out;
  for (const std::string& name : in.builtins().names()) {
    const Value v = *in.builtin(name);
    if (v.is<const ir::OpDef*>() || v.is<std::shared_ptr<const lang::Native>>()) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string reference_page(Interpreter& in) {
  std::string out =
      "# Builtin functions\n\n"
      "Made by `shard help --all` from the rows of the operations and stdlib/examples.txt; a test holds it against "
      "them.\n"
      "`shard help NAME` shows one entry. Shapes are those of samples; a layout is what becomes of one dimension split "
      "over an explicit\n"
      "axis of two devices (on automatic axes the partitioner may split whatever a rule allows); each example is run "
      "as a test.\n";
  std::map<std::string, Value> values;
  for (const std::string& name : builtin_functions(in)) values.emplace(name, *in.builtin(name));
  std::string group;
  for (const Example& x : examples()) {
    auto v = values.find(x.name);
    if (v == values.end()) continue;
    if (x.group != group) out += "\n## " + (group = x.group) + "\n";
    const Entry e = entry_of(in, v->second);
    out += "\n### " + x.name + "\n";
    for (const auto& [signature, doc] : e.calls) out += "`" + signature + "`: " + doc + "\n\n";
    const auto list = [&](const char* label, const std::vector<std::string>& lines) {
      if (lines.empty()) return;
      out += std::string("- ") + label + ": ";
      for (std::size_t i = 0; i < lines.size(); ++i)
        out += (i ? " · " : "") + (lines[i].starts_with("(") ? "`" + lines[i] + "`" : lines[i]);
      out += "\n";
    };
    list("shapes", e.facts.shapes);
    if (!e.facts.gradient.empty()) list("gradient", {e.facts.gradient});
    list("layout", e.facts.layout);
    out += "\n```shard\n" + e.example + "```\n";
  }
  return out;
}

void register_help_function(Interpreter& in) {
  in.define({"help", "help(f = none)",
             "Prints how a function is called and what it does; of a text, what is called so or speaks of it.", help});
}

}  // namespace shard::stdlib
