#include "interpreter/lang/conversion.h"

#include <algorithm>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/written.h"

namespace shard::lang {

using namespace grammar;
using runtime::Type;

std::optional<Conversion> conversion(const Type& have, const Type& want) {
  if (want.dtype != have.dtype || want.shape != have.shape) return std::nullopt;
  const runtime::MeshRef& mesh = want.mesh ? want.mesh : have.mesh;
  if (!mesh) return std::nullopt;
  if (!(want.sharding == have.sharding)) return Conversion{"shard ", " as " + runtime::to_string(*mesh, want.sharding), false};
  const runtime::AxisSet missing = want.varying - have.varying;
  if (missing.empty() || !(have.varying - want.varying).empty()) return std::nullopt;
  return Conversion{"pcast(", ", " + ir::axes_text(*mesh, missing.list()) + ", to: \"varying\")", true};
}

std::string Conversion::of(Interpreter& in, Span written) const {
  return of(call ? text_at(in, written) : operand_at(in, written));
}

namespace {

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

std::vector<Fix> block_fixes(Interpreter& in, const Expr& block, const Differing& d) {
  const auto how = conversion(d.have, d.want);
  auto* b = std::get_if<Block>(&block.node);
  if (!how || !b || b->body.empty()) return {};
  if (d.variable.empty()) {
    auto* last = std::get_if<ExprStmt>(&b->body.back()->node);
    if (!last) return {};
    const Span at = last->value->span;
    return {{"bring the value to the other's type", at, how->of(in, at)}};
  }
  for (std::size_t i = b->body.size(); i-- > 0;)
    if (assigns(*b->body[i], d.variable)) {
      const Span after{b->body[i]->span.source, b->body[i]->span.end, b->body[i]->span.end};
      return {{"bring `" + d.variable + "` to the other's type", after,
               "; " + d.variable + " = " + how->of(d.variable)}};
    }
  return {};
}

std::vector<Fix> entry_fixes(const Span& loop, const Differing& d) {
  const auto how = conversion(d.have, d.want);
  if (!how) return {};
  return {{"bring `" + d.variable + "` to the loop's type before it", Span{loop.source, loop.begin, loop.begin},
           d.variable + " = " + how->of(d.variable) + "; "}};
}

Fix shard_fix(Interpreter& in, std::string advice, Span span, const std::string& spec) {
  return {std::move(advice), span, "(shard " + operand_at(in, span) + " as " + spec + ")"};
}

}  // namespace shard::lang
