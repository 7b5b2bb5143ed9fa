// A call as it is written: which function is meant (`f(x)`, `x.f()`, `x |> f`), the arguments, and the fixes where it
// fails. An argument that the statement assigns anew (see kMove in resolve.h) is moved out of its variable into the
// call, so that the callee holds the only reference; where the call fails before using it, the variable gets it back.
#include <algorithm>

#include "grammar/characters.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/names/aliases.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/unknown.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;
using ClosureRef = std::shared_ptr<const Closure>;
using NativeRef = std::shared_ptr<const Native>;

namespace {

// Arguments are evaluated straight into the new frame.
bool is_simple(const Closure& f, const Call& c) {
  if (!f.information().simple || c.args.size() != f.function->params.size()) return false;
  for (const Arg& a : c.args)
    if (a.name || a.spread) return false;
  return true;
}

Value call_simply(Impl& m, const ClosureRef keep, const Call& c, Span span) {
  const Closure& closure = *keep;
  FrameMemory memory(m.frames, closure);
  const auto& params = closure.function->params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Slot s = closure.unit->slots[static_cast<std::size_t>(params[i].pattern->id)];
    set_parameter(m, memory.frame, s, m.eval(*c.args[i].value));
  }
  Value out;
  run_bound(m, memory.frame, closure, span, out);
  return out;
}

// The nearest `name` that is a function, for x.name(); null where there is none.
const Value* method(Impl& m, const Expr& callee, const std::string& name, Value& scratch) {
  const std::int32_t index = m.extra(callee.id);
  if (index < 0) {
    const int b = m.builtins.find(name);
    return b >= 0 ? &m.builtins[b] : nullptr;
  }
  for (const Slot& s : m.frame().unit->methods[static_cast<std::size_t>(index)]) {
    if (s.where == Where::Builtin) return &m.builtins[s.index];
    const Value* v = m.place_of(s);
    if (!v || !v->callable()) continue;
    if (s.where == Where::Local) return v;
    scratch = m.read(s, callee);
    return &scratch;
  }
  return nullptr;
}

[[noreturn]] void refuse_no_method(Impl& m, const Call& c, const Field& f, const Value& object) {
  const std::string& name = f.name.text;
  if (m.find_field(object, name))
    m.fail("type", c.callee->span, "the field `" + name + "` of " + kind_name(object) + " is no function",
           c.args.empty() ? std::vector<std::string>{"read it without a call: `." + name + "`"}
                          : std::vector<std::string>{});
  std::vector<std::string> notes, fields;
  if (object.fields()) fields = object.fields()->names();
  if (auto member = member_here(object.fields(), name); !member.empty())
    notes.push_back("it is called `" + std::string(member) + "` here");
  else if (auto near_field = near_miss(name, fields))
    notes.push_back("did you mean `" + *near_field + "`?");
  else if (auto here = m.builtins.aliases().name_here(name); !here.empty())
    notes.push_back("it is called `" + std::string(here) + "` here");
  else if (auto say = m.builtins.aliases().way_here(name); !say.empty())
    notes.emplace_back(say);
  else if (auto near = near_miss(name, m.builtins.names()))
    notes.push_back("did you mean `" + *near + "`?");
  if (object.fields()) notes.push_back("its fields: " + listed_fields(fields));
  m.fail("name", f.name.span,
         (object.fields() ? "the record" : kind_name(object)) + " has no field `" + name +
             "`, and there is no function of that name",
         std::move(notes));
}

// xs.append(3), x.sort(): methods that change their object in other languages give a new value here. An error where
// the call is a statement.
void refuse_thrown_away(Impl& m, const Expr& e, const Call& c, const Value& callee, const Value* object) {
  if (object && (object->fields() || callee.is<std::shared_ptr<const Closure>>())) return;
  std::string name;
  if (auto* op = callee.get<const ir::OpDef*>(); op && object)
    name = std::string((*op)->name);
  else if (auto* n = callee.get<std::shared_ptr<const Native>>())
    name = (*n)->name;
  const std::string_view why = m.builtins.aliases().differs(name);
  if (why.empty()) return;
  const Expr* target = nullptr;
  if (auto* f = std::get_if<Field>(&c.callee->node))
    target = f->object.get();
  else if (!c.args.empty())
    target = c.args[0].value.get();
  std::vector<Fix> fixes;
  if (target && std::holds_alternative<NameRef>(target->node) && m.in.sources().has(e.span.source)) {
    const auto text = [&](Span s) { return std::string(m.in.sources().text(s)); };
    fixes.push_back({"assign it", e.span, text(target->span) + " = " + text(e.span)});
  }
  throw Error(Diagnostic{"form",
                         e.span,
                         "`" + name + "` gives a new value and changes nothing, and nothing uses that value",
                         {std::string(why)},
                         std::move(fixes),
                         {}});
}

// `...v` among arguments.
void spread(Impl& m, const Value& v, Span span, bool names, std::vector<CallArg>& args) {
  if (auto* items = v.items()) {
    for (const Value& x : *items) args.push_back({"", x, span});
  } else if (auto* r = v.fields(); r && names) {
    for (const auto& [name, x] : r->fields) args.push_back({name, x, span});
  } else {
    m.fail("type", span,
           "`...` in a call spreads a list" + std::string(names ? ", a tuple or a record" : " or a tuple") +
               ", and this is " + kind_name(v));
  }
}

// Whether a call that fails leaves its arguments, so that a variable may move its value into one. A function of the
// script binds them to its own variables, and what runs it in another mode calls it at once.
bool leaves_arguments(const Value& f) {
  auto* wrapped = f.get<std::shared_ptr<const Wrapped>>();
  return !f.is<ClosureRef>() && !(wrapped && (*wrapped)->kind == Wrapped::Kind::Mode);
}

bool is_compiled(const Value& f) {
  auto* wrapped = f.get<std::shared_ptr<const Wrapped>>();
  return wrapped && (*wrapped)->kind == Wrapped::Kind::Jit;
}

// The operands of the comparison that an assertion is about: kept for the length of the call, shown where it fails.
class AssertedOperands {
 public:
  // The value of an argument. Where it is a comparison, or a row of nothing but one (all(a == b)), its operands are
  // kept.
  Value eval(Impl& m, const Expr& argument) {
    if (const Binary* b = comparison(argument)) return compare(m, argument, *b);
    const auto* c = std::get_if<Call>(&argument.node);
    if (!c || c->args.size() != 1 || c->args[0].spread || c->args[0].name) return m.eval(argument);
    const Binary* b = comparison(*c->args[0].value);
    if (!b || !std::holds_alternative<NameRef>(c->callee->node)) return m.eval(argument);
    const Value f = m.eval(*c->callee);
    if (!f.is<const ir::OpDef*>()) return m.eval(argument);
    std::vector<CallArg> args;
    args.push_back({"", compare(m, *c->args[0].value, *b), c->args[0].value->span});
    return m.call(f, args, argument.span);
  }

  void show(Impl& m, Error& error) const {  // where an assertion failed
    if (!kept_ || error.diagnostic.code != "assert" || traced(kept_->left) || traced(kept_->right)) return;
    const std::string op = " of `" + std::string(sign_of(kept_->op)) + "`: ";
    error.diagnostic.notes.push_back("left" + op + shown(m, kept_->left));
    error.diagnostic.notes.push_back("right" + op + shown(m, kept_->right));
  }

 private:
  struct Operands {
    Value left, right;
    BinaryOp op;
  };
  std::optional<Operands> kept_;

  static const Binary* comparison(const Expr& e) {
    const auto* b = std::get_if<Binary>(&e.node);
    return b && b->op >= BinaryOp::Eq && b->op <= BinaryOp::Ge ? b : nullptr;
  }

  static bool traced(const Value& v) {
    const std::vector<Value> all = leaves(v);
    return std::any_of(all.begin(), all.end(), [](const Value& x) { return x.is_tensor() && x.tensor().traced(); });
  }

  static std::string shown(Impl& m, const Value& v) {
    constexpr std::size_t most = 600;
    const std::string s = m.in.repr(v);
    return s.size() <= most ? s : std::string(whole_characters(s, most)) + " ...";
  }

  Value compare(Impl& m, const Expr& e, const Binary& b) {
    Value left = m.eval(*b.left), right = m.eval(*b.right);
    if (m.ctx.types_only() && (is_size_of_data(left) || is_size_of_data(right))) only_in_a_run(e.span);
    Value out = m.fixing([&] { return m.binary(b.op, left, right, e.span); },
                         [&](Error& error) { m.fixer->binary(error, e, left, right); });
    kept_ = {std::move(left), std::move(right), b.op};
    return out;
  }
};

// One call: first the callee, then the arguments, then it is made.
class CallSite {
 public:
  CallSite(Impl& m, const Expr& e, const Call& c) : m_(m), e_(e), c_(c) {}

  Value run() {
    if (auto* f = std::get_if<Field>(&c_.callee->node)) {
      find_method(*f);
    } else {
      callee_ = m_.peek(*c_.callee);
      if (!callee_) scratch_ = m_.eval(*c_.callee), callee_ = &scratch_;
      auto* closure = callee_->get<ClosureRef>();
      if (closure && is_simple(**closure, c_)) {
        if (m_.flags(e_.id) & kUnused) function_ = *callee_;
        return call_simply(m_, *closure, c_, e_.span);
      }
    }
    function_ = *callee_;  // the variable may change while arguments are evaluated
    refuse_hidden();
    if (!left_out()) return make();
    try {
      return make();
    } catch (const Error& error) {
      if (error.diagnostic.code != "unknown") throw;
    } catch (const runtime::RuntimeError& error) {
      if (error.code != "unknown") throw;
    }
    ++m_.watch.effects;  // that of a run
    return {};
  }

  // The same, where the call is a statement: a warning where it did nothing beside making a value.
  Value run_as_statement() {
    const std::int64_t before = m_.watch.effects;
    Value out = run();
    const Closure* written = written_function(function_);
    const Function* f = written ? written->function.get() : nullptr;
    if (m_.watch.effects != before || out.is_none()) {
      if (f) m_.watch.acted.insert(f);
    } else if (!(f && m_.watch.acted.contains(f)) && !m_.calls.user.known() && !(m_.checker && is_nothing(out))) {
      m_.in.warn("unused-result", e_.span, "nothing uses the result of this call, and it does nothing else",
                 {"values never change in place: assign the result, or drop the call"});
    }
    return out;
  }

 private:
  Value make() {
    evaluate_arguments();
    show_variables();
    keep_for_fixes();
    try {
      return m_.call(function_, args_, e_.span);
    } catch (Error& error) {
      asserted_.show(m_, error);
      fix(error);
      put_back();
      throw;
    } catch (...) {
      put_back();
      throw;
    }
  }

  // Whether the call says nothing where nothing is run and a run alone has what it is about.
  bool left_out() const {
    auto* native = function_.get<NativeRef>();
    return native && (*native)->asserts && m_.ctx.types_only();
  }

  // x.f(): a field of the record x, or the function f with x as its first argument.
  void find_method(const Field& f) {
    const Value* object = m_.peek(*f.object);
    Value evaluated;
    if (!object) evaluated = m_.eval(*f.object), object = &evaluated;
    if (const Record* r = object->fields())
      if (const Value* v = r->find(f.name.text)) {
        if (m_.checker && is_nothing(*v)) only_in_a_run(c_.callee->span);
        scratch_ = *v, callee_ = &scratch_;
        return;
      }
    callee_ = method(m_, *c_.callee, f.name.text, scratch_);
    if (!callee_) refuse_no_method(m_, c_, f, *object);
    if (m_.flags(e_.id) & kUnused) refuse_thrown_away(m_, e_, c_, *callee_, object);
    Value receiver = object == &evaluated ? std::move(evaluated) : take(*f.object, leaves_arguments(*callee_));
    args_.push_back({"", std::move(receiver), f.object->span});
  }

  // The value of an argument, moved out of its variable where the statement assigns that anew.
  Value take(const Expr& x, bool movable) {
    if (!movable || !std::holds_alternative<NameRef>(x.node) || !(m_.flags(x.id) & kMove)) return m_.eval(x);
    const Slot s = m_.slot(x.id);
    const CellRef cell = m_.cell_of(s);
    Value* variable = m_.place_of(s);
    if (!variable || (cell && cell->serial < m_.cells.trace_floor)) return m_.eval(x);
    if (m_.checker && is_nothing(*variable)) only_in_a_run(x.span);
    moved_.push_back({args_.size(), s});
    return std::exchange(*variable, Value());
  }

  // Which part of a compiled function's result the statement assigns to the variable that this argument is; nothing
  // where no mesh lays anything out.
  std::optional<std::int32_t> part_for(const Expr& x) const {
    if (!m_.in.context().mesh() || !is_compiled(function_)) return std::nullopt;
    const auto& becomes = m_.frame().unit->becomes;
    const auto it = becomes.find(x.id);
    return it == becomes.end() ? std::nullopt : std::optional(it->second);
  }

  void put_back() {
    for (const Moved& moved : moved_)
      if (Value* variable = m_.place_of(moved.slot); variable && !args_[moved.arg].value.is_none())
        *variable = std::move(args_[moved.arg].value);
  }

  void refuse_hidden() {
    auto* n = std::get_if<NameRef>(&c_.callee->node);
    if (!n || function_.callable() || m_.builtins.find(n->name) < 0 || (m_.checker && is_nothing(function_))) return;
    m_.fail("type", e_.span, kind_name(function_) + " is no function and cannot be called",
            {"the variable `" + n->name + "` hides the builtin function of that name: call the variable otherwise"});
  }

  void evaluate_arguments() {
    args_.reserve(args_.size() + c_.args.size());
    const bool movable = leaves_arguments(function_), native = function_.is<NativeRef>();
    if ((m_.flags(e_.id) & kUnused) && args_.empty()) refuse_thrown_away(m_, e_, c_, function_, nullptr);
    for (const Arg& a : c_.args) {
      if (a.spread) {
        spread(m_, m_.eval(*a.value), a.value->span, true, args_);
        continue;
      }
      const bool asserted =
          native && args_.empty() && (!m_.checker || left_out()) && !std::holds_alternative<NameRef>(a.value->node);
      Value v = asserted ? asserted_.eval(m_, *a.value) : take(*a.value, movable);
      args_.push_back({a.name ? a.name->text : std::string(), std::move(v), a.value->span});
      if (a.name) args_.back().name_span = a.name->span;
      args_.back().becomes = part_for(*a.value);
    }
  }

  // Of a native that sees the variables of its call.
  void show_variables() {
    auto* native = function_.get<NativeRef>();
    if (!native || !(*native)->sees_variables || !args_.empty()) return;
    const Unit& unit = *m_.frame().unit;
    const auto seen = unit.seen.find(c_.callee->id);
    if (seen == unit.seen.end()) return;
    const std::vector<Slot>& slots = unit.methods[seen->second.slots];
    std::vector<std::pair<std::string, Value>> fields;
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (const Value* v = m_.place_of(slots[i])) fields.emplace_back(seen->second.names[i], *v);
    args_.push_back({"", Value::record(std::move(fields)), e_.span});
  }

  // A native, and what wraps a function, may have taken its arguments apart when it fails: what fixes need is kept,
  // where something is laid out by its type. A compiled function gets its arguments alone, so that it may reuse their
  // memory; its errors are of its body.
  void keep_for_fixes() {
    auto* wrapped = function_.get<std::shared_ptr<const Wrapped>>();
    if (!m_.fixer || is_compiled(function_) || (!wrapped && !function_.is<NativeRef>())) return;
    auto typed = [](const CallArg& a) {
      return a.value.is_tensor() && a.value.tensor().valid() && !a.value.tensor().type().sharding.used_axes().empty();
    };
    if (std::any_of(args_.begin(), args_.end(), typed)) kept_ = args_;
  }

  void fix(Error& error) {
    if (!m_.fixer || (!function_.is<const ir::OpDef*>() && kept_.empty())) return;
    if (std::any_of(c_.args.begin(), c_.args.end(), [](const Arg& a) { return a.spread; })) return;
    std::vector<const Expr*> written;
    if (args_.size() > c_.args.size()) written.push_back(std::get<Field>(c_.callee->node).object.get());
    for (const Arg& a : c_.args) written.push_back(a.value.get());
    m_.fixer->call(error, e_, function_, kept_.empty() ? args_ : kept_, written);
  }

  Impl& m_;
  const Expr& e_;
  const Call& c_;
  const Value* callee_ = nullptr;
  Value scratch_, function_;
  std::vector<CallArg> args_, kept_;
  struct Moved {
    std::size_t arg;
    Slot slot;
  };
  std::vector<Moved> moved_;
  AssertedOperands asserted_;
};

}  // namespace

Value eval_call(Impl& m, const Expr& e, const Call& c) {
  CallSite call(m, e, c);
  return m.flags(e.id) & kUnused ? call.run_as_statement() : call.run();
}

Value eval_pipe(Impl& m, const Expr& e, const Pipe& p) {
  std::vector<CallArg> args;
  args.push_back({"", m.eval(*p.value), p.value->span});
  std::vector<const Expr*> written{p.value.get()};
  auto* c = std::get_if<Call>(&p.target->node);
  const Value f = m.eval(c ? *c->callee : *p.target);
  if (c) {
    for (const Arg& a : c->args) {
      written.push_back(a.spread ? nullptr : a.value.get());
      Value v = m.eval(*a.value);
      if (a.spread)
        spread(m, v, a.value->span, false, args);
      else
        args.push_back({a.name ? a.name->text : std::string(), std::move(v), a.value->span, std::nullopt,
                        a.name ? a.name->span : Span{}});
    }
  }
  return m.fixing([&] { return m.call(f, args, e.span); },
                  [&](Error& error) {
                    if (f.is<const ir::OpDef*>()) m.fixer->call(error, e, f, args, written);
                  });
}

}  // namespace shard::lang
