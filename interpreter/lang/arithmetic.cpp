// Operators on values: host numbers by host_math, arrays by the rows that operators.h names. A traced host number (Tensor::known)
// stays known as long as it meets host numbers only, so that sizes and conditions computed from it can still be read.
#include "interpreter/lang/format.h"
#include "interpreter/lang/host_math.h"
#include "interpreter/lang/impl.h"
#include "interpreter/lang/operators.h"

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
  return host.is<bool>() ? dtype == runtime::DType::Bool : host.is<std::int64_t>() ? runtime::is_integer(dtype) : runtime::is_float(dtype);
}

// `result` is what the operation recorded; `host` what the same operation gives on the host.
Value keep_known(Tensor result, const Value& host, std::initializer_list<const Value*> operands) {
  Known known;
  if (auto* b = host.get<bool>()) known.value = *b;
  else if (auto* i = host.get<std::int64_t>()) known.value = *i;
  else if (auto* d = host.get<double>()) known.value = *d;
  else return result;
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

bool is_text(const Value& v) { return v.is_string() || v.is<std::shared_ptr<const DeferredString>>(); }
bool is_number_like(const Value& v) { return v.is_tensor() || v.is_host_number() || v.is<bool>(); }

std::vector<std::string> advice(BinaryOp op, const Value& l, const Value& r) {
  auto list = [](const Value& v) { return v.items() != nullptr; };
  if (list(l) || list(r)) {
    if (op == BinaryOp::Add && list(l) && list(r)) return {"to join lists, spread them: [...xs, ...ys]"};
    return {"to compute with the numbers of a list, make it an array: array(xs)"};
  }
  if (l.is_string() || r.is_string()) return {"put a value into a string with braces: \"{x}\""};
  return {};
}

}  // namespace

Value Impl::binary(BinaryOp op, const Value& l, const Value& r, Span span) {
  if (auto* i = l.get<std::int64_t>(); i && r.is<std::int64_t>()) {       // the straight path of host loops
    const std::int64_t j = *r.get<std::int64_t>();
    std::int64_t out = 0;
    switch (op) {
      case BinaryOp::Add: if (!__builtin_add_overflow(*i, j, &out)) return out; break;
      case BinaryOp::Sub: if (!__builtin_sub_overflow(*i, j, &out)) return out; break;
      case BinaryOp::Mul: if (!__builtin_mul_overflow(*i, j, &out)) return out; break;
      case BinaryOp::Lt: return *i < j;
      case BinaryOp::Eq: return *i == j;
      default: break;
    }
  }
  const auto later = [](const Value& v) { return v.is<std::shared_ptr<const DeferredString>>(); };
  if ((op == BinaryOp::Eq || op == BinaryOp::Ne) && (later(l) || later(r)))
    fail(check && !ctx.tracing() ? "unknown" : "trace", span, "what this compares is known only when the program runs", {"strings with traced parts and layouts that the partitioner chooses can be printed, not compared, while tracing"});
  if (!l.is_tensor() && !r.is_tensor()) {
    if (op == BinaryOp::Range && !(l.is<std::int64_t>() && r.is<std::int64_t>()))
      fail("type", span, "a range goes from an integer to an integer, and this is " + kind_name(l) + " .. " + kind_name(r));
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
    fail("type", span, "`" + std::string(sign_of(op)) + "` is not defined for " + kind_name(l) + " and " + kind_name(r), advice(op, l, r));
  }
  if (op == BinaryOp::Range) return Range{in.integer(l, span, "the beginning of a range"), in.integer(r, span, "the end of a range")};
  if (!is_number_like(l) || !is_number_like(r)) {
    if (op == BinaryOp::Eq) return false;
    if (op == BinaryOp::Ne) return true;
    fail("type", span, "`" + std::string(sign_of(op)) + "` is not defined for " + kind_name(l) + " and " + kind_name(r), advice(op, l, r));
  }
  return at(span, [&]() -> Value {
    std::optional<Value> host;
    if (auto a = host_of(l))
      if (auto b = host_of(r)) {
        try {
          host = host_binary(op, *a, *b);
        } catch (const runtime::RuntimeError&) {
        }
      }
    // An integer to a negative power is a float on the host and an integer in an array: which one it is must be known.
    if (host && op == BinaryOp::Pow && host_of(l)->is<std::int64_t>() && host_of(r)->is<std::int64_t>()) {
      if (l.is_tensor()) ctx.need(l.tensor());
      if (r.is_tensor()) ctx.need(r.tensor());
      return *host;
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
        } catch (const runtime::RuntimeError&) {
        }
      }
      Tensor out = ctx.apply1(ctx.table().at(row_of(op)), {*t});
      return host ? keep_known(std::move(out), *host, {&v}) : Value(std::move(out));
    });
  }
  if (auto out = at(span, [&] { return host_unary(op, v); })) return std::move(*out);
  fail("type", span, "`" + std::string(sign_of(op)) + "` is not defined for " + kind_name(v), advice(BinaryOp::Mul, v, v));
}

}  // namespace shard::lang
