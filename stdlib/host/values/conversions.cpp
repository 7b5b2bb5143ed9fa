// From one kind of value to another: int float str bytes of the host, and array(...) of numbers and nested lists.
#include <charconv>
#include <cmath>
#include <limits>

#include "grammar/characters.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/values/value_text.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

// The host number in a value: itself, a traced number's known value, or the one element of a concrete array.
Value host_number(Interpreter& in, const Value& v, grammar::Span span, std::string_view what) {
  if (!v.is_tensor()) return v;
  const Tensor& t = v.tensor();
  if (runtime::numel(t.type().shape) != 1)
    in.fail("type", span, std::string(what) + " takes one number, this is " + runtime::to_string(t.type()));
  if (t.traced() && t.known()) return std::visit([](auto x) { return Value(x); }, in.context().need(t));
  const ArrayRef a = on_host(in, t, what);
  if (a->type.dtype == DType::Bool) return Value(runtime::element_int(*a, 0) != 0);
  if (runtime::is_integer(a->type.dtype)) {
    const std::int64_t i = runtime::element_int(*a, 0);
    if (a->type.dtype == DType::U64 && i < 0) return Value(static_cast<double>(static_cast<std::uint64_t>(i)));
    return Value(i);
  }
  if (a->type.dtype == DType::Key) in.fail("type", span, std::string(what) + " takes a number, this is a key");
  return Value(runtime::element_double(*a, 0));
}

template <class T>
bool parse(std::string_view s, T& out) {
  s = grammar::trimmed(s);
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  const auto r = std::from_chars(s.data(), s.data() + s.size(), out);
  return !s.empty() && r.ec == std::errc() && r.ptr == s.data() + s.size();
}

// What `int` or `float` was given: a text as its number, all else as a number of the host; for one that only a run has
// an array without data stands.
template <class T>
Value number_given(Interpreter& in, BoundArgs& a, const char* who, const char* what, DType kind) {
  const grammar::Span span = a.args[0].span;
  if (a[0].is_string()) {
    T x{};
    if (!parse(a[0].str(), x)) in.fail("value", span, lang::quoted(a[0].str()) + " is no " + what);
    return Value(x);
  }
  if (a[0].is_tensor() && !a[0].tensor().traced() && !a[0].tensor().array()->has_elements() &&
      runtime::numel(a[0].tensor().type().shape) == 1)
    return Value(in.context().unknown(Type::of(kind, {}, true)));
  const Value v = host_number(in, a[0], span, who);
  if (const auto* b = v.get<bool>()) return Value(static_cast<T>(*b));
  if (!v.is_host_number())
    in.fail("type", span, std::string(who) + " takes a number or text, this is " + lang::kind_name(v));
  return v;
}

Value to_int(Interpreter& in, BoundArgs& a) {
  const Value v = number_given<std::int64_t>(in, a, "int", "integer", DType::I32);
  const double* d = v.get<double>();
  if (!d) return v;
  if (!(*d >= -0x1p63 && *d < 0x1p63))
    in.fail("value", a.args[0].span, lang::show(v, in.context().pool()) + " is no 64-bit integer");
  return Value(static_cast<std::int64_t>(*d));
}

Value to_float(Interpreter& in, BoundArgs& a) {
  const Value v = number_given<double>(in, a, "float", "number", DType::F32);
  const auto* i = v.get<std::int64_t>();
  return i ? Value(static_cast<double>(*i)) : v;
}

Value to_str(Interpreter& in, BoundArgs& a) {
  if (!lang::has_traced(a[0])) return Value::string(lang::show(a[0], in.context().pool()));
  auto d = std::make_shared<lang::DeferredString>();
  lang::append_shown(*d, a[0], "", in.context().pool());
  return Value(std::shared_ptr<const lang::DeferredString>(std::move(d)));
}

Value bytes(Interpreter& in, BoundArgs& a) {
  std::int64_t total = 0;
  for (const Value& v : lang::leaves(a[0])) {
    if (v.is_tensor())
      total += runtime::bytes_of(v.tensor().type().shape, runtime::size_of(v.tensor().type().dtype));
    else if (auto* t = v.get<std::shared_ptr<const Type>>())
      total += runtime::bytes_of((*t)->shape, runtime::size_of((*t)->dtype));
    else if (v.is_string())
      total += static_cast<std::int64_t>(v.str().size());
    else if (v.is_host_number() || v.is<bool>())
      total += 8;
    else
      in.fail("type", a.span, lang::kind_name(v) + " has no size in bytes");
  }
  return Value(total);
}

Value array(Interpreter& in, BoundArgs& a) {
  std::optional<DType> dtype;
  if (!a[1].is_none()) {
    const DType* d = a[1].get<DType>();
    if (a[1].is_string() && runtime::dtype_named(a[1].str()))
      in.fail("type", a.args[1].span, "dtype is written without quotes: `" + a[1].str() + "`");
    if (!d) in.fail("type", a.args[1].span, "dtype is an element type such as f32, this is " + lang::kind_name(a[1]));
    dtype = *d;
  }
  const bool number = !dtype && a[0].is_host_number();  // one number stays weakly typed, as in JAX
  Value made = number ? Value(in.tensor(a[0], a.args[0].span)) : Value(array_of(in, a[0], dtype, a.args[0].span));
  return a[2].is_none() ? made : lang::shard_tree(in, made, a[2], nullptr, a.span);
}

}  // namespace

void register_conversions(Interpreter& in) {
  in.define({"int", "int(x)",
             "A host integer from a number (the fraction is cut off), a truth value, text, or an array of one element.",
             to_int});
  in.define({"float",
             "float(x)",
             "A host float from a number, a truth value, text, or an array of one element.",
             to_float,
             {{"item", "an array of one element is a number by `float(x)` or `int(x)`"}}});
  in.define({"is_function", "is_function(x)", "Whether x can be called.",
             [](Interpreter&, BoundArgs& a) { return Value(a[0].callable()); }});
  in.define({"is_number", "is_number(x)", "Whether x is a number of the host, in place of an array.",
             [](Interpreter&, BoundArgs& a) { return Value(a[0].is_host_number()); }});
  in.define({"has_field", "has_field(x, name)", "Whether x is a record with a field of this name.",
             [](Interpreter& i, BoundArgs& a) {
               const std::string& name = i.text(a[1], a.args[1].span, "the name of a field");
               return Value(a[0].fields() && a[0].fields()->find(name));
             }});
  in.define({"str", "str(x)", "The text that print shows.", to_str});
  in.define({"bytes", "bytes(x)", "How many bytes the arrays of a value or tree have as a whole.", bytes});
  in.define({"array",
             "array(x, dtype = none, out = none)",
             "An array from a number or nested lists: i32 for integers, f32 where there is a float, bool for truth "
             "values, unless dtype says otherwise.",
             array,
             {"tensor", "Tensor", "asarray"}});
  in.define("inf", Value(std::numeric_limits<double>::infinity()));
  in.define("nan", Value(std::numeric_limits<double>::quiet_NaN()));
  in.define("pi", Value(3.14159265358979323846));
  std::vector<Value> args;  // the words behind `--`
  for (const std::string& word : in.options().args) args.push_back(Value::string(word));
  in.define("args", Value::list(std::move(args)));
}

}  // namespace shard::stdlib
