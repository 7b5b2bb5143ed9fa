#include "interpreter/lang/fixes/conversion.h"

#include <cctype>

#include "grammar/characters.h"
#include "grammar/parse.h"
#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/values/tree.h"

namespace shard::lang {

using namespace grammar;
using runtime::Type;

std::optional<Conversion> conversion(const Type& have, const Type& want) {
  if (want.dtype != have.dtype || want.shape != have.shape) return std::nullopt;
  const runtime::MeshRef& mesh = want.mesh ? want.mesh : have.mesh;
  if (!mesh) return std::nullopt;
  if (!(want.sharding == have.sharding))
    return Conversion{"shard ", " as " + runtime::to_string(*mesh, want.sharding), false};
  const runtime::AxisSet missing = want.varying - have.varying;
  if (missing.empty() || !(have.varying - want.varying).empty()) return std::nullopt;
  return Conversion{"pcast(", ", " + runtime::axes_text(*mesh, missing.list()) + ", to: \"varying\")", true};
}

std::string Conversion::of(const SourceMap& sources, Span written) const {
  return of(call ? text_at(sources, written) : operand_at(sources, written));
}

Fix shard_fix(const SourceMap& sources, std::string advice, Span span, const std::string& spec) {
  return {std::move(advice), span, "(shard " + operand_at(sources, span) + " as " + spec + ")"};
}

// ---- one leaf of a tree

namespace {

// The first step of a path and what follows it: ".w[0]" is ".w" and "[0]".
struct Step {
  std::string first, rest;
};
Step step_of(const std::string& path) {
  const std::size_t end = path.find_first_of(".[", 1);
  return {path.substr(0, end), end == std::string::npos ? "" : path.substr(end)};
}

std::size_t index_of(const std::string& step) { return std::stoul(step.substr(1)); }

const Value* part(const Value& tree, const std::string& step) {
  if (step[0] == '.') return tree.fields() ? tree.fields()->find(step.substr(1)) : nullptr;
  const auto* items = tree.items();
  return items && index_of(step) < items->size() ? &(*items)[index_of(step)] : nullptr;
}

// The expression of the leaf, where the literal `e` shows it.
const Expr* shown(const Expr* e, const Value& tree, const std::string& path) {
  if (path.empty() || !e) return e;
  const Step s = step_of(path);
  const Value* next = part(tree, s.first);
  if (!next) return nullptr;
  return shown(s.first[0] == '.' ? element(e, s.first.substr(1)) : element(e, index_of(s.first), tree.items()->size()),
               *next, s.rest);
}

// The tree that the variable `name` holds, made anew with its leaf laid out.
std::string rebuilt(const std::string& name, const Value& tree, const std::string& path, const std::string& spec) {
  if (path.empty()) return "shard " + name + " as " + spec;
  const Step s = step_of(path);
  const Value* next = part(tree, s.first);
  if (!next) return "";
  const std::string inner = rebuilt(name + s.first, *next, s.rest, spec);
  if (inner.empty()) return "";
  if (s.first[0] == '.') return "{..." + name + ", " + s.first.substr(1) + ": " + inner + "}";
  const std::size_t n = tree.items()->size(), at = index_of(s.first);
  if (n > 8) return "";  // nobody would paste that
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < n; ++i) parts.push_back(i == at ? inner : name + "[" + std::to_string(i) + "]");
  return bracketed(tree, separated(parts));
}

bool is_path(const std::string& text) {  // a variable, or a part of one
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') return false;
  return true;
}

}  // namespace

std::optional<Fix> tree_fix(const SourceMap& all, std::string advice, Span whole, const Value& tree,
                            const std::string& path, const std::string& spec) {
  if (!whole.known()) return std::nullopt;
  const std::string_view source = all.at(whole.source).text();
  if (whole.begin >= 3 && source.substr(whole.begin - 3, 3) == "...") return std::nullopt;  // one of several values
  if (path.empty()) return shard_fix(all, std::move(advice), whole, spec);
  const std::string text = text_at(all, whole);
  SourceMap sources;
  const ParseResult parsed = parse(sources, sources.add("", text));
  const Expr* literal = nullptr;
  if (parsed.module && parsed.diagnostics.empty() && parsed.module->body.size() == 1)
    if (auto* alone = std::get_if<ExprStmt>(&parsed.module->body[0]->node)) literal = alone->value.get();
  if (const Expr* leaf = shown(literal, tree, path))
    return shard_fix(all, std::move(advice),
                     Span{whole.source, whole.begin + leaf->span.begin, whole.begin + leaf->span.end}, spec);
  if (!is_path(text)) return std::nullopt;
  const std::string anew = rebuilt(text, tree, path, spec);
  if (anew.empty()) return std::nullopt;
  return Fix{std::move(advice), whole, anew};
}

}  // namespace shard::lang
