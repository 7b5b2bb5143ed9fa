#include "interpreter/lang/fixes/fix.h"

#include <algorithm>

#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/fixes/candidates.h"
#include "interpreter/lang/fixes/conversion.h"
#include "interpreter/lang/fixes/spec_fix.h"
#include "interpreter/lang/fixes/written.h"
#include "interpreter/lang/index/index.h"
#include "interpreter/lang/index/items.h"
#include "interpreter/lang/values/format.h"

namespace shard::lang {

using namespace grammar;
using runtime::Sharding;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

constexpr std::size_t kFixes = 2;

std::size_t splits(const Sharding& s) { return s.split_axes().list().size() + s.unreduced.list().size(); }

// Whether `e` is an error of the layouts of this very expression that has no fix yet.
bool may_be_mended(const Error& e, const Expr& at) {
  const Diagnostic& d = e.diagnostic;
  return (d.code == "layout" || d.code == "carry" || d.code == "type") && d.fixes.empty() && d.span == at.span;
}

// Adds one or two fixes; none where nothing that was tried helps.
void suggest(Impl& m, Error& e, const std::vector<Part>& parts, const Attempt& attempt, Span whole) {
  Trials trials(m, parts, attempt);
  if (!trials.possible()) return;
  struct Found {
    std::size_t operand;
    Sharding layout, result;
  };
  std::vector<Found> found;
  for (std::size_t i = 0; i < trials.operands().size(); ++i) {
    std::optional<Found> best;  // of one operand: what leaves most of the result split
    for (const Sharding& s : trials.candidates(i))
      if (auto result = trials.with(i, s); result && (!best || splits(*result) > splits(best->result)))
        best = Found{i, s, *result};
    if (best) found.push_back(std::move(*best));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return splits(a.result) > splits(b.result); });
  std::vector<Fix>& fixes = e.diagnostic.fixes;
  if (attempt.with_out) {
    std::vector<Sharding> wanted;
    for (const Found& f : found) wanted.push_back(f.result);
    wanted.push_back({});
    for (Sharding& s : wanted) {
      s.unreduced = {};
      s.reduced = {};
      if (!trials.with_out(s)) continue;
      fixes.push_back(attempt.out_fix(trials.text(s)));
      break;
    }
  }
  for (const Found& f : found) {
    if (fixes.size() >= kFixes) break;
    fixes.push_back(
        shard_fix(m.in, "lay an operand out anew", trials.operands()[f.operand].span, trials.text(f.layout)));
  }
  if (!fixes.empty() || !trials.with_all_whole()) return;  // no single one helps: all of them, in one piece of text
  std::vector<Fix> each;
  for (const Operand& o : trials.operands()) each.push_back(shard_fix(m.in, "", o.span, "P()"));
  std::sort(each.begin(), each.end(), [](const Fix& a, const Fix& b) { return a.span.begin > b.span.begin; });
  std::string text = text_at(m.in, whole);
  for (const Fix& f : each) text.replace(f.span.begin - whole.begin, f.span.end - f.span.begin, f.replacement);
  fixes.push_back({"lay the operands out anew", whole, text});
}

bool takes_out(Impl& m, const ir::OpDef& op) {
  const auto& params = m.ctx.table().signature(op).params;
  return std::any_of(params.begin(), params.end(), [](const ir::Parameter& p) { return p.name == "out"; });
}

}  // namespace

void mend_binary(Impl& m, Error& error, const Expr& e, const Value& left, const Value& right) {
  if (!may_be_mended(error, e)) return;
  const Binary& b = std::get<Binary>(e.node);
  if (row_of(b.op).empty()) return;  // a range is no operation on arrays
  Attempt attempt{[&](std::vector<Value> v) { return m.binary(b.op, v[0], v[1], e.span); }};
  if (const ir::OpDef& op = m.ctx.table().at(row_of(b.op)); takes_out(m, op) && !op.internal) {
    attempt.with_out = [&](const Value& spec) {
      std::vector<CallArg> args{{"", left, e.span}, {"", right, e.span}, {"out", spec, e.span}};
      return m.call_row(op, args, e.span);
    };
    attempt.out_fix = [&](const std::string& spec) {
      return Fix{"say the result's layout", e.span,
                 std::string(op.name) + "(" + text_at(m.in, b.left->span) + ", " + text_at(m.in, b.right->span) +
                     ", out: " + spec + ")"};
    };
  }
  suggest(m, error, {{left, b.left.get()}, {right, b.right.get()}}, attempt, e.span);
}

void mend_assign(Impl& m, Error& error, const AssignStmt& s, const Value& value) {
  if (error.diagnostic.code != "layout" || !error.diagnostic.fixes.empty()) return;
  auto* element = std::get_if<Index>(&s.target->node);
  const Expr& target = element ? *element->object : *s.target;
  if (!std::holds_alternative<NameRef>(target.node) || (!element && s.op == AssignOp::Set)) return;
  const Value before = m.eval(target);
  if (!is_array(before)) return;
  const std::vector<IndexItem> items = element ? eval_items(m, *element) : std::vector<IndexItem>{};
  std::vector<Part> parts{{before, nullptr}, {value, s.value.get()}};
  std::vector<std::size_t> place;  // of each further part among the items
  for (std::size_t i = 0; i < items.size() && element && i < element->items.size(); ++i)
    if (is_array(items[i].value) && element->items[i].value) {
      parts.push_back({items[i].value, element->items[i].value.get()});
      place.push_back(i);
    }
  const Attempt attempt{[&](std::vector<Value> v) {
    if (!element) return m.binary(operator_of(s.op), v[0], v[1], s.value->span);
    std::vector<IndexItem> again = items;
    for (std::size_t i = 0; i < place.size(); ++i) again[place[i]].value = v[i + 2];
    Tensor x = v[0].tensor();
    return Value(update_array(m.in, x, again, scatter_of(s.op), m.in.tensor(v[1], s.value->span), s.value->span));
  }};
  suggest(m, error, parts, attempt, s.value->span);
  if (!error.diagnostic.fixes.empty()) return;
  parts[0].expr = &target;  // the variable itself is laid out anew, before the statement
  Trials trials(m, parts, attempt);
  if (!trials.possible()) return;
  const std::string name = text_at(m.in, target.span);
  const Span front{target.span.source, target.span.begin, target.span.begin};
  for (const Sharding& layout : trials.candidates(0)) {
    if (!trials.with(0, layout)) continue;
    error.diagnostic.fixes.push_back(
        {"lay the array out anew", front, name + " = shard " + name + " as " + trials.text(layout) + "; "});
    return;
  }
}

void mend_index(Impl& m, Error& error, const Expr& e, const Value& object, const std::vector<IndexItem>& items) {
  if (!may_be_mended(error, e)) return;
  const Index& x = std::get<Index>(e.node);
  std::vector<Part> parts{{object, x.object.get()}};
  std::vector<std::size_t> place;  // of each further part among the items
  for (std::size_t i = 0; i < items.size() && i < x.items.size(); ++i)
    if (!items[i].slice && !items[i].ellipsis && x.items[i].value && !is_mask(items[i])) {
      parts.push_back({items[i].value, x.items[i].value.get()});
      place.push_back(i);
    }
  suggest(m, error, parts, {[&](std::vector<Value> v) {
            std::vector<IndexItem> again = items;
            for (std::size_t i = 0; i < place.size(); ++i) again[place[i]].value = v[i + 1];
            return Value(index_array(m.in, v[0].tensor(), again, e.span));
          }},
          e.span);
}

void mend_rows(Impl& m, Error& error, const Expr& sequence, const Value& value) {
  if (!may_be_mended(error, sequence)) return;
  suggest(m, error, {{value, &sequence}},
          {[&](std::vector<Value> v) { return Value(row(m.in, v[0].tensor(), 0, sequence.span)); }}, sequence.span);
}

namespace {

// The same layout with something else pending: another kind, other axes (as many as may be first), nothing; at last not
// reduced.
void other_pending(const Spec& given, const runtime::Mesh& mesh, std::vector<Spec>& near) {
  if (given.unreduced.empty() && given.reduced.empty()) return;
  for (const char* kind : {"", "max", "min"}) {
    Spec s = given;
    s.kind = kind;
    if (!given.unreduced.empty() && !(s == given)) near.push_back(std::move(s));
  }
  for (const bool reduced : {true, false}) {
    if (!reduced && given.reduced.empty()) break;
    std::vector<std::string> axes;  // that may be pending
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
    std::stable_sort(several.begin(), several.end(),
                     [](const Spec& a, const Spec& b) { return a.unreduced.size() > b.unreduced.size(); });
    near.insert(near.end(), several.begin(), several.end());
  }
}

// What `out:` says does not fit: the nearest that does.
void mend_out(Impl& m, Error& error, const Value& function, const std::vector<CallArg>& args,
              const std::vector<const Expr*>& written, Span call) {
  const auto out = std::find_if(args.begin(), args.end(), [](const CallArg& a) { return a.name == "out"; });
  if (out == args.end()) return;
  const std::size_t place = static_cast<std::size_t>(out - args.begin());
  auto* given = out->value.get<std::shared_ptr<const Spec>>();
  const Expr* text = written[place];
  const runtime::MeshRef mesh = m.ctx.mesh();
  if (!given || !mesh || !text || !std::holds_alternative<SpecLit>(text->node)) return;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < args.size(); ++i) parts.push_back({args[i].value, i == place ? nullptr : written[i]});
  const Attempt none;
  Trials trials(m, parts, none);
  auto type_with = [&](const std::optional<Spec>& spec) {
    return trials.type_of([&] {
      std::vector<CallArg> all = args;
      if (spec)
        all[place].value = Value(std::make_shared<const Spec>(*spec));
      else
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(place));
      return m.call(function, all, call);
    });
  };
  std::vector<Spec> near;
  auto free = type_with(std::nullopt);
  if (!free) free = type_with(Spec{});  // where something has to be said
  if (free)
    if (auto fits = fitting(m, **given, free->shape, mesh, call)) near.push_back(*fits);
  if (error.diagnostic.code == "layout") other_pending(**given, *mesh, near);
  for (const Spec& s : near) {
    if (error.diagnostic.fixes.size() >= kFixes) return;
    if (type_with(s)) error.diagnostic.fixes.push_back({"say another layout", text->span, lang::show(s)});
  }
}

}  // namespace

void mend_call(Impl& m, Error& error, const Expr& e, const Value& function, const std::vector<CallArg>& args,
               const std::vector<const Expr*>& written) {
  const std::string& code = error.diagnostic.code;
  if (!error.diagnostic.fixes.empty() || args.size() != written.size()) return;
  if (code == "layout" || code == "spec") mend_out(m, error, function, args, written, e.span);
  // A builtin that calls functions (vmap, scan, grad) may be given other arguments where nothing mends the function.
  const bool inside = code == "layout" && function.is<std::shared_ptr<const Native>>();
  if (!may_be_mended(error, e) && !(inside && error.diagnostic.fixes.empty())) return;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < args.size(); ++i) parts.push_back({args[i].value, written[i]});
  const auto again = [&](const std::vector<Value>& values) {
    std::vector<CallArg> given = args;
    for (std::size_t i = 0; i < values.size(); ++i) given[i].value = values[i];
    return given;
  };
  Attempt attempt{[&](std::vector<Value> v) {
    std::vector<CallArg> given = again(v);
    return m.call(function, given, e.span);
  }};
  auto* op = function.get<const ir::OpDef*>();
  const std::string_view text = m.in.sources().text(e.span);
  const bool given = std::any_of(args.begin(), args.end(), [](const CallArg& a) { return a.name == "out"; });
  if (op && !given && text.ends_with(')') && takes_out(m, **op)) {
    attempt.with_out = [&](const Value& spec) {
      std::vector<CallArg> all = args;
      all.push_back({"out", spec, e.span});
      return m.call(function, all, e.span);
    };
    attempt.out_fix = [&](const std::string& spec) {
      const std::uint32_t at = e.span.end - 1;
      const std::size_t before = text.find_last_not_of(" \n,", text.size() - 2);
      const bool first = before != std::string_view::npos && text[before] == '(';
      return Fix{"say the result's layout", Span{e.span.source, at, at}, (first ? "out: " : ", out: ") + spec};
    };
  }
  suggest(m, error, parts, attempt, e.span);
}

}  // namespace shard::lang
