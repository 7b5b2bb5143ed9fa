// print and error. With traced values they become effects of the program: nodes in order, carried out when it runs,
// once a device in manual code. The message travels as texts, formats and operands.
#include <algorithm>
#include <cctype>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/values/value_text.h"
#include "interpreter/lang/warnings/warnings.h"
#include "runtime/array/array_text.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::DeferredString;
using lang::Interpreter;
using lang::Value;
using trace::Tensor;

// The mesh of manual code that a value belongs to; null elsewhere.
runtime::MeshRef manual_mesh(Interpreter& in, const std::vector<Tensor>& operands) {
  for (const Tensor& t : operands)
    if (t.type().mesh && !t.type().mesh->of_kind(runtime::AxisKind::Manual).empty()) return t.type().mesh;
  const runtime::MeshRef& mesh = in.context().mesh();
  return mesh && !mesh->of_kind(runtime::AxisKind::Manual).empty() ? mesh : nullptr;
}

// "(@X: 0, @Y: 1) " for the device at `position`.
std::string coordinates(const runtime::Mesh& mesh, std::int64_t position) {
  std::string s;
  std::int64_t rest = position;
  for (std::size_t i = mesh.axes.size(); i-- > 0;) {
    const auto& axis = mesh.axes[i];
    if (axis.kind == runtime::AxisKind::Manual)
      s = "@" + axis.name + ": " + std::to_string(rest % axis.size) + (s.empty() ? "" : ", ") + s;
    rest /= axis.size;
  }
  return "(" + s + ") ";
}

// Positions of the devices that speak: in manual code one for each coordinate along manual axes. `at`: coordinates that
// are given by where the effect stands (a branch that only some devices take), -1 where they are free; empty: all free.
std::vector<std::int64_t> speakers(const runtime::Mesh& mesh, const ir::Ints& at) {
  std::vector<std::int64_t> out;
  for (std::int64_t p = 0; p < mesh.size(); ++p) {
    std::int64_t rest = p;
    bool speaks = true;
    for (std::size_t i = mesh.axes.size(); i-- > 0;) {
      const std::int64_t here = rest % mesh.axes[i].size;
      rest /= mesh.axes[i].size;
      if (i < at.size() && at[i] >= 0)
        speaks = speaks && here == at[i];
      else if (mesh.axes[i].kind != runtime::AxisKind::Manual)
        speaks = speaks && here == 0;
    }
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

std::string message_of(Interpreter& in, const ir::Attrs& attrs, const std::vector<runtime::ArrayRef>& operands,
                       const std::vector<std::string>& layouts, std::size_t first, const runtime::Mesh* mesh,
                       std::int64_t position) {
  const auto& texts = std::get<std::vector<std::string>>(*attrs.find("texts"));
  const auto& formats = std::get<std::vector<std::string>>(*attrs.find("formats"));
  std::string s = texts.at(0);
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const runtime::ArrayRef& a = operands.at(first + i);
    if (formats[i] == lang::kLayoutFormat)
      s += first + i < layouts.size() ? layouts[first + i] : "P()";
    else
      s += lang::format_value(mesh && a->type.mesh ? runtime::block_of(in.context().pool(), a, position) : a,
                              formats[i], in.context().pool());
    s += texts.at(i + 1);
  }
  return s;
}

DeferredString joined(Interpreter& in, const std::vector<lang::CallArg>& items) {
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
    const runtime::ArrayRef& a = d.values[i].array();
    s += d.formats[i] == lang::kLayoutFormat && a->type.mesh ? runtime::to_string(*a->type.mesh, a->layout) : "~";
    s += d.texts.at(i + 1);
  }
  return s;
}

Value print(Interpreter& in, BoundArgs& a) {
  for (const lang::CallArg& x : a.rest)
    if (!x.name.empty())
      in.fail("call", x.span, "print has no argument called `" + x.name + "`",
              {"values to be printed have no names: print(a, b)"});
  const runtime::LineLimit limit(in.screen().width() - 1);
  const DeferredString d = joined(in, a.rest);
  if (d.values.empty())
    in.write(d.texts.back() + "\n");
  else if (in.context().types_only() && !in.context().tracing() && !in.impl().checker)
    in.write(with_unknowns(d) + "\n");
  else
    record_effect(in, "print", d, {});
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

void run_effect(Interpreter& in, const ir::Attrs& attrs, const std::vector<runtime::ArrayRef>& operands,
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
    const std::string who = mesh ? coordinates(*mesh, p) : "";
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
      runtime::Type type = runtime::Type::of(operands[0]->type.dtype, attrs.ints("whole"));
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
             "Tells a warning, once a place, and goes on; from inside of a module of the library it is told at the "
             "script's call. `code` names another one than `warned`: see `shard help warnings`.",
             warn,
             {"warnings"}});
  in.context().hooks().effect = [&in](const ir::Attrs& attrs, const std::vector<runtime::ArrayRef>& operands,
                                      const std::vector<std::string>& layouts,
                                      grammar::Span span) { run_effect(in, attrs, operands, layouts, span); };
}

}  // namespace shard::stdlib
