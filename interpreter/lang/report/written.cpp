#include "interpreter/lang/report/written.h"

#include <algorithm>
#include <cctype>

#include "grammar/walk.h"

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

const Expr* element(const Expr* e, std::size_t i, std::size_t size) {
  const auto* elements = e ? elements_of(*e) : nullptr;
  if (!elements || elements->size() != size) return nullptr;
  if (std::any_of(elements->begin(), elements->end(), [](const Element& x) { return x.spread; })) return nullptr;
  return (*elements)[i].value.get();
}

const Expr* element(const Expr* e, const std::string& field) {
  auto* record = e ? std::get_if<RecordLit>(&e->node) : nullptr;
  if (!record) return nullptr;
  const Expr* found = nullptr;
  for (const Entry& entry : record->entries) {
    if (!entry.name)
      found = nullptr;  // a spread or a computed name may bring the field
    else if (entry.name->text == field)
      found = entry.value.get();
  }
  return found;
}

const Annot* element(const Annot* a, std::size_t i) {
  if (!a) return nullptr;
  auto part = [&](const std::vector<AnnotPtr>& parts) { return i < parts.size() ? parts[i].get() : nullptr; };
  if (auto* tuple = std::get_if<TupleAnnot>(&a->node)) return part(tuple->elements);
  if (auto* list = std::get_if<ListAnnot>(&a->node)) return part(list->elements);
  return nullptr;  // a prefix: one spec for several results cannot be changed for one
}

const Annot* element(const Annot* a, const std::string& field) {
  auto* record = a ? std::get_if<RecordAnnot>(&a->node) : nullptr;
  if (!record) return nullptr;
  for (const FieldAnnot& f : record->fields)
    if (f.name.text == field) return f.annot.get();
  return nullptr;
}

namespace {

bool find_leaf(const Value& v, const Expr* e, std::size_t& before, LeafAt& at) {
  const std::string path = at.path;
  if (v.is_none()) return false;  // an empty tree
  if (const auto* items = v.items()) {
    for (std::size_t i = 0; i < items->size(); ++i) {
      at.path = path + "[" + std::to_string(i) + "]";
      if (find_leaf((*items)[i], element(e, i, items->size()), before, at)) return true;
    }
    return false;
  }
  if (const Record* record = v.fields()) {
    for (const auto& [name, field] : record->fields) {
      at.path = path + "." + name;
      if (find_leaf(field, element(e, name), before, at)) return true;
    }
    return false;
  }
  at.written = e;
  return before-- == 0;
}

}  // namespace

LeafAt leaf_at(const Value& tree, const Expr* e, std::size_t leaf) {
  LeafAt at;
  find_leaf(tree, e, leaf, at);
  return at;
}

std::string text_at(const SourceMap& sources, Span span) { return std::string(sources.text(span)); }

namespace {

bool reads_as_one(std::string_view text) {  // before `as`, without brackets of its own
  int depth = 0;
  for (char c : text) {
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    const bool of_name = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ')' || c == ']';
    if (depth == 0 && !of_name) return false;
  }
  return true;
}

}  // namespace

std::string operand_at(const SourceMap& sources, Span span) {
  std::string text = text_at(sources, span);
  return reads_as_one(text) ? text : "(" + text + ")";
}

}  // namespace shard::lang
