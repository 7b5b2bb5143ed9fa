// print, error, warn, clock, time and breakpoint. With traced values they become effects of the program: nodes in
// order, carried out when it runs, once a device in manual code. The message travels as texts, formats and operands.
#include <algorithm>
#include <cctype>
#include <chrono>

#include "interpreter/lang/values/value_text.h"
#include "interpreter/lang/warnings/warnings.h"
#include "runtime/array/array_text.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::DeferredString;

// The mesh of manual code that a value belongs to; null elsewhere.
runtime::MeshRef manual_mesh(Interpreter& in, const std::vector<Tensor>& operands) {
  for (const Tensor& t : operands)
    if (t.type().mesh && !t.type().mesh->of_kind(runtime::AxisKind::Manual).empty()) return t.type().mesh;
  const runtime::MeshRef& mesh = in.context().mesh();
  return mesh && !mesh->of_kind(runtime::AxisKind::Manual).empty() ? mesh : nullptr;
}

// "(@X: 0, @Y: 1) " for the device at `position`.
std::string device_text(const runtime::Mesh& mesh, std::int64_t position) {
  const std::vector<std::int64_t> at = runtime::coordinates_of(mesh, position);
  std::string s;
  for (std::size_t i = 0; i < at.size(); ++i)
    if (mesh.axes[i].kind == runtime::AxisKind::Manual)
      s += (s.empty() ? "@" : ", @") + mesh.axes[i].name + ": " + std::to_string(at[i]);
  return "(" + s + ") ";
}

// Positions of the devices that speak: in manual code one for each coordinate along manual axes. `at`: coordinates that
// are given by where the effect stands (a branch that only some devices take), -1 where they are free; empty: all free.
std::vector<std::int64_t> speakers(const runtime::Mesh& mesh, const ir::Ints& at) {
  std::vector<std::int64_t> out;
  for (std::int64_t p = 0; p < mesh.size(); ++p) {
    const std::vector<std::int64_t> here = runtime::coordinates_of(mesh, p);
    bool speaks = true;
    for (std::size_t i = 0; i < here.size(); ++i)
      if (i < at.size() && at[i] >= 0)
        speaks = speaks && here[i] == at[i];
      else if (mesh.axes[i].kind != runtime::AxisKind::Manual)
        speaks = speaks && here[i] == 0;
    if (speaks) out.push_back(p);
  }
  return out;
}

// "P(@X, _, @(Y, Z))" back to a layout on its mesh.
runtime::Sharding layout_of(const runtime::Mesh& mesh, std::string_view text, std::size_t rank) {
  runtime::Sharding s = runtime::Sharding::replicated(rank);
  std::size_t dim = 0;
  int depth = 0;
  std::string word;
  const auto finish = [&] {
    if (const auto axis = mesh.find(word); axis && dim < rank) s.dims[dim].axes.push_back(*axis);
    word.clear();
  };
  for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      word += c;
    else
      finish();
    if (c == ':') break;  // unreduced: what follows splits nothing
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) ++dim;
  }
  return s;
}

std::string message_of(Interpreter& in, const ir::Attrs& attrs, const std::vector<ArrayRef>& operands,
                       const std::vector<std::string>& layouts, std::size_t first, const runtime::Mesh* mesh,
                       std::int64_t position) {
  const auto& texts = std::get<std::vector<std::string>>(*attrs.find("texts"));
  const auto& formats = std::get<std::vector<std::string>>(*attrs.find("formats"));
  std::string s = texts.at(0);
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const ArrayRef& a = operands.at(first + i);
    if (formats[i] == lang::kLayoutFormat)
      s += first + i < layouts.size() ? layouts[first + i] : "P()";
    else
      s += lang::format_value(mesh && a->type.mesh ? runtime::block_of(in.context().pool(), a, position) : a,
                              formats[i], in.context().pool());
    s += texts.at(i + 1);
  }
  return s;
}

DeferredString joined(Interpreter& in, const std::vector<CallArg>& items) {
  DeferredString d;
  d.texts.emplace_back();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i) d.texts.back() += " ";
    lang::append_shown(d, items[i].value, "", in.context().pool());
  }
  return d;
}

// What is known of a text before a run.
std::string with_unknowns(const DeferredString& d) {
  std::string s = d.texts.at(0);
  for (std::size_t i = 0; i < d.values.size(); ++i) {
    const ArrayRef& a = d.values[i].array();
    s += d.formats[i] == lang::kLayoutFormat && a->type.mesh ? runtime::to_string(*a->type.mesh, a->layout) : "~";
    s += d.texts.at(i + 1);
  }
  return s;
}

Value print(Interpreter& in, BoundArgs& a) {
  for (const CallArg& x : a.rest)
    if (!x.name.empty())
      in.fail("call", x.span, "print has no argument called `" + x.name + "`",
              {"values to be printed have no names: print(a, b)"});
  const runtime::LineLimit limit(in.screen().width() - 1);
  const DeferredString d = joined(in, a.rest);
  if (d.values.empty())
    in.write(d.texts.back() + "\n");
  else if (in.context().types_only() && !in.context().tracing() && !in.checker())
    in.write(with_unknowns(d) + "\n");
  else
    record_effect(in, "print", d, {}, {{"shows", true}});
  return {};
}

Value error(Interpreter& in, BoundArgs& a) {
  DeferredString d;
  lang::append_shown(d, a[0], "", in.context().pool());
  // In a branch of traced control flow the error belongs to the run; outside of one it is certain, so it is told at
  // once.
  const bool in_branch = in.context().tracing() && in.context().frame()->outer();
  if (d.values.empty() && !in_branch) in.fail("error", a.span, d.texts.back());
  record_effect(in, "error", d, {});
  return {};
}

Value warn(Interpreter& in, BoundArgs& a) {
  const std::string code = a[1].is_none() ? "warned" : in.text(a[1], a.args[1].span, "code");
  if (!lang::find_warning(code))
    in.fail("value", a.args[1].span, "there is no warning `" + code + "`", {"`shard help warnings` lists them"});
  in.warn(code, a.span, in.text(a[0], a.args[0].span, "message"));
  return {};
}

// ---- clock, time: how long things take, in seconds of the wall

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The first call compiles where f is to be compiled, so it stands apart. Then as many as fit into a fifth of a second.
Value time_of(Interpreter& in, BoundArgs& a) {
  constexpr double kEnough = 0.2;
  constexpr std::int64_t kMost = 1000;
  if (!a[0].callable())
    in.fail("type", a.span, "time takes a function and its arguments, and this is " + lang::kind_name(a[0]),
            {"write the call apart: time(f, x), or time(fn() = ...)"});
  if (in.context().tracing())
    in.fail("trace", a.span, "time runs a function, and here one is being traced",
            {"ask outside of that function: time(f, x)"});
  const auto once = [&] {
    std::vector<CallArg> args = a.rest;
    const double begin = now();
    in.call(a[0], std::move(args), a.span);
    return now() - begin;
  };
  const double first = once();
  double best = first, total = 0;
  std::int64_t calls = 0;
  while (calls == 0 || (total < kEnough && calls < kMost)) {
    const double took = once();
    best = calls == 0 ? took : std::min(best, took);
    total += took;
    ++calls;
  }
  return Value::record({{"best", Value(best)},
                        {"mean", Value(total / static_cast<double>(calls))},
                        {"first", Value(first)},
                        {"calls", Value(calls)}});
}

}  // namespace

void record_effect(Interpreter& in, std::string what, const DeferredString& message, std::vector<Tensor> operands,
                   ir::Attrs more) {
  ir::Attrs attrs = std::move(more);
  attrs.set("what", what);
  attrs.set("texts", message.texts.empty() ? std::vector<std::string>{""} : message.texts);
  attrs.set("formats", message.formats);
  attrs.set("before", static_cast<std::int64_t>(operands.size()));
  const auto is_layout = [](const std::string& format) { return format == lang::kLayoutFormat; };
  if (operands.empty() && !message.formats.empty() &&
      std::all_of(message.formats.begin(), message.formats.end(), is_layout))
    attrs.set("layout_only", true);
  operands.insert(operands.end(), message.values.begin(), message.values.end());
  if (const runtime::MeshRef mesh = manual_mesh(in, operands)) attrs.set("mesh", ir::Layout{mesh, {}});
  in.context().apply(in.context().table().at("effect"), operands, std::move(attrs));
}

void run_effect(Interpreter& in, const ir::Attrs& attrs, const std::vector<ArrayRef>& operands,
                const std::vector<std::string>& layouts, grammar::Span span) {
  const std::string& what = attrs.text("what");
  const runtime::LineLimit limit(in.screen().width() - 1);
  const auto first = static_cast<std::size_t>(attrs.integer("before"));
  const runtime::MeshRef mesh = attrs.has("mesh") ? attrs.layout("mesh").mesh : nullptr;
  const auto at = [&](std::size_t i, std::int64_t position) {
    return mesh && operands[i]->type.mesh ? runtime::block_of(in.context().pool(), operands[i], position) : operands[i];
  };
  const ir::Ints coordinates_given = attrs.has("at") ? attrs.ints("at") : ir::Ints{};
  for (const std::int64_t p : mesh ? speakers(*mesh, coordinates_given) : std::vector<std::int64_t>{0}) {
    const std::string who = mesh ? device_text(*mesh, p) : "";
    const auto message = [&] { return message_of(in, attrs, operands, layouts, first, mesh.get(), p); };
    if (what == "print")
      in.write(who + message() + "\n");
    else if (what == "error")
      in.fail("error", span, who + message());
    else if (what == "assert") {
      if (runtime::element_int(*runtime::to_host(in.context().pool(), at(0, p)), 0) == 0)
        in.fail("assert", span, who + message());
    } else if (what == "assert_close") {
      compare_close(in, at(0, p), at(1, p), attrs.number("rtol"), attrs.number("atol"), span, who);
    } else if (what == "visualize") {
      Type type = Type::of(operands[0]->type.dtype, attrs.ints("whole"));
      type.mesh = operands[0]->type.mesh;
      if (type.mesh) type.sharding = layout_of(*type.mesh, layouts.at(0), type.shape.size());
      draw_layout(in, type, attrs.text("save"), span);
      return;
    }
  }
}

void register_output(Interpreter& in) {
  in.define({"print",
             "print(xs...)",
             "Prints its arguments with blanks between them. With a traced value it prints when the program runs, in a "
             "manual fn once a device.",
             print,
             {"println",
              "puts",
              "echo",
              {"printf", "`print(\"loss {loss:.4f}\")` formats"},
              {"console", "`print(x)` shows a value"}}});
  in.define({"error", "error(message)", "Stops with this message.", error});
  in.define({"warn",
             "warn(message, code = none)",
             "Prints a warning, once for each place, and goes on; from inside of a module of the library it is shown "
             "at the script's call. `code` names another one than `warned`: see `shard help warnings`.",
             warn,
             {"warnings"}});
  in.define({"clock",
             "clock()",
             "Seconds since some moment: the difference of two is the time between them.",
             [](Interpreter&, BoundArgs&) { return Value(now()); },
             {{"perf_counter", "seconds are read by `clock()`: the difference of two is the time between them"}}});
  in.define({"time", "time(f, xs...)",
             "Seconds that a call f(xs...) takes, as {best, mean, first, calls}: the first call, which may compile, by "
             "itself, then the best and the mean of as many as fit into 0.2 s.",
             time_of});
  // The script stands still, and whoever runs it may look around.
  lang::Native breakpoint{
      "breakpoint",
      "breakpoint(variables = none)",
      "Opens the REPL with all variables that are known here, or with the fields of a record; `:continue` "
      "goes on. In a trace the variables have types and no elements. Where nothing can be read the script "
      "goes on at once.",
      [](Interpreter& i, BoundArgs& a) {
        const auto& ask = i.options().breakpoint;
        const lang::Record* variables = a[0].fields();
        if (!variables && !a[0].is_none())
          i.fail("type", a.span, "breakpoint takes a record of variables, this is " + lang::kind_name(a[0]));
        if (ask) ask(i, variables ? variables->fields : decltype(variables->fields){}, a.span);
        return Value();
      },
      {{"set_trace", "the script stands still at `breakpoint()`"},
       {"pdb", "the script stands still at `breakpoint()`"}}};
  breakpoint.sees_variables = true;
  in.define(std::move(breakpoint));
  in.context().hooks().effect = [&in](const ir::Attrs& attrs, const std::vector<ArrayRef>& operands,
                                      const std::vector<std::string>& layouts,
                                      grammar::Span span) { run_effect(in, attrs, operands, layouts, span); };
}

}  // namespace shard::stdlib
