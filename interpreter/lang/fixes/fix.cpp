#include "interpreter/lang/fixes/fix.h"

#include "interpreter/lang/eval/index/index.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/fixes/conversion.h"
#include "interpreter/lang/fixes/suggest.h"
#include "interpreter/lang/report/written.h"

namespace shard::lang {

using namespace grammar;
using runtime::Sharding;
using trace::Tensor;

namespace {

// The name that the last statement of a function's body declares or assigns, and where that statement ends.
std::optional<Word> last_declared(const Function& f) {
  const auto* body = std::get_if<Block>(&f.body->node);
  if (!body || body->body.empty()) return std::nullopt;
  const Stmt& last = *body->body.back();
  const Span end{last.span.source, last.span.end, last.span.end};
  if (const auto* l = std::get_if<LetStmt>(&last.node))
    if (const auto* n = std::get_if<NamePattern>(&l->pattern->node)) return Word{n->name, end};
  if (const auto* a = std::get_if<AssignStmt>(&last.node))
    if (const auto* n = std::get_if<NameRef>(&a->target->node)) return Word{n->name, end};
  return std::nullopt;
}

// An operand that is none: what gave it.
void explain_none(Interpreter& in, Error& error, const Expr& operand, const Value& value) {
  if (!value.is_none()) return;
  Diagnostic& d = error.diagnostic;
  if (const auto* name = std::get_if<NameRef>(&operand.node)) {
    d.notes.push_back("`" + name->name + "` is `none`: begin with a number, as in `let " + name->name + " = 0.0`");
    return;
  }
  const auto* call = std::get_if<Call>(&operand.node);
  const auto* callee = call ? std::get_if<NameRef>(&call->callee->node) : nullptr;
  const Value* f = callee ? in.peek(*call->callee) : nullptr;
  const auto* closure = f ? f->get<std::shared_ptr<const Closure>>() : nullptr;
  const auto last = closure ? last_declared(*(*closure)->function) : std::nullopt;
  if (!last) return;
  d.notes.push_back("`" + callee->name + "` ends in a statement and gives none: end with `" + last->text + "`");
  d.fixes.push_back({"give the value", last->span, "; " + last->text});
}

// Shapes that would broadcast with new dimensions at the end of one.
void fix_broadcast(Interpreter& in, Error& error, const Binary& b, const Value& left, const Value& right) {
  if (error.diagnostic.code != "shape" || !left.is_tensor() || !right.is_tensor()) return;
  const runtime::Shape &x = left.tensor().type().shape, &y = right.tensor().type().shape;
  if (runtime::broadcast(x, y)) return;
  const auto widened = [&](const Expr& e, runtime::Shape shape, const runtime::Shape& other) {
    std::string index = "[:";
    for (std::size_t i = 1; i < shape.size(); ++i) index += ", :";
    const std::size_t more = other.size() > shape.size() ? other.size() - shape.size() : 0;
    for (std::size_t i = 0; i < more; ++i) {
      shape.push_back(1);
      index += ", none";
      if (!runtime::broadcast(shape, other)) continue;
      error.diagnostic.fixes.push_back({"meet the dimensions further left with new ones at the end", e.span,
                                        operand_at(in.sources(), e.span) + index + "]"});
      return;
    }
  };
  if (!x.empty()) widened(*b.left, x, y);
  if (!y.empty()) widened(*b.right, y, x);
}

// An assignment keeps the array's layout and takes no `out:`: what has to be laid out anew is said in its own words.
void say_of_assignment(Interpreter& in, Diagnostic& d, const Expr& target, const Value& before,
                       const std::vector<Part>& parts) {
  if (d.message.find("`out: P(...)`") == std::string::npos) return;
  std::string places;
  for (std::size_t i = 2; i < parts.size(); ++i)
    places += (i > 2 ? ", " : " at ") + runtime::to_string(in.context().type_of(parts[i].value.tensor()));
  d.message = "writing to `" + text_at(in.sources(), target.span) + "`, " +
              runtime::to_string(in.context().type_of(before.tensor())) + "," + places +
              ": what is written may lie on other devices than its place; `shard` the array, or the positions, first";
  d.notes.clear();
}

}  // namespace

void install_fixes(Interpreter& in) { in.set_fixer(std::make_unique<Fixes>(in)); }

void Fixes::binary(Error& error, const Expr& e, const Value& left, const Value& right) {
  const Binary& b = std::get<Binary>(e.node);
  explain_none(in_, error, *b.left, left);
  explain_none(in_, error, *b.right, right);
  fix_broadcast(in_, error, b, left, right);
  if (!is_fixable(error, e)) return;
  if (row_of(b.op).empty()) return;  // a range is no operation on arrays
  Attempt attempt{[&](std::vector<Value> v) { return in_.binary(b.op, v[0], v[1], e.span); }};
  if (const ir::OpDef& op = in_.context().table().at(row_of(b.op)); takes_out(in_, op) && !op.internal) {
    attempt.with_out = [&](const Value& spec) {
      std::vector<CallArg> args{{"", left, e.span}, {"", right, e.span}, {"out", spec, e.span}};
      return in_.call(Value(&op), std::move(args), e.span);
    };
    attempt.out_fix = [&](const std::string& spec) {
      return Fix{"say the result's layout", e.span,
                 std::string(op.name) + "(" + text_at(in_.sources(), b.left->span) + ", " +
                     text_at(in_.sources(), b.right->span) + ", out: " + spec + ")"};
    };
  }
  suggest(in_, error, {{left, b.left.get()}, {right, b.right.get()}}, attempt, e.span);
}

void Fixes::assign(Error& error, const AssignStmt& s, const Value& value) {
  if (s.op != AssignOp::Set && std::holds_alternative<NameRef>(s.target->node))
    if (const Value* before = in_.peek(*s.target)) explain_none(in_, error, *s.target, *before);
  if (error.diagnostic.code != "layout" || !error.diagnostic.fixes.empty() || value.is_none()) return;
  auto* element = std::get_if<Index>(&s.target->node);
  const Expr& target = element ? *element->object : *s.target;
  if (!std::holds_alternative<NameRef>(target.node) || (!element && s.op == AssignOp::Set)) return;
  const Value before = in_.eval(target);
  if (!is_array(before)) return;
  const std::vector<IndexItem> items = element ? eval_items(in_, *element) : std::vector<IndexItem>{};
  std::vector<Part> parts{{before, nullptr}, {value, s.value.get()}};
  std::vector<std::size_t> place;  // of each further part among the items
  for (std::size_t i = 0; i < items.size() && element && i < element->items.size(); ++i)
    if (is_array(items[i].value) && element->items[i].value) {
      parts.push_back({items[i].value, element->items[i].value.get()});
      place.push_back(i);
    }
  const Attempt attempt{[&](std::vector<Value> v) {
    if (!element) return in_.binary(operator_of(s.op), v[0], v[1], s.value->span);
    std::vector<IndexItem> again = items;
    for (std::size_t i = 0; i < place.size(); ++i) again[place[i]].value = v[i + 2];
    Tensor x = v[0].tensor();
    return Value(update_array(in_, x, again, scatter_of(s.op), in_.tensor(v[1], s.value->span), s.value->span));
  }};
  if (element) say_of_assignment(in_, error.diagnostic, target, before, parts);
  suggest(in_, error, parts, attempt, s.value->span);
  if (!error.diagnostic.fixes.empty()) return;
  parts[0].expr = &target;  // the variable itself is laid out anew, before the statement
  Candidates candidates(in_, parts, attempt);
  if (!candidates.possible()) return;
  const std::string name = text_at(in_.sources(), target.span);
  const Span front{target.span.source, target.span.begin, target.span.begin};
  for (const Sharding& layout : candidates.near(0)) {
    if (!candidates.with(0, layout)) continue;
    error.diagnostic.fixes.push_back(
        {"lay the array out anew", front, name + " = shard " + name + " as " + candidates.text(layout) + "; "});
    return;
  }
  if (!candidates.with_all_whole()) return;
  const Span whole{front.source, front.begin, s.value->span.end};
  std::vector<Span> others;
  for (std::size_t i = 0; i < candidates.operands().size(); ++i)
    if (const Operand& o = candidates.operands()[i]; o.part > 0 && !candidates.type(i).sharding.used_axes().empty())
      others.push_back(o.span);
  error.diagnostic.fixes.push_back(
      {"lay all of them out anew", whole,
       name + " = shard " + name + " as P(); " + whole_text(in_, std::move(others), whole)});
}

void Fixes::index(Error& error, const Expr& e, const Value& object, const std::vector<IndexItem>& items) {
  if (!is_fixable(error, e)) return;
  const Index& x = std::get<Index>(e.node);
  std::vector<Part> parts{{object, x.object.get()}};
  std::vector<std::size_t> place;  // of each further part among the items
  for (std::size_t i = 0; i < items.size() && i < x.items.size(); ++i)
    if (!items[i].slice && !items[i].ellipsis && x.items[i].value && !is_mask(items[i])) {
      parts.push_back({items[i].value, x.items[i].value.get()});
      place.push_back(i);
    }
  Attempt attempt{[&](std::vector<Value> v) {
    std::vector<IndexItem> again = items;
    for (std::size_t i = 0; i < place.size(); ++i) again[place[i]].value = v[i + 1];
    return Value(index_array(in_, v[0].tensor(), again, e.span));
  }};
  if (items.size() == 1 && parts.size() == 2 && is_array(items[0].value)) {  // a lookup, which can say its layout
    attempt.with_out = [&](const Value& spec) {
      std::vector<CallArg> args{{"", object, e.span},
                                {"", items[0].value, e.span},
                                {"axis", Value(std::int64_t{0}), e.span},
                                {"out", spec, e.span}};
      return in_.call(Value(in_.context().table().find("take")), std::move(args), e.span);
    };
    attempt.out_fix = [&](const std::string& spec) {
      return Fix{"say the result's layout", e.span,
                 "take(" + text_at(in_.sources(), x.object->span) + ", " +
                     text_at(in_.sources(), x.items[0].value->span) + ", axis: 0, out: " + spec + ")"};
    };
    attempt.likely = layout_of_lookup(in_, object, items[0].value, 0);
  }
  suggest(in_, error, parts, attempt, e.span);
}

void Fixes::rows(Error& error, const Expr& sequence, const Value& value) {
  if (!is_fixable(error, sequence)) return;
  suggest(in_, error, {{value, &sequence}},
          {[&](std::vector<Value> v) { return Value(row(in_, v[0].tensor(), 0, sequence.span)); }}, sequence.span);
}

void Fixes::leaf(Error& error, Span whole, const Value& tree, const std::string& path, const std::string& spec) {
  if (auto fix = tree_fix(in_.sources(), "lay it out first", whole, tree, path, spec))
    error.diagnostic.fixes.push_back(std::move(*fix));
}

}  // namespace shard::lang
