#include "interpreter/lang/eval/checking/checking.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using runtime::DType;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

Value number_of_a_run(Impl& m, DType dtype) {
  return m.ctx.unknown(runtime::Type::of(dtype, {}, dtype != DType::Bool));
}

bool is_tree(const Value& v) { return v.items() || v.fields(); }

}  // namespace

std::optional<DType> number_kind(const Value& v) {
  if (v.is<bool>()) return DType::Bool;
  if (v.is<std::int64_t>()) return DType::I32;
  if (v.is<double>()) return DType::F32;
  if (auto* t = v.get<Tensor>();
      t && t->valid() && !t->traced() && !t->array()->has_elements() && t->type().rank() == 0) {
    if (t->type().weak || t->type().dtype == DType::Bool) return t->type().dtype;
  }
  return std::nullopt;
}

Value joined(Impl& m, const Value& a, const Value& b) {
  if (is_nothing(a) || is_nothing(b)) return nothing();
  const auto x = number_kind(a), y = number_kind(b);
  if (x && y) {
    if (!a.is_tensor() && !b.is_tensor() && x == y && equal(a, b)) return a;
    if (*x == *y) return number_of_a_run(m, *x);
    return *x != DType::Bool && *y != DType::Bool ? number_of_a_run(m, DType::F32) : nothing();
  }
  if (a.is_tensor() && b.is_tensor()) {
    const Tensor &s = a.tensor(), &t = b.tensor();
    if (!(m.ctx.type_of(s) == m.ctx.type_of(t)) || s.traced() != t.traced()) return nothing();
    if (s.traced() || s.array() == t.array()) return a;
    return m.ctx.unknown(s.type());
  }
  if (a.is_string() && b.is_string()) return equal(a, b) ? a : nothing();
  if (is_tree(a) && same_structure(a, b)) {
    std::vector<Value> left = leaves(a), right = leaves(b);
    if (left.size() != right.size()) return nothing();
    for (std::size_t i = 0; i < left.size(); ++i) {
      left[i] = joined(m, left[i], right[i]);
      if (is_nothing(left[i])) return nothing();
    }
    return with_leaves(a, std::move(left));
  }
  if (a.is_tensor() || b.is_tensor() || is_tree(a) || is_tree(b)) return nothing();
  return equal(a, b) ? a : nothing();
}

Value blurred(Impl& m, const Value& v) {
  if (const auto kind = number_kind(v)) return number_of_a_run(m, *kind);
  if (!is_tree(v)) return v;
  std::vector<Value> all = leaves(v);
  for (Value& leaf : all) leaf = blurred(m, leaf);
  return with_leaves(v, std::move(all));
}

AssignedVariables::AssignedVariables(Impl& m, const void* statement) : m_(m) {
  const auto& all = m.frame().unit->assigned;
  const auto it = all.find(statement);
  list_ = it == all.end() ? nullptr : &it->second;
}

std::vector<Value> AssignedVariables::values() const {
  std::vector<Value> out;
  if (!list_) return out;
  for (const auto& a : *list_) {
    const Value* v = m_.place_of(a.slot);
    out.push_back(v ? *v : nothing());
  }
  return out;
}

void AssignedVariables::set(const std::vector<Value>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (Value* v = m_.place_of((*list_)[i].slot)) *v = values[i];
}

void AssignedVariables::join(const std::vector<Value>& before) {
  std::vector<Value> now = values();
  for (std::size_t i = 0; i < now.size() && i < before.size(); ++i) now[i] = joined(m_, before[i], now[i]);
  set(now);
}

void AssignedVariables::blur(const std::vector<Value>& before) {
  std::vector<Value> now = values();
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool grown =
        is_tree(now[i]) && i < before.size() && !is_nothing(before[i]) && !same_structure(before[i], now[i]);
    if (!is_nothing(now[i])) now[i] = grown ? nothing() : blurred(m_, now[i]);
  }
  set(now);
}

}  // namespace shard::lang
