// Fixes for calls: operands laid out anew, the result's layout said, or what `out:` says changed to the nearest that
// fits.
#include <algorithm>

#include "grammar/stable_sort.h"
#include "grammar/walk.h"
#include "interpreter/lang/fixes/fix.h"
#include "interpreter/lang/fixes/suggest.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/values/value_text.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {

using namespace grammar;

namespace {

// An integer that the text shows, or a variable that holds one: nothing happens where it is read.
std::optional<std::int64_t> integer_of(Interpreter& in, const Expr& e) {
  if (const auto* i = std::get_if<IntLit>(&e.node)) return i->value;
  const Value* v = std::holds_alternative<NameRef>(e.node) ? in.peek(e) : nullptr;
  const auto* i = v ? v->get<std::int64_t>() : nullptr;
  return i ? std::optional(*i) : std::nullopt;
}

// `/` in an argument that must be an integer.
void fix_division(Interpreter& in, Error& error, const std::vector<const Expr*>& written) {
  Diagnostic& d = error.diagnostic;
  if (d.code != "type") return;
  for (const Expr* e : written) {
    if (!e || !(d.span.begin <= e->span.begin && e->span.end <= d.span.end)) continue;
    std::vector<const Expr*> parts{e};
    if (const auto* elements = elements_of(*e))
      for (const Element& x : *elements) parts.push_back(x.value.get());
    for (const Expr* part : parts) {
      const auto* b = std::get_if<Binary>(&part->node);
      if (!b || b->op != BinaryOp::Div) continue;
      const auto x = integer_of(in, *b->left), y = integer_of(in, *b->right);
      if (!x || !y || *y == 0) continue;
      d.span = part->span;
      d.fixes.push_back({"divide to an integer", b->op_span, "//"});
      return;
    }
  }
}

// The same layout with something else unreduced: another kind, other axes (as many as may be first), nothing; at last
// not reduced.
void other_unreduced(const Spec& given, const runtime::Mesh& mesh, std::vector<Spec>& near) {
  if (given.unreduced.empty() && given.reduced.empty()) return;
  for (const char* kind : {"", "max", "min"}) {
    Spec s = given;
    s.kind = kind;
    if (!given.unreduced.empty() && !(s == given)) near.push_back(std::move(s));
  }
  for (const bool reduced : {true, false}) {
    if (!reduced && given.reduced.empty()) break;
    std::vector<std::string> axes;  // that may be unreduced
    for (const auto& a : mesh.axes) {
      bool used = a.kind != runtime::AxisKind::Explicit ||
                  (reduced && std::count(given.reduced.begin(), given.reduced.end(), a.name));
      for (const SpecEntry& d : given.dims) used = used || std::count(d.axes.begin(), d.axes.end(), a.name);
      if (!used && axes.size() < 4) axes.push_back(a.name);
    }
    std::vector<Spec> several;
    for (std::size_t set = (std::size_t{1} << axes.size()); set-- > 0;) {
      Spec s = given;
      s.unreduced.clear();
      if (!reduced) s.reduced.clear();
      for (std::size_t i = 0; i < axes.size(); ++i)
        if (set >> i & 1) s.unreduced.push_back(axes[i]);
      if (s.unreduced.empty()) s.kind.clear();
      if (!(s == given)) several.push_back(std::move(s));
    }
    stable_sort(several, [](const Spec& a, const Spec& b) { return a.unreduced.size() > b.unreduced.size(); });
    near.insert(near.end(), several.begin(), several.end());
  }
}

// What `out:` says does not fit: the nearest that does.
void fix_out(Interpreter& in, Error& error, const Value& function, const std::vector<CallArg>& args,
             const std::vector<const Expr*>& written, Span call) {
  const auto out = std::find_if(args.begin(), args.end(), [](const CallArg& a) { return a.name == "out"; });
  if (out == args.end()) return;
  const std::size_t place = static_cast<std::size_t>(out - args.begin());
  auto* given = out->value.get<std::shared_ptr<const Spec>>();
  const Expr* text = written[place];
  const runtime::MeshRef mesh = in.context().mesh();
  if (!given || !mesh || !text || !std::holds_alternative<SpecLit>(text->node)) return;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < args.size(); ++i) parts.push_back({args[i].value, i == place ? nullptr : written[i]});
  const Attempt none;
  Candidates candidates(in, parts, none);
  auto type_with = [&](const std::optional<Spec>& spec) {
    return candidates.type_of([&] {
      std::vector<CallArg> all = args;
      if (spec)
        all[place].value = Value(std::make_shared<const Spec>(*spec));
      else
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(place));
      return in.call(function, std::move(all), call);
    });
  };
  std::vector<Spec> near;
  auto free = type_with(std::nullopt);
  if (!free) free = type_with(Spec{});  // where something has to be said
  if (free)
    if (auto fits = fitting(in, **given, free->shape, mesh, call)) near.push_back(*fits);
  if (error.diagnostic.code == "layout") other_unreduced(**given, *mesh, near);
  for (const Spec& s : near) {
    if (error.diagnostic.fixes.size() >= kFixes) return;
    if (type_with(s)) error.diagnostic.fixes.push_back({"say another layout", text->span, lang::show(s)});
  }
}

// take(table, index, axis)
std::optional<runtime::Sharding> layout_of_take(Interpreter& in, const std::vector<CallArg>& args) {
  if (args.size() < 2 || !args[0].name.empty() || !args[1].name.empty()) return std::nullopt;
  const std::int64_t* axis = nullptr;
  for (std::size_t i = 2; i < args.size(); ++i)
    if (args[i].name == "axis" || (i == 2 && args[i].name.empty())) axis = args[i].value.get<std::int64_t>();
  return axis ? layout_of_lookup(in, args[0].value, args[1].value, *axis) : std::nullopt;
}

}  // namespace

void Fixes::call(Error& error, const Expr& e, const Value& function, const std::vector<CallArg>& args,
                 const std::vector<const Expr*>& written) {
  const std::string& code = error.diagnostic.code;
  fix_division(in_, error, written);
  if (!error.diagnostic.fixes.empty() || args.size() != written.size()) return;
  if (code == "layout" || code == "spec") fix_out(in_, error, function, args, written, e.span);
  // A builtin that calls functions (vmap, scan, grad) may be given other arguments where nothing is wrong with the
  // function.
  const bool inside = code == "layout" &&
                      (function.is<std::shared_ptr<const Native>>() || function.is<std::shared_ptr<const Wrapped>>());
  if (!is_fixable(error, e) && !(inside && error.diagnostic.fixes.empty())) return;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < args.size(); ++i) parts.push_back({args[i].value, written[i]});
  const auto again = [&](const std::vector<Value>& values) {
    std::vector<CallArg> given = args;
    for (std::size_t i = 0; i < values.size(); ++i) given[i].value = values[i];
    return given;
  };
  Attempt attempt{[&](std::vector<Value> v) { return in_.call(function, again(v), e.span); }};
  auto* op = function.get<const ir::OpDef*>();
  const std::string_view text = in_.sources().text(e.span);
  const bool given = std::any_of(args.begin(), args.end(), [](const CallArg& a) { return a.name == "out"; });
  if (op && !given && text.ends_with(')') && takes_out(in_, **op)) {
    attempt.with_out = [&](const Value& spec) {
      std::vector<CallArg> all = args;
      all.push_back({"out", spec, e.span});
      return in_.call(function, std::move(all), e.span);
    };
    if ((*op)->name == "take") attempt.likely = layout_of_take(in_, args);
    attempt.in_place = (*op)->name == "reshape";
    attempt.out_fix = [&](const std::string& spec) {
      const std::uint32_t at = e.span.end - 1;
      const std::size_t before = text.find_last_not_of(" \n,", text.size() - 2);
      const bool first = before != std::string_view::npos && text[before] == '(';
      return Fix{"say the result's layout", Span{e.span.source, at, at}, (first ? "out: " : ", out: ") + spec};
    };
  }
  suggest(in_, error, parts, attempt, e.span);
}

}  // namespace shard::lang
