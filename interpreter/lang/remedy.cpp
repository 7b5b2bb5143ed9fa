#include "interpreter/lang/remedy.h"

#include <algorithm>
#include <cctype>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/check.h"
#include "interpreter/lang/format.h"
#include "interpreter/lang/index.h"
#include "interpreter/lang/items.h"
#include "interpreter/lang/operators.h"

namespace shard::lang {

using namespace grammar;
using runtime::AxisId;
using runtime::Sharding;
using runtime::Type;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

constexpr std::size_t kFixes = 2;

// The parts of an operation as they are written, with their values: operands, arguments, an indexed array and its
// indices.
struct Part { Value value; const Expr* expr = nullptr; };

struct Attempt {
  std::function<Value(std::vector<Value>)> with;             // the same operation on other values of its parts
  std::function<Value(const Value& spec)> with_out = {};     // the same with `out: spec`; empty where it has none
  std::function<Fix(const std::string& spec)> out_fix = {};  // how that is written
};

// Operand `element` of part `part` (-1: the part itself): an array that stands somewhere in the source.
struct Operand { std::size_t part; std::ptrdiff_t element; Span span; Tensor tensor; };

const std::vector<Element>* elements_of(const Expr* e) {
  if (!e) return nullptr;
  if (auto* l = std::get_if<ListLit>(&e->node)) return &l->elements;
  if (auto* t = std::get_if<TupleLit>(&e->node)) return &t->elements;
  return nullptr;
}

bool is_array(const Value& v) { return v.is_tensor() && v.tensor().valid() && !v.tensor().known(); }

std::vector<Operand> operands_of(const std::vector<Part>& parts) {
  std::vector<Operand> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Value& v = parts[i].value;
    if (is_array(v) && parts[i].expr) out.push_back({i, -1, parts[i].expr->span, v.tensor()});
    const auto* items = v.items();
    const auto* written = elements_of(parts[i].expr);
    if (!items || !written || items->size() != written->size()) continue;
    for (std::size_t k = 0; k < items->size(); ++k)
      if (is_array((*items)[k]) && !(*written)[k].spread)
        out.push_back({i, static_cast<std::ptrdiff_t>(k), (*written)[k].value->span, (*items)[k].tensor()});
  }
  return out;
}

class Trials {
 public:
  Trials(Impl& m, const std::vector<Part>& parts, const Attempt& attempt)
      : m_(m), parts_(parts), attempt_(attempt), operands_(operands_of(parts)) {
    for (const Operand& o : operands_) {
      types_.push_back(m.ctx.type_of(o.tensor));
      if (types_.back().mesh && !mesh_) mesh_ = types_.back().mesh;
    }
  }

  std::string text(const Sharding& s) const { return runtime::to_string(*mesh_, s); }
  bool possible() const { return mesh_ && !operands_.empty(); }
  const std::vector<Operand>& operands() const { return operands_; }

  // The layout of the operation's first result where operand i is laid out so; nothing where it is refused.
  std::optional<Sharding> with(std::size_t i, const Sharding& layout) {
    std::vector<Type> types = types_;
    types[i].sharding = layout;
    types[i].mesh = mesh_;
    return run(types, [&](const std::vector<Value>& values) { return attempt_.with(values); });
  }
  // The same where all operands are laid out whole.
  std::optional<Sharding> with_all_whole() {
    std::vector<Type> types = types_;
    for (Type& t : types) t.sharding = Sharding::replicated(t.shape.size()), t.mesh = mesh_;
    return run(types, [&](const std::vector<Value>& values) { return attempt_.with(values); });
  }
  std::optional<Sharding> with_out(const Sharding& layout) {
    auto spec = std::make_shared<Spec>();
    auto names = [&](const std::vector<AxisId>& axes) {
      std::vector<std::string> out;
      for (AxisId a : axes) out.push_back(mesh_->axes[a].name);
      return out;
    };
    for (const auto& d : layout.dims) spec->dims.push_back({names(d.axes), false});
    while (!spec->dims.empty() && spec->dims.back() == SpecEntry{}) spec->dims.pop_back();
    const Value out{std::shared_ptr<const Spec>(std::move(spec))};
    return run(types_, [&](const std::vector<Value>&) { return attempt_.with_out(out); });
  }

  // Layouts for operand i that are near to its own: the sum finished, one dimension whole, as another operand, nothing
  // split.
  std::vector<Sharding> candidates(std::size_t i) const {
    const Type& mine = types_[i];
    std::vector<Sharding> out;
    auto add = [&](Sharding s) {
      if (s == mine.sharding || std::find(out.begin(), out.end(), s) != out.end()) return;
      try {
        ir::check_layout(mine.shape, {mesh_, s});
      } catch (const runtime::RuntimeError&) {
        return;
      }
      out.push_back(std::move(s));
    };
    Sharding finished = mine.sharding;
    finished.unreduced = {};
    finished.pending = {};
    add(finished);
    for (std::size_t j = 0; j < types_.size(); ++j) {       // reduced as another operand is, or not at all
      if (j == i) continue;
      Sharding s = mine.sharding;
      s.reduced = types_[j].sharding.reduced | types_[j].sharding.unreduced;
      if ((s.reduced & s.split_axes()).empty() && (s.reduced & s.unreduced).empty()) add(s);
    }
    Sharding bare = finished;
    bare.reduced = {};
    add(bare);
    for (std::size_t d = 0; d < bare.dims.size(); ++d) {
      if (bare.dims[d].axes.empty()) continue;
      Sharding s = bare;
      s.dims[d].axes.clear();
      add(s);
    }
    for (std::size_t j = 0; j < types_.size(); ++j) {
      if (j == i) continue;
      const Type& other = types_[j];                         // aligned at the last dimension
      Sharding s = Sharding::replicated(mine.shape.size());
      for (std::size_t d = 0; d < mine.shape.size(); ++d) {
        const std::size_t from_end = mine.shape.size() - d;
        if (from_end > other.shape.size() || mine.shape[d] != other.shape[other.shape.size() - from_end]) continue;
        s.dims[d].axes = other.sharding.dims[other.shape.size() - from_end].axes;
      }
      add(s);
    }
    add(Sharding::replicated(mine.shape.size()));
    return out;
  }

 private:
  template <class F> std::optional<Sharding> run(const std::vector<Type>& types, F operation) {
    struct Quiet {                                           // nothing runs and nothing is printed
      trace::Context& ctx;
      grammar::Span span;
      bool before;
      explicit Quiet(trace::Context& c) : ctx(c), span(c.span()), before(c.types_only()) { c.set_types_only(true); }
      ~Quiet() {
        ctx.set_types_only(before);
        ctx.set_span(span);
      }
    } quiet(m_.ctx);
    const Check::Thrown thrown(m_.check);
    std::optional<Sharding> out;
    try {
      m_.in.trace(types, [&](std::span<const Tensor> given) {
        std::vector<Value> values;
        for (const Part& p : parts_) values.push_back(p.value);
        for (std::size_t i = 0; i < operands_.size(); ++i) {
          Value& v = values[operands_[i].part];
          if (operands_[i].element < 0) v = given[i];
          else own_items(v)[static_cast<std::size_t>(operands_[i].element)] = given[i];
        }
        for (const Value& leaf : leaves(operation(values))) {
          if (!leaf.is_tensor()) continue;
          out = leaf.tensor().type().sharding;
          break;
        }
        return std::vector<Tensor>{};
      }, true);
    } catch (const grammar::Error&) {
      return std::nullopt;
    } catch (const runtime::RuntimeError&) {
      return std::nullopt;
    }
    return out;
  }

  Impl& m_;
  const std::vector<Part>& parts_;
  const Attempt& attempt_;
  std::vector<Operand> operands_;
  std::vector<Type> types_;
  runtime::MeshRef mesh_;
};

std::size_t splits(const Sharding& s) { return s.split_axes().list().size() + s.unreduced.list().size(); }

bool reads_as_one(std::string_view text) {       // before `as`, without brackets of its own
  int depth = 0;
  for (char c : text) {
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    const bool of_name = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ')' || c == ']';
    if (depth == 0 && !of_name) return false;
  }
  return true;
}

// Whether `e` is an error of the layouts of this very expression that has no fix yet.
bool may_be_mended(const Error& e, const Expr& at) {
  const Diagnostic& d = e.diagnostic;
  return (d.code == "layout" || d.code == "carry" || d.code == "type") && d.fixes.empty() && d.span == at.span;
}

// Adds one or two fixes; none where nothing that was tried helps.
void suggest(Impl& m, Error& e, const std::vector<Part>& parts, const Attempt& attempt, Span whole) {
  Trials trials(m, parts, attempt);
  if (!trials.possible()) return;
  struct Found { std::size_t operand; Sharding layout, result; };
  std::vector<Found> found;
  for (std::size_t i = 0; i < trials.operands().size(); ++i) {
    std::optional<Found> best;                   // of one operand: what leaves most of the result split
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
    fixes.push_back(shard_fix(m, "lay an operand out anew", trials.operands()[f.operand].span, trials.text(f.layout)));
  }
  if (!fixes.empty() || !trials.with_all_whole()) return;   // no single one helps: all of them, in one piece of text
  std::vector<Fix> each;
  for (const Operand& o : trials.operands()) each.push_back(shard_fix(m, "", o.span, "P()"));
  std::sort(each.begin(), each.end(), [](const Fix& a, const Fix& b) { return a.span.begin > b.span.begin; });
  std::string text(m.in.sources().text(whole));
  for (const Fix& f : each) text.replace(f.span.begin - whole.begin, f.span.end - f.span.begin, f.replacement);
  fixes.push_back({"lay the operands out anew", whole, text});
}

bool takes_out(Impl& m, const ir::OpDef& op) {
  const auto& params = m.ctx.table().signature(op).params;
  return std::any_of(params.begin(), params.end(), [](const ir::Parameter& p) { return p.name == "out"; });
}

}  // namespace

const Expr* result_expression(const Function& f) {
  const Expr* last = f.body.get();
  while (auto* b = last ? std::get_if<Block>(&last->node) : nullptr) {
    auto* s = b->body.empty() ? nullptr : std::get_if<ExprStmt>(&b->body.back()->node);
    last = s ? s->value.get() : nullptr;
  }
  return last;
}

Fix shard_fix(Impl& m, std::string advice, Span span, const std::string& spec) {
  const std::string text(m.in.sources().text(span));
  return {std::move(advice), span, "(shard " + (reads_as_one(text) ? text : "(" + text + ")") + " as " + spec + ")"};
}

namespace {

// How a value of type `have` is brought to `want`: what stands before and after it; nothing where that is no matter of
// layouts.
std::optional<std::pair<std::string, std::string>> conversion(const Type& want, const Type& have) {
  if (want.dtype != have.dtype || want.shape != have.shape) return std::nullopt;
  const runtime::MeshRef& mesh = want.mesh ? want.mesh : have.mesh;
  if (!mesh) return std::nullopt;
  using Around = std::pair<std::string, std::string>;
  if (!(want.sharding == have.sharding)) return Around{"shard ", " as " + runtime::to_string(*mesh, want.sharding)};
  const runtime::AxisSet missing = want.varying - have.varying;
  if (missing.empty() || !(have.varying - want.varying).empty()) return std::nullopt;
  return Around{"pcast(", ", " + ir::axes_text(*mesh, missing.list()) + ", to: \"varying\")"};
}

bool assigns(const Stmt& s, const std::string& variable) {
  auto* a = std::get_if<AssignStmt>(&s.node);
  if (!a) return false;
  auto named = [&](const Expr& e) {
    auto* n = std::get_if<NameRef>(&e.node);
    return n && n->name == variable;
  };
  if (named(*a->target)) return true;
  const auto* several = elements_of(a->target.get());
  return several && std::any_of(several->begin(), several->end(), [&](const Element& x) { return named(*x.value); });
}

}  // namespace

std::vector<Fix> block_fixes(Impl& m, const Expr& block, const Differing& d) {
  const auto how = conversion(d.want, d.have);
  auto* b = std::get_if<Block>(&block.node);
  if (!how || !b || b->body.empty()) return {};
  if (d.variable.empty()) {
    auto* last = std::get_if<ExprStmt>(&b->body.back()->node);
    if (!last) return {};
    const std::string text(m.in.sources().text(last->value->span));
    const std::string inner = reads_as_one(text) ? text : "(" + text + ")";
    return {{"bring the value to the other's type", last->value->span, how->first + inner + how->second}};
  }
  for (std::size_t i = b->body.size(); i-- > 0;)
    if (assigns(*b->body[i], d.variable)) {
      const Span after{b->body[i]->span.source, b->body[i]->span.end, b->body[i]->span.end};
      return {{"bring `" + d.variable + "` to the other's type", after,
               "; " + d.variable + " = " + how->first + d.variable + how->second}};
    }
  return {};
}

std::vector<Fix> entry_fixes(const Span& loop, const Differing& d) {
  const auto how = conversion(d.want, d.have);
  if (!how) return {};
  return {{"bring `" + d.variable + "` to the loop's type before it", Span{loop.source, loop.begin, loop.begin},
           d.variable + " = " + how->first + d.variable + how->second + "; "}};
}

void mend_binary(Impl& m, Error& error, const Expr& e, const Value& left, const Value& right) {
  if (!may_be_mended(error, e)) return;
  const Binary& b = std::get<Binary>(e.node);
  Attempt attempt{[&](std::vector<Value> v) { return m.binary(b.op, v[0], v[1], e.span); }};
  if (const ir::OpDef& op = m.ctx.table().at(row_of(b.op)); takes_out(m, op) && !op.internal) {
    attempt.with_out = [&](const Value& spec) {
      std::vector<CallArg> args{{"", left, e.span}, {"", right, e.span}, {"out", spec, e.span}};
      return m.call_row(op, args, e.span);
    };
    attempt.out_fix = [&](const std::string& spec) {
      const auto text = [&](const Expr& x) { return std::string(m.in.sources().text(x.span)); };
      return Fix{"say the result's layout", e.span,
                 std::string(op.name) + "(" + text(*b.left) + ", " + text(*b.right) + ", out: " + spec + ")"};
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
  const Attempt attempt{[&](std::vector<Value> v) {
    if (!element) return m.binary(operator_of(s.op), v[0], v[1], s.value->span);
    Tensor x = v[0].tensor();
    return Value(update_array(m.in, x, items, scatter_of(s.op), v[1].tensor(), s.value->span));
  }};
  suggest(m, error, {{before, nullptr}, {value, s.value.get()}}, attempt, s.value->span);
}

void mend_index(Impl& m, Error& error, const Expr& e, const Value& object, const std::vector<IndexItem>& items) {
  if (!may_be_mended(error, e)) return;
  const Index& x = std::get<Index>(e.node);
  std::vector<Part> parts{{object, x.object.get()}};
  std::vector<std::size_t> place;                // of each further part among the items
  for (std::size_t i = 0; i < items.size() && i < x.items.size(); ++i)
    if (!items[i].slice && !items[i].ellipsis && x.items[i].value) {
      parts.push_back({items[i].value, x.items[i].value.get()});
      place.push_back(i);
    }
  suggest(m, error, parts, {[&](std::vector<Value> v) {
            std::vector<IndexItem> again = items;
            for (std::size_t i = 0; i < place.size(); ++i) again[place[i]].value = v[i + 1];
            return Value(index_array(m.in, v[0].tensor(), again, e.span));
          }}, e.span);
}

void mend_call(Impl& m, Error& error, const Expr& e, const Value& function, const std::vector<CallArg>& args,
               const std::vector<const Expr*>& written) {
  if (!may_be_mended(error, e) || args.size() != written.size()) return;
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

// A spec written in place that does not fit its array: names that are near, an axis once, as many entries as dimensions,
// and no axis that does not divide.
void mend_shard(Impl& m, Error& error, const Expr& e, const Value& value, const Value& spec,
                const runtime::MeshRef& on) {
  const grammar::Shard& x = std::get<grammar::Shard>(e.node);
  auto* written = spec.get<std::shared_ptr<const Spec>>();
  const runtime::MeshRef mesh = on ? on : m.ctx.mesh();
  if (error.diagnostic.code != "spec" || !error.diagnostic.fixes.empty()) return;
  if (!written || !mesh || !std::holds_alternative<SpecLit>(x.spec->node) || !is_array(value)) return;
  Spec mended = **written;
  const runtime::Shape& shape = value.tensor().type().shape;
  mended.dims.resize(std::min(mended.dims.size(), shape.size()));
  std::vector<std::string> axes, used;
  for (const auto& a : mesh->axes) axes.push_back(a.name);
  for (std::size_t d = 0; d < mended.dims.size(); ++d) {
    std::vector<std::string> kept;
    std::int64_t left = shape[d];
    for (const std::string& name : mended.dims[d].axes) {
      if (const Record* rules = m.rules().fields(); rules && rules->find(name)) return;
      const auto known = mesh->find(name) ? std::optional<std::string>(name) : near_miss(name, axes);
      if (!known) return;
      const std::int64_t n = mesh->size_of(*mesh->find(*known));
      if (std::find(used.begin(), used.end(), *known) != used.end() || left % n) continue;
      left /= n;
      used.push_back(*known);
      kept.push_back(*known);
    }
    mended.dims[d].axes = std::move(kept);
  }
  if (mended == **written) return;
  while (!mended.dims.empty() && mended.dims.back() == SpecEntry{}) mended.dims.pop_back();
  try {
    const ir::Layout layout = m.in.resolve(mended, static_cast<int>(shape.size()), e.span, mesh);
    ir::check_layout(shape, layout);
  } catch (const std::exception&) {
    return;
  }
  error.diagnostic.fixes.push_back({"a layout that fits", x.spec->span, lang::show(mended)});
}

}  // namespace shard::lang
