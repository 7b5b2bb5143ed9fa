// What host functions ask of values: arrays, integers, numbers, truth, text. Part of Interpreter (interpreter.h).
#include <cmath>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/values/unknown.h"
#include "interpreter/lang/values/value_text.h"

namespace shard::lang {

using grammar::Span;
using runtime::DType;
using trace::HostNumber;
using trace::Tensor;

namespace {

// The numbers of nested lists in row-major order, and the shape that they make.
struct Numbers {
  std::vector<Value> flat;
  runtime::Shape shape;
  bool tensors = false;
};

void flatten(Interpreter& in, const Value& v, std::size_t depth, Numbers& out, Span span) {
  if (const auto* items = v.items()) {
    const auto n = static_cast<std::int64_t>(items->size());
    if (depth == out.shape.size()) {
      if (!out.flat.empty()) in.fail("shape", span, "the lists are ragged: elements of one list have different depths");
      if (depth >= static_cast<std::size_t>(runtime::kMaxRank))
        in.fail("shape", span, "the lists nest deeper than " + std::to_string(runtime::kMaxRank));
      out.shape.push_back(n);
    } else if (out.shape[depth] != n) {
      in.fail("shape", span,
              "the lists are ragged: one has " + std::to_string(out.shape[depth]) + " elements and another " +
                  std::to_string(n));
    }
    for (const Value& x : *items) flatten(in, x, depth + 1, out, span);
    return;
  }
  if (!v.is_tensor() && !v.is_host_number() && !v.is<bool>())
    in.fail("type", span, "an array is made of numbers, and an element is " + kind_name(v));
  if (depth != out.shape.size())
    in.fail("shape", span, "the lists are ragged: elements of one list have different depths");
  out.tensors = out.tensors || v.is_tensor();
  out.flat.push_back(v);
}

Tensor from_numbers(Interpreter& in, const Numbers& n, Span span) {
  bool floats = false, bools = !n.flat.empty();
  for (const Value& v : n.flat) floats = floats || v.is<double>(), bools = bools && v.is<bool>();
  auto& pool = in.context().pool();
  if (n.flat.empty()) return Tensor(runtime::from_host(pool, DType::F32, n.shape, nullptr));
  if (bools) {
    std::vector<std::uint8_t> data;
    for (const Value& v : n.flat) data.push_back(*v.get<bool>());
    return Tensor(runtime::from_host(pool, DType::Bool, n.shape, data.data()));
  }
  auto number = [](const Value& v) {
    return v.is<bool>()     ? static_cast<double>(*v.get<bool>())
           : v.is<double>() ? *v.get<double>()
                            : static_cast<double>(*v.get<std::int64_t>());
  };
  if (floats) {
    std::vector<float> data;
    for (const Value& v : n.flat) data.push_back(static_cast<float>(number(v)));
    return Tensor(runtime::from_host(pool, DType::F32, n.shape, data.data()));
  }
  std::vector<std::int32_t> data;
  for (const Value& v : n.flat) {
    const std::int64_t i = v.is<bool>() ? *v.get<bool>() : *v.get<std::int64_t>();
    if (i < INT32_MIN || i > INT32_MAX)
      in.fail("overflow", span, std::to_string(i) + " does not fit an i32", {"array(xs, i64) takes 64 bits"});
    data.push_back(static_cast<std::int32_t>(i));
  }
  return Tensor(runtime::from_host(pool, DType::I32, n.shape, data.data()));
}

// Lists with arrays in them are stacked.
Tensor stacked(Interpreter& in, const Value& v, Span span) {
  const auto* items = v.items();
  if (!items) return in.tensor(v, span);
  if (items->empty()) return in.tensor(Value::list({}), span);
  const auto& core = in.context().table().core();
  std::vector<Tensor> parts;
  std::optional<runtime::Kind> kind;
  for (const Value& x : *items) {
    parts.push_back(stacked(in, x, span));
    const runtime::Type& t = parts.back().type();
    if (t.shape != parts[0].type().shape)
      in.fail("shape", span,
              "the elements of a list have different shapes: " + runtime::to_string(parts[0].type()) + " and " +
                  runtime::to_string(t));
    kind = kind ? runtime::promote(*kind, t.kind()) : std::optional(t.kind());
    if (!kind)
      in.fail("dtype", span,
              "the elements of a list have types that do not join: " + runtime::to_string(parts[0].type()) + " and " +
                  runtime::to_string(t));
  }
  for (Tensor& t : parts) {
    if (!(t.type().kind() == *kind))
      t = in.context().apply1(*core.convert, {t}, {{"dtype", kind->dtype}, {"weak", kind->weak}});
    runtime::Shape one = t.type().shape;
    one.insert(one.begin(), 1);
    t = in.context().apply1(*core.reshape, {t}, {{"shape", one}});
  }
  if (parts.size() == 1) return parts[0];
  const std::int64_t rank = parts[0].type().rank();
  return in.context().apply(*core.concat, parts, {{"axis", -rank}}).at(0);
}

}  // namespace

Tensor Interpreter::tensor(const Value& v, Span span) {
  if (auto* t = v.get<Tensor>()) return *t;
  context_.set_span(recorded_at(span));
  if (auto* i = v.get<std::int64_t>()) return context_.scalar(*i);
  if (auto* d = v.get<double>()) return context_.scalar(*d);
  if (auto* b = v.get<bool>()) return context_.scalar(*b);
  if (v.items()) {
    Numbers n;
    bool any = false;
    for (const Value& leaf : leaves(v)) any = any || leaf.is_tensor();
    if (any) return stacked(*this, v, span);
    flatten(*this, v, 0, n, span);
    return from_numbers(*this, n, span);
  }
  fail("type", span, "an array or a number is needed, and this is " + kind_name(v));
}

std::int64_t Interpreter::integer(const Value& v, Span span, std::string_view what) {
  if (auto* i = v.get<std::int64_t>()) return *i;
  if (auto* t = v.get<Tensor>(); t && t->type().shape.empty() && runtime::is_integer(t->type().dtype)) {
    context_.set_span(recorded_at(span));
    if (t->known()) return std::get<std::int64_t>(context_.need(*t));
    if (checker() && !t->traced() && !t->array()->has_elements()) return checker()->size_of(*t);
    return at(span,
              [&] { return runtime::element_int(*runtime::to_host(context_.pool(), context_.concrete(*t, what)), 0); });
  }
  const auto* real = v.get<double>();
  fail("type", span,
       std::string(what) + " must be an integer, and this is " + (real ? "the float " + repr(v) : kind_name(v)),
       real ? std::vector<std::string>{"`/` always gives a float; `//` divides to an integer, `int(x)` cuts off"}
            : std::vector<std::string>{});
}

double Interpreter::number(const Value& v, Span span, std::string_view what) {
  if (auto* d = v.get<double>()) return *d;
  if (auto* i = v.get<std::int64_t>()) return static_cast<double>(*i);
  if (auto* t = v.get<Tensor>();
      t && t->type().shape.empty() && (runtime::is_integer(t->type().dtype) || runtime::is_float(t->type().dtype))) {
    context_.set_span(recorded_at(span));
    if (t->known()) {
      const HostNumber n = context_.need(*t);
      return std::holds_alternative<std::int64_t>(n) ? static_cast<double>(std::get<std::int64_t>(n))
                                                     : std::get<double>(n);
    }
    return at(span, [&] {
      return runtime::element_double(*runtime::to_host(context_.pool(), context_.concrete(*t, what)), 0);
    });
  }
  fail("type", span, std::string(what) + " must be a number, and this is " + kind_name(v));
}

bool Interpreter::truth(const Value& v, Span span) {
  switch (impl_->condition(v, span)) {
    case Truth::True: return true;
    case Truth::False: return false;
    case Truth::Traced: break;
    case Truth::Unknown: only_in_a_run(span);
  }
  context_.set_span(recorded_at(span));
  context_.concrete(v.tensor(), "a condition on the host");
  return false;
}

const std::string& Interpreter::text(const Value& v, Span span, std::string_view what) {
  if (v.is_string()) return v.str();
  if (v.is<std::shared_ptr<const DeferredString>>())
    fail(context_.types_only() && !context_.tracing() ? "unknown" : "trace", span,
         std::string(what) + " is a string with parts that only a run has",
         {"strings that print, assert and error show may hold such parts"});
  fail("type", span, std::string(what) + " must be a string, and this is " + kind_name(v));
}

std::string Interpreter::show(const Value& v) { return lang::show(v, context_.pool()); }
std::string Interpreter::repr(const Value& v) { return lang::repr(v, context_.pool()); }

void Interpreter::fail(std::string code, Span span, std::string message, std::vector<std::string> notes) {
  throw grammar::Error(std::move(code), span, std::move(message), std::move(notes));
}

}  // namespace shard::lang
