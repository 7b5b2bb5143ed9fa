// help(f): how a function is called and what it does. Builtins tell their signature and sentence, functions of scripts their header
// and the `##` comment above them.
#include <algorithm>
#include <map>

#include "interpreter/lang/closure.h"
#include "interpreter/lang/format.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

// The documented functions of a record: name, parameters, the first sentence of the comment.
std::string functions_of(const lang::Record& record) {
  std::string s;
  for (const auto& [name, v] : record.fields) {
    const auto* closure = v.get<std::shared_ptr<const lang::Closure>>();
    if (!closure || (*closure)->function->doc.empty()) continue;
    const std::string& doc = (*closure)->function->doc;
    std::string head = lang::header(*(*closure)->function);
    if (const std::size_t open = head.find('('); open != std::string::npos) head = name + head.substr(open);
    std::size_t end = std::min(doc.find(". "), doc.find(".\n"));
    if (end == std::string::npos) end = doc.ends_with('.') ? doc.size() - 1 : doc.size();
    std::string line = doc.substr(0, end);
    std::replace(line.begin(), line.end(), '\n', ' ');
    s += head + "\n  " + line + "\n";
  }
  return s;
}

std::string text_of(Interpreter& in, const Value& v) {
  const auto entry = [](const std::string& head, const std::string& doc) { return head + "\n" + (doc.empty() ? "" : "  " + doc + "\n"); };
  if (const auto* op = v.get<const ir::OpDef*>()) return entry(in.context().table().signature(**op).text, std::string((*op)->doc));
  if (const auto* native = v.get<std::shared_ptr<const lang::Native>>()) {
    std::string s = entry((*native)->signature, (*native)->doc);
    // A function of the host that passes arrays on to an operation of the same name: both ways are told.
    if (const ir::OpDef* op = in.context().table().find((*native)->name); op && !op->internal)
      s += entry(in.context().table().signature(*op).text, std::string(op->doc));
    return s;
  }
  if (const auto* closure = v.get<std::shared_ptr<const lang::Closure>>()) {
    std::string doc;
    for (char c : (*closure)->function->doc) doc += c == '\n' ? std::string("\n  ") : std::string(1, c);
    return entry(lang::header(*(*closure)->function), doc);
  }
  if (const lang::Record* module = v.fields())             // such as nn: what in it has a comment, a line each
    if (std::string all = functions_of(*module); !all.empty()) return all;
  return lang::repr(v, in.context().pool()) + "\n  a " + lang::kind_name(v) + "\n";
}

Value help(Interpreter& in, BoundArgs& a) {
  if (!a.given(0)) {
    in.write("help(f) tells what a function does: help(matmul), help(print), help(nn.linear).\n");
    return {};
  }
  if (!a[0].is_string()) {
    in.write(text_of(in, a[0]));
    return {};
  }
  const std::string& name = a[0].str();                     // a name as text: an operation
  const ir::OpDef* op = in.context().table().find(name);
  if (op && !op->internal) in.write(text_of(in, Value(op)));
  else in.fail("name", a.span, "there is no operation called \"" + name + "\"", {"without quotes help knows all functions: help(" + name + ")"});
  return {};
}

}  // namespace

void register_help(Interpreter& in) {
  in.define({"help", "help(f = none)", "Prints how a function is called and what it does.", help});
}

}  // namespace shard::stdlib
