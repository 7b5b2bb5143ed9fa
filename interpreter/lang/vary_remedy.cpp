#include "interpreter/lang/vary_remedy.h"

#include "interpreter/ir/explicit_law.h"

namespace shard::lang {

using namespace grammar;

const Expr* given_by(const Expr& body) {
  auto* block = std::get_if<Block>(&body.node);
  if (!block) return &body;
  if (block->body.empty()) return nullptr;
  if (auto* last = std::get_if<ExprStmt>(&block->body.back()->node)) return given_by(*last->value);
  if (auto* last = std::get_if<ReturnStmt>(&block->body.back()->node); last && last->value) return last->value.get();
  return nullptr;
}

namespace {

const Expr* one_of(const std::vector<Element>& elements, std::size_t i, std::size_t size) {
  if (elements.size() != size) return nullptr;
  for (const Element& e : elements)
    if (e.spread) return nullptr;
  return elements[i].value.get();
}

}  // namespace

const Expr* element(const Expr* e, std::size_t i, std::size_t size) {
  if (!e) return nullptr;
  if (auto* tuple = std::get_if<TupleLit>(&e->node)) return one_of(tuple->elements, i, size);
  if (auto* list = std::get_if<ListLit>(&e->node)) return one_of(list->elements, i, size);
  return nullptr;
}

const Expr* element(const Expr* e, const std::string& field) {
  auto* record = e ? std::get_if<RecordLit>(&e->node) : nullptr;
  if (!record) return nullptr;
  const Expr* found = nullptr;
  for (const Entry& entry : record->entries) {
    if (!entry.name) found = nullptr;                 // a spread may bring the field
    else if (entry.name->text == field) found = entry.value.get();
  }
  return found;
}

const Annot* element(const Annot* a, std::size_t i) {
  if (!a) return nullptr;
  auto part = [&](const std::vector<AnnotPtr>& parts) { return i < parts.size() ? parts[i].get() : nullptr; };
  if (auto* tuple = std::get_if<TupleAnnot>(&a->node)) return part(tuple->elements);
  if (auto* list = std::get_if<ListAnnot>(&a->node)) return part(list->elements);
  return nullptr;                                     // a prefix: one spec for several results cannot be changed for one
}

const Annot* element(const Annot* a, const std::string& field) {
  auto* record = a ? std::get_if<RecordAnnot>(&a->node) : nullptr;
  if (!record) return nullptr;
  for (const FieldAnnot& f : record->fields)
    if (f.name.text == field) return f.annot.get();
  return nullptr;
}

std::string text_at(Interpreter& in, Span span) { return std::string(in.sources().text(span)); }

std::optional<std::string> axes_to_vary(const runtime::Type& have, const runtime::Type& want) {
  const runtime::AxisSet missing = want.varying - have.varying;
  const runtime::MeshRef& mesh = want.mesh ? want.mesh : have.mesh;
  const bool rest = have.dtype == want.dtype && have.shape == want.shape && have.sharding == want.sharding && want.varying.contains(have.varying);
  if (missing.empty() || !rest || !mesh) return std::nullopt;
  return ir::axes_text(*mesh, missing.list());
}

std::string cast_text(const std::string& value, const std::string& axes) { return "pcast(" + value + ", " + axes + ", to: \"varying\")"; }

}  // namespace shard::lang
