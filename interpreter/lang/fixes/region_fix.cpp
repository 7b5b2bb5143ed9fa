// Fixes where branches, or a loop's body and what came in, differ in layout: the text that brings every part that
// differs to the type that is wanted, in literals, variables, and fields and elements of variables.

#include <algorithm>

#include "grammar/stable_sort.h"
#include "grammar/walk.h"
#include "interpreter/lang/fixes/conversion.h"
#include "interpreter/lang/fixes/fix.h"
#include "interpreter/lang/report/written.h"

namespace shard::lang {

using namespace grammar;

namespace {

// How a leaf is written behind its variable: `.w`, `[0]`.
std::string path(const Differing& d) { return leaf_at(*d.tree, nullptr, d.leaf).path; }

const Expr* root_of(const Expr& target) {
  const Expr* e = &target;
  while (true) {
    if (auto* f = std::get_if<Field>(&e->node))
      e = f->object.get();
    else if (auto* x = std::get_if<Index>(&e->node))
      e = x->object.get();
    else
      return e;
  }
}

bool assigns(const Stmt& s, const std::string& variable) {
  auto* a = std::get_if<AssignStmt>(&s.node);
  if (!a) return false;
  auto named = [&](const Expr& e) {
    auto* n = std::get_if<NameRef>(&root_of(e)->node);
    return n && n->name == variable;
  };
  if (named(*a->target)) return true;
  const auto* several = elements_of(*a->target);
  return several && std::any_of(several->begin(), several->end(), [&](const Element& x) { return named(*x.value); });
}

// `a = shard a as P(@X); b.w = ...`, of the variables among them.
std::string assignments(const std::vector<Differing>& all) {
  std::string out;
  for (const Differing& d : all) {
    const auto how = conversion(d.have, d.want);
    if (!how || d.variable.empty()) continue;
    const std::string name = d.variable + path(d);
    out += (out.empty() ? "" : "; ") + name + " = " + how->of(name);
  }
  return out;
}

std::string names_of(const std::vector<Differing>& all) {
  std::string out;
  for (const Differing& d : all)
    if (!d.variable.empty() && conversion(d.have, d.want))
      out += (out.empty() ? "`" : ", `") + d.variable + path(d) + "`";
  return out;
}

// Brings them to their types at the end of the block; nothing where the text does not show how. Those that differ in
// more than the layout are left out.
std::vector<Fix> block_fixes(const SourceMap& sources, const Expr& block, const std::vector<Differing>& all) {
  std::vector<Fix> out, parts;
  const Expr* value = given_by(block);
  bool shown = value != nullptr;
  for (const Differing& d : all) {
    const auto how = conversion(d.have, d.want);
    if (!how || !d.variable.empty()) continue;
    const Expr* part = shown ? leaf_at(*d.tree, value, d.leaf).written : nullptr;
    shown = part != nullptr;
    if (part) parts.push_back({"bring the value to the other's type", part->span, how->of(sources, part->span)});
  }
  if (shown && parts.size() == 1) out = parts;
  if (shown && parts.size() > 1) {  // all of them, in one piece of text
    stable_sort(parts, [](const Fix& a, const Fix& b) { return a.span.begin > b.span.begin; });
    std::string text = text_at(sources, value->span);
    for (const Fix& f : parts) text.replace(f.span.begin - value->span.begin, f.span.end - f.span.begin, f.replacement);
    out.push_back({"bring the values to the other's types", value->span, text});
  }
  auto* b = std::get_if<Block>(&block.node);
  const std::string again = assignments(all);
  if (!b || again.empty()) return out;
  for (std::size_t i = b->body.size(); i-- > 0;) {
    const Stmt& s = *b->body[i];
    const bool here = std::any_of(all.begin(), all.end(), [&](const Differing& d) {
      return !d.variable.empty() && conversion(d.have, d.want) && assigns(s, d.variable);
    });
    if (!here) continue;
    const Span after{s.span.source, s.span.end, s.span.end};
    out.push_back({"bring " + names_of(all) + " to the other's type", after, "; " + again});
    break;
  }
  return out;
}

// The same by what stands before the loop at `loop`, where the values that come in are to be changed.
std::vector<Fix> entry_fixes(const Span& loop, const std::vector<Differing>& all) {
  const std::string before = assignments(all);
  if (before.empty()) return {};
  return {{"bring " + names_of(all) + " to the loop's type before it", Span{loop.source, loop.begin, loop.begin},
           before + "; "}};
}

}  // namespace

void Fixes::branches(Error& error, const Expr& e, const IfExpr& x, const std::vector<Differing>& to_first,
                     const std::vector<Differing>& to_second) {
  std::vector<Fix>& fixes = error.diagnostic.fixes;
  const auto add = [&](std::vector<Fix> more) { fixes.insert(fixes.end(), more.begin(), more.end()); };
  if (x.otherwise) add(block_fixes(in_.sources(), *x.otherwise, to_first));
  add(block_fixes(in_.sources(), *x.then, to_second));
  if (fixes.empty() && !x.otherwise) add(entry_fixes(e.span, to_first));
}

void Fixes::carry(Error& error, Span loop, const Expr& body, const std::vector<Differing>& at_end,
                  const std::vector<Differing>& before) {
  error.diagnostic.fixes = block_fixes(in_.sources(), body, at_end);
  if (error.diagnostic.fixes.empty()) error.diagnostic.fixes = entry_fixes(loop, before);
}

}  // namespace shard::lang
