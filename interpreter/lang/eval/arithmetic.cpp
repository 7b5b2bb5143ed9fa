// Operators on values: host numbers by host_math, arrays by the rows that operators.h names. A traced host number
// (Tensor::known) stays known as long as it meets host numbers only, so that sizes and conditions computed from it can
// still be read. What numbers from outside of a compiled function alone give is computed on the host at each call: the
// same digits as without `jit`.
#include <algorithm>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/values/host_math.h"
#include "interpreter/lang/values/tree.h"
#include "interpreter/lang/values/unknown.h"
#include "interpreter/lang/values/value_text.h"

namespace shard::lang {

using namespace grammar;
using trace::HostNumber;
using trace::Known;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

Value value_of(const HostNumber& n) {
  return std::visit([](auto x) { return Value(x); }, n);
}

// The host number that v is or was; nothing for arrays.
std::optional<Value> host_of(const Value& v) {
  if (v.is_host_number() || v.is<bool>()) return v;
  if (auto* t = v.get<Tensor>(); t && t->known()) return value_of(t->known()->value);
  return std::nullopt;
}

bool kind_fits(const Value& host, runtime::DType dtype) {
  return host.is<bool>()           ? dtype == runtime::DType::Bool
         : host.is<std::int64_t>() ? runtime::is_integer(dtype)
                                   : runtime::is_float(dtype);
}

HostNumber number_of(const Value& host) {
  if (auto* b = host.get<bool>()) return *b;
  if (auto* i = host.get<std::int64_t>()) return *i;
  return *host.get<double>();
}

// `result` is what the operation recorded; `host` what the same operation gives on the host.
Value keep_known(Tensor result, const Value& host, std::initializer_list<const Value*> operands) {
  Known known{number_of(host), {}, nullptr};
  for (const Value* v : operands) {
    auto* t = v->get<Tensor>();
    if (!t) continue;
    if (known.frame && known.frame != t->known()->frame) return result;
    known.frame = t->known()->frame;
    known.sources.insert(t->known()->sources.begin(), t->known()->sources.end());
  }
  if (!result.traced() || !kind_fits(host, result.type().dtype)) return result;
  return Tensor(result.frame(), result.var(), std::make_shared<const Known>(std::move(known)));
}

// An operand that is no argument of a compiled function: a number written in it, or one from outside.
struct OutsideOperand {
  trace::HostFormula formula;
  std::string key;
};

std::optional<OutsideOperand> from_outside(const Value& v) {
  auto* t = v.get<Tensor>();
  if (!t) {
    const HostNumber n = number_of(v);
    std::string key = std::to_string(n.index());
    std::visit([&](auto x) { key.append(reinterpret_cast<const char*>(&x), sizeof x); }, n);
    return OutsideOperand{[n](auto) { return n; }, std::move(key)};
  }
  if (!t->known() || !t->known()->formula) return std::nullopt;
  const auto formula = t->known()->formula;
  return OutsideOperand{*formula, std::to_string(reinterpret_cast<std::uintptr_t>(t->known().get()))};
}

// What `op` gives of operands that are no arguments; nothing where one is, or where the host has no such result.
std::optional<Value> computed_outside(Impl& m, std::string key, const Value& host,
                                      std::function<Value(const std::vector<Value>&)> op,
                                      std::initializer_list<const Value*> operands) {
  if (!m.cells.observer || host.is<bool>()) return std::nullopt;
  Known known{number_of(host), {}, nullptr};
  std::vector<trace::HostFormula> formulas;
  for (const Value* v : operands) {
    auto outside = from_outside(*v);
    if (!outside) return std::nullopt;
    formulas.push_back(std::move(outside->formula));
    key += "|" + outside->key;
    if (auto* t = v->get<Tensor>()) {
      known.frame = t->known()->frame;
      known.sources.insert(t->known()->sources.begin(), t->known()->sources.end());
    }
  }
  if (auto* i = std::get_if<std::int64_t>(&known.value);
      i && (*i < INT32_MIN || *i > INT32_MAX)) {  // no array holds it
    for (const Value* v : operands)
      if (v->is_tensor()) m.ctx.need(v->tensor());
    return host;
  }
  trace::HostFormula formula = [op, formulas](std::span<const std::optional<HostNumber>> leaves) {
    std::vector<Value> values;
    for (const auto& f : formulas) values.push_back(value_of(f(leaves)));
    return number_of(op(values));
  };
  known.formula = std::make_shared<const trace::HostFormula>(std::move(formula));
  return m.cells.observer->on_computed(known, key);
}

bool is_text(const Value& v) { return v.is_string() || v.is<std::shared_ptr<const DeferredString>>(); }
bool is_number_like(const Value& v) { return v.is_tensor() || v.is_host_number() || v.is<bool>(); }

// What may say how often: an integer, also one that is traced.
bool is_count(const Value& v) {
  return v.is<std::int64_t>() ||
         (v.is_tensor() && v.tensor().type().rank() == 0 && runtime::is_integer(v.tensor().type().dtype));
}

std::vector<std::string> advice(BinaryOp op, const Value& l, const Value& r) {
  auto list = [](const Value& v) { return v.items() != nullptr; };
  if (list(l) || list(r)) {
    const auto tuple = [](const Value& v) { return v.items() && !v.is<std::shared_ptr<List>>(); };
    if (op == BinaryOp::Add && tuple(l) && tuple(r)) return {"to join tuples, spread them: (...xs, ...ys)"};
    if (op == BinaryOp::Add && list(l) && list(r)) return {"to join lists, spread them: [...xs, ...ys]"};
    if (op == BinaryOp::Mul && list(l) != list(r) && is_count(list(l) ? r : l))
      return {"to compute with the numbers of a list, make it an array: array(xs)",
              "a list of the same value n times is `map(fn(_) = v, 0..n)`, an array `full([n], v)`"};
    return {"to compute with the numbers of a list, make it an array: array(xs)"};
  }
  if (l.fields() && r.fields() && op == BinaryOp::Add) return {"to join records, spread them: {...a, ...b}"};
  if (l.is_string() && r.is_string() && op == BinaryOp::Range) return {"strings are joined by `+`"};
  if (op == BinaryOp::Mul && (l.is_string() || r.is_string()))
    return {"a string is repeated by an integer: \"ab\" * 3"};
  if (l.is_string() || r.is_string()) return {"put a value into a string with braces: \"{x}\""};
  return {};
}

// A string, as often as a host number in a trace says.
Value repeated_text(Impl& m, const Value& l, const Value& r, Span span) {
  const Value times = m.in.integer(l.is_string() ? r : l, span, "how often a string is repeated");
  return *m.at(span, [&] { return host_binary(BinaryOp::Mul, l.is_string() ? l : r, times); });
}

// Texts, layouts and, where nothing is run, sizes that only a run has, alone or in a tree.
bool known_later(Impl& m, const Value& v, Span span) {
  const bool types_only = m.ctx.types_only();
  const auto later = [&](const Value& x) {
    return x.is<std::shared_ptr<const DeferredString>>() || (types_only && is_size_of_data(x));
  };
  if ((!v.items() && !v.fields()) || !(types_only || m.ctx.tracing())) return later(v);
  const std::vector<Value> all = m.at(span, [&] { return leaves(v); });
  return std::any_of(all.begin(), all.end(), later);
}

}  // namespace

Value Impl::binary(BinaryOp op, const Value& l, const Value& r, Span span) {
  if (auto* i = l.get<std::int64_t>(); i && r.is<std::int64_t>()) {  // the straight path of host loops
    const std::int64_t j = *r.get<std::int64_t>();
    std::int64_t out = 0;
    switch (op) {
      case BinaryOp::Add:
        if (!__builtin_add_overflow(*i, j, &out)) return out;
        break;
      case BinaryOp::Sub:
        if (!__builtin_sub_overflow(*i, j, &out)) return out;
        break;
      case BinaryOp::Mul:
        if (!__builtin_mul_overflow(*i, j, &out)) return out;
        break;
      case BinaryOp::Lt: return *i < j;
      case BinaryOp::Eq: return *i == j;
      default: break;
    }
  }
  if ((op == BinaryOp::Eq || op == BinaryOp::Ne) && (known_later(*this, l, span) || known_later(*this, r, span)))
    fail(ctx.types_only() && !ctx.tracing() ? "unknown" : "trace", span,
         "what this compares is known only when the program runs",
         {"strings with traced parts and layouts that the partitioner chooses can be printed, not compared, while "
          "tracing"});
  if (!l.is_tensor() && !r.is_tensor()) {
    if (op == BinaryOp::Range && !(l.is<std::int64_t>() && r.is<std::int64_t>()))
      fail("type", span,
           "a range goes from an integer to an integer, and this is " + kind_name(l) + " .. " + kind_name(r),
           advice(op, l, r));
    if (op == BinaryOp::Add && is_text(l) && is_text(r) && !(l.is_string() && r.is_string())) {
      auto joined = std::make_shared<DeferredString>();
      joined->texts.emplace_back();
      append_shown(*joined, l, {}, ctx.pool());
      append_shown(*joined, r, {}, ctx.pool());
      return Value(std::shared_ptr<const DeferredString>(std::move(joined)));
    }
    if (auto v = at(span, [&] { return host_binary(op, l, r); })) return std::move(*v);
    if (is_number_like(l) && is_number_like(r) && op == BinaryOp::MatMul)
      fail("type", span, "`@` is the product of two arrays, and these are " + kind_name(l) + " and " + kind_name(r));
    fail("type", span, "`" + std::string(sign_of(op)) + "` is not defined for " + kind_name(l) + " and " + kind_name(r),
         advice(op, l, r));
  }
  if (op == BinaryOp::Range)
    return Range{in.integer(l, span, "the beginning of a range"), in.integer(r, span, "the end of a range")};
  if (op == BinaryOp::Mul && (l.is_string() || r.is_string())) return repeated_text(*this, l, r, span);
  if (!is_number_like(l) || !is_number_like(r)) {
    if (op == BinaryOp::Eq) return false;
    if (op == BinaryOp::Ne) return true;
    fail("type", span, "`" + std::string(sign_of(op)) + "` is not defined for " + kind_name(l) + " and " + kind_name(r),
         advice(op, l, r));
  }
  if (const auto* n = r.get<std::int64_t>();
      op == BinaryOp::Pow && n && *n < 0 && l.is_tensor() && !runtime::is_inexact(l.tensor().type().dtype))
    fail("value", span,
         runtime::to_string(l.tensor().type()) + " ** " + std::to_string(*n) + ": integers have no negative powers",
         {"for floats write `** " + std::to_string(*n) + ".0`"});
  return at(span, [&]() -> Value {
    std::optional<Value> host;
    if (auto a = host_of(l))
      if (auto b = host_of(r)) {
        try {
          host = host_binary(op, *a, *b);
        } catch (const runtime::RuntimeError&) {}
      }
    // An integer to a negative power is a float on the host and an integer in an array: which one it is must be known.
    if (host && op == BinaryOp::Pow && host_of(l)->is<std::int64_t>() && host_of(r)->is<std::int64_t>()) {
      if (l.is_tensor()) ctx.need(l.tensor());
      if (r.is_tensor()) ctx.need(r.tensor());
      return *host;
    }
    if (host) {
      const auto again = [op](const std::vector<Value>& v) { return *host_binary(op, v[0], v[1]); };
      if (auto out = computed_outside(*this, std::string(sign_of(op)), *host, again, {&l, &r})) return std::move(*out);
    }
    Tensor out = ctx.apply1(ctx.table().at(row_of(op)), {in.tensor(l, span), in.tensor(r, span)});
    return host ? keep_known(std::move(out), *host, {&l, &r}) : Value(std::move(out));
  });
}

Value Impl::unary(UnaryOp op, const Value& v, Span span) {
  if (op == UnaryOp::Not) {
    switch (condition(v, span)) {
      case Truth::True: return false;
      case Truth::False: return true;
      case Truth::Traced:
      case Truth::Unknown: break;
    }
    return at(span, [&] { return Value(ctx.apply1(ctx.table().at(row_of(op)), {v.tensor()})); });
  }
  if (auto* t = v.get<Tensor>()) {
    if (op == UnaryOp::Pos) return v;
    return at(span, [&]() -> Value {
      std::optional<Value> host;
      if (auto a = host_of(v)) {
        try {
          host = host_unary(op, *a);
        } catch (const runtime::RuntimeError&) {}
      }
      if (host) {
        const auto again = [op](const std::vector<Value>& x) { return *host_unary(op, x[0]); };
        if (auto out = computed_outside(*this, op == UnaryOp::Neg ? "-" : "~", *host, again, {&v}))
          return std::move(*out);
      }
      Tensor out = ctx.apply1(ctx.table().at(row_of(op)), {*t});
      return host ? keep_known(std::move(out), *host, {&v}) : Value(std::move(out));
    });
  }
  if (auto out = at(span, [&] { return host_unary(op, v); })) return std::move(*out);
  fail("type", span, "`" + std::string(sign_of(op)) + "` is not defined for " + kind_name(v),
       op == UnaryOp::Pos && v.is_string() ? std::vector<std::string>{"strings are joined by one `+`"}
                                           : advice(BinaryOp::Mul, v, v));
}

}  // namespace shard::lang
