// Errors of form that a tree shows without knowing what its names mean: a positional argument after a named one, a
// value that nothing uses, a target that cannot be assigned, `break` outside a loop. One walk over the tree; its height
// is bounded (state.h), so the walk may recurse.
#include <algorithm>
#include <set>
#include <utility>

#include "grammar/kept.h"
#include "grammar/parse.h"
#include "grammar/stable_sort.h"
#include "grammar/state.h"
#include "grammar/walk.h"

namespace shard::grammar {
namespace {

class FormWalk {
 public:
  FormWalk(const State& state, std::vector<Diagnostic>& errors, bool whole)
      : state_(state), text_(state.layout.text), errors_(errors), whole_(whole) {}

  void see(const Stmt& s) {
    std::visit(Overloaded{
                   [&](const LetStmt& x) {
                     std::set<std::string> names;
                     pattern(*x.pattern, names);
                     fields_with_equals(*x.value);
                     see(x.value);
                   },
                   [&](const TestStmt& x) {
                     const Kept inside(inside_, {});
                     body(*x.body, false);
                   },
                   [&](const ForStmt& x) {
                     std::set<std::string> names;
                     pattern(*x.pattern, names);
                     see(x.sequence);
                     loop(x.body);
                   },
                   [&](const WhileStmt& x) {
                     see(x.condition);
                     loop(x.body);
                   },
                   [&](const BreakStmt&) { in_loop(s, "break"); },
                   [&](const ContinueStmt&) { in_loop(s, "continue"); },
                   [&](const ReturnStmt& x) {
                     if (!inside_.function && whole_) error(s.span, "`return` stands outside of any function");
                     see(x.value);
                   },
                   [&](const AssignStmt& x) { assign(x); },
                   [&](const auto&) { each_child(s, [this](const auto& x) { see(x); }); },
               },
               s.node);
  }

  // A line that begins with `+` or `-` and was meant to go on from the line above: it is a statement of its own, whose
  // value nothing uses, so that the sum would silently end above.
  void lines_that_go_on(const std::vector<StmtPtr>& body, bool gives) {
    for (std::size_t i = 1; i < body.size(); ++i) {
      const Stmt &s = *body[i], &above = *body[i - 1];
      if (!std::holds_alternative<ExprStmt>(s.node)) continue;
      const char sign = text_[s.span.begin];
      if (sign != '+' && sign != '-') continue;
      const bool value = (i + 1 == body.size()) && gives;
      if (line_begin(text_, above.span.end) == line_begin(text_, s.span.begin)) continue;
      if (value && indent_of(text_, s.span.begin) <= indent_of(text_, above.span.begin)) continue;
      error({s.span.source, s.span.begin, s.span.begin + 1},
            std::string("a line that begins with `") + sign + "` does not go on from the line above",
            {std::string("put the `") + sign + "` at the end of that line, or both lines in parentheses"});
    }
  }

  void finish() {
    for (Diagnostic& d : constants_) {
      if (!declared_.count(std::string(state_.text(d.span)))) errors_.push_back(std::move(d));
    }
  }

 private:
  struct Inside {
    bool function = false, loop = false;
  };

  void error(Span at, std::string message, std::vector<std::string> notes = {}, std::vector<Fix> fixes = {}) {
    errors_.push_back({"syntax", at, std::move(message), std::move(notes), std::move(fixes), {}});
  }
  std::string text(Span s) const { return std::string(state_.text(s)); }

  void in_loop(const Stmt& s, const std::string& word) {
    if (inside_.loop || !whole_) return;
    error(s.span, "`" + word + "` stands outside of any loop");
    if (inside_.function) errors_.back().notes.push_back("a loop around a function is not the function's own");
  }

  void loop(const ExprPtr& block) {
    const Kept inside(inside_.loop, true);
    body(*block, false);
  }

  // `gives`: the block's last expression is its value.
  void body(const Expr& block, bool gives) {
    const auto* b = std::get_if<Block>(&block.node);
    if (!b) return see(block);
    const std::size_t before = errors_.size();
    lines_that_go_on(b->body, gives);
    if (errors_.size() > before) return;
    for (std::size_t i = 0; i < b->body.size(); ++i) {
      const bool last = i + 1 == b->body.size();
      const auto* e = std::get_if<ExprStmt>(&b->body[i]->node);
      if (e && !(last && gives) && !acts(*e->value)) unused(*e->value, last);
      see(*b->body[i]);
    }
  }
  static bool acts(const Expr& e) { return is_one_of<Call, Pipe, IfExpr, Block, UseExpr>(e.node); }
  void unused(const Expr& e, bool last) {
    std::vector<std::string> notes{
        last ? "a loop or a test gives no value: pass it to a call, or assign it to a variable"
             : "give it a name with `let`, pass it to a call, or make it the last expression of the block"};
    std::vector<Fix> fixes;
    const auto* b = std::get_if<Binary>(&e.node);
    if (b && b->op == BinaryOp::Eq && target_kind(*b->left)) fixes.push_back({"assign with one `=`", b->op_span, "="});
    error(e.span, "nothing uses the value of this expression", std::move(notes), std::move(fixes));
  }

  // ---- assignments --------------------------------------------------------------------------------------------------
  static bool target_kind(const Expr& e) {
    return std::visit(
        Overloaded{[](const NameRef& n) { return !is_keyword(n.name); },
                   [](const Index& x) { return target_kind(*x.object); },
                   [](const Field& x) { return target_kind(*x.object); }, [](const auto&) { return false; }},
        e.node);
  }
  void target(const Expr& e) {
    if (target_kind(e)) return;
    if (const auto* elements = elements_of(e)) return targets(*elements);
    if (std::holds_alternative<HoleLit>(e.node))
      return error(e.span, "`_` is no variable", {"a call stands alone: drop the `_ =`"});
    const std::string word = text(e.span);
    if (is_keyword(word)) return error(e.span, "`" + word + "` is a keyword and cannot be redefined");
    error(e.span, "this cannot be assigned to",
          {"assign to a variable, an element `x[i]`, a field `p.w`, or a tuple of these"});
  }
  void targets(const std::vector<Element>& elements) {
    bool rest = false;
    for (const Element& x : elements) {
      if (x.spread && std::exchange(rest, true))
        error(x.value->span, "a pattern has one `...`: which part would the other take?");
      if (!std::holds_alternative<HoleLit>(x.value->node))  // `_`: that part is let go
        target(*x.value);
    }
  }
  void assign(const AssignStmt& x) {
    if (elements_of(*x.target) && x.op != AssignOp::Set)
      error(x.target->span, "only `=` assigns to several variables at once");
    else
      target(*x.target);
    see(x.target);
    see(x.value);
  }

  void pattern(const Pattern& all, std::set<std::string>& names) {
    each_name(all, [&](const Pattern& p, const NamePattern& n) {
      declared_.insert(n.name);
      if (n.name != "_" && !names.insert(n.name).second) error(p.span, "the name `" + n.name + "` stands here twice");
    });
  }

  // ---- functions and calls ------------------------------------------------------------------------------------------
  void see(const Function& f) {
    std::set<std::string> names;
    for (const Param& p : f.params) {
      pattern(*p.pattern, names);
      see(p.annot);
      see(p.default_value);
    }
    see(f.result);
    const Kept inside(inside_, {true, false});
    body(*f.body, true);
  }
  void see(const AnnotPtr& a) {
    if (!a) return;
    each_leaf(*a, [this](const Annot& leaf) {
      const Expr& e = written_in(leaf);
      if (const auto* d = std::get_if<DTypeLit>(&e.node))
        error(e.span, "a type has a shape: `" + d->name + "[]` is one number, `" + d->name + "[_]` a vector, `" +
                          d->name + "[...]` any array");
      see(e);
    });
  }
  void args(const std::vector<Arg>& all, bool values = true) {
    std::set<std::string> names;
    const Arg* named = nullptr;
    for (const Arg& a : all) {
      if (a.name) {
        named = &a;
        if (!names.insert(a.name->text).second)
          error(a.name->span, "the argument `" + a.name->text + "` is given twice");
      } else if (named) {
        error(a.value->span, "a positional argument stands after the named argument `" + named->name->text + "`",
              {"put positional arguments first, or name this one too"});
        named = nullptr;  // one message a call
      }
      fields_with_equals(*a.value);
      if (values || a.name || a.spread) see(a.value);
    }
  }

  // ---- expressions --------------------------------------------------------------------------------------------------
  void see(const ExprPtr& e) {
    if (e) see(*e);
  }
  void see(const Expr& e) {
    std::visit(Overloaded{
                   [&](const NameRef& n) { foreign_constant(n.name, e.span); },
                   [&](const SpecLit& s) { spec(s); },
                   [&](const RecordLit& r) { record(r); },
                   [&](const Block&) { body(e, true); },
                   [&](const Call& x) {
                     see(x.callee);
                     args(x.args);
                   },
                   [&](const auto&) { each_child(e, [this](const auto& x) { see(x); }); },
               },
               e.node);
  }
  // `{a = 1}` where a value stands: a block that only assigns, and gives nothing.
  void fields_with_equals(const Expr& e) {
    const auto* b = std::get_if<Block>(&e.node);
    if (!b || b->body.empty()) return;
    std::string written;
    for (auto& s : b->body) {
      const auto* a = std::get_if<AssignStmt>(&s->node);
      if (!a || a->op != AssignOp::Set || !std::holds_alternative<NameRef>(a->target->node)) return;
      written += (written.empty() ? "{" : ", ") + text(a->target->span) + ": " + text(a->value->span);
    }
    written += "}";
    error(e.span, "a record names its fields with a colon: `" + written + "`", {},
          {{"use a colon", e.span, written, true}});
  }
  void record(const RecordLit& r) {
    std::set<std::string> names;
    for (const Entry& x : r.entries) {
      if (x.name && !names.insert(x.name->text).second)
        error(x.name->span, "the field `" + x.name->text + "` stands here twice");
      see(x.key);
      see(x.value);
    }
  }

  // ---- forms of other languages that are good syntax here -----------------------------------------------------------
  void foreign_constant(const std::string& name, Span at) {
    const char* here = name == "None" || name == "null" || name == "nil" ? "none"
                       : name == "True"                                  ? "true"
                       : name == "False"                                 ? "false"
                                                                         : nullptr;
    if (here)
      constants_.push_back({"syntax",
                            at,
                            "`" + name + "` is written `" + here + "` here",
                            {},
                            {{"write `" + std::string(here) + "`", at, here, true}},
                            {}});
  }
  void spec(const SpecLit& s) {
    for (const Arg& a : s.args) {
      if (a.name || a.spread) continue;
      const auto* text = std::get_if<StringLit>(&a.value->node);
      const auto* name = std::get_if<NameRef>(&a.value->node);
      if (text && text->pieces.size() == 1 && !text->pieces[0].value) {
        const std::string axis = "@" + text->pieces[0].text;
        error(a.value->span, "an axis is written with `@`: `" + axis + "`", {},
              {{"write the axis", a.value->span, axis, true}});
      } else if (std::holds_alternative<NoneLit>(a.value->node) || (name && name->name == "None")) {
        error(a.value->span, "a dimension that is not split is written `_` in a spec", {},
              {{"write `_`", a.value->span, "_", true}});
        continue;
      }
      see(a.value);
    }
    args(s.args, false);
  }

  const State& state_;
  std::string_view text_;
  std::vector<Diagnostic>& errors_;
  bool whole_;
  Inside inside_;
  std::set<std::string> declared_;     // anywhere in the text
  std::vector<Diagnostic> constants_;  // `None` and the like, which are errors where the text declares no such name
};

}  // namespace

std::vector<Diagnostic> check_form(const Module& module, const State& state, bool whole) {
  std::vector<Diagnostic> errors;
  FormWalk walk(state, errors, whole);
  walk.lines_that_go_on(module.body, true);
  for (const StmtPtr& s : module.body) walk.see(*s);
  walk.finish();
  stable_sort(errors, [](const Diagnostic& a, const Diagnostic& b) { return a.span.begin < b.span.begin; });
  if (errors.size() > 20) errors.resize(20);
  return errors;
}

}  // namespace shard::grammar
