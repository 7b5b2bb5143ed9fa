// help(f): how a function is called and what it does. Builtins tell their signature and sentence, what their row says
// of shapes, gradients and layouts (help_facts.cpp), and an example (examples.txt); functions of scripts their header
// and the `##` comment above them. The page of all builtins is made of the same.
#include <algorithm>
#include <map>
#include <sstream>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/value_text.h"
#include "interpreter/lang/values/wrapped.h"
#include "stdlib/host/help/help_chips.h"
#include "stdlib/host/help/help_facts.h"
#include "stdlib/host/host.h"
#include "stdlib/stdlib.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

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

// What is known of one builtin.
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

std::string indented(const std::string& text, const std::string& by) {
  std::string out = by;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) out += by;
  }
  return out;
}

}  // namespace

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
  std::vector<Example> out;
  std::string group;
  std::istringstream in{examples_text()};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("=== "))
      group = line.substr(4);
    else if (line.starts_with("== "))
      out.push_back({line.substr(3), group, {}, {}, {}, {}, {}, {}});
    else if (out.empty())
      continue;
    else if (line.starts_with("what: "))
      out.back().what = line.substr(6);
    else if (line.starts_with("subjects: "))
      out.back().subjects = line.substr(10);
    else if (line.starts_with("shapes: "))
      out.back().shapes = line.substr(8);
    else if (line.starts_with("gradient: "))
      out.back().gradient = line.substr(10);
    else if (line.starts_with("layout: "))
      out.back().layout = line.substr(8);
    else
      out.back().code += line + "\n";
  }
  return out;
}

std::vector<std::string> builtin_functions(Interpreter& in) {
  std::vector<std::string> out;
  for (const std::string& name : in.impl().builtins.names()) {
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
