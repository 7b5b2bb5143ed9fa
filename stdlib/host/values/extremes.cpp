// max, min and sum have two meanings: of lists of host numbers (and of several numbers), computed here as Python does,
// and of arrays, passed on to the operations of the same name with all their arguments.
#include <cmath>

#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

bool is_plain(const Value& v) { return v.is_host_number() || v.is<bool>(); }
double as_double(const Value& v) {
  if (auto* b = v.get<bool>()) return *b ? 1 : 0;
  if (auto* i = v.get<std::int64_t>()) return static_cast<double>(*i);
  return *v.get<double>();
}

int compare(const Value& a, const Value& b) {  // exact where both are integers
  if (a.is<std::int64_t>() && b.is<std::int64_t>())
    return *a.get<std::int64_t>() < *b.get<std::int64_t>() ? -1 : *b.get<std::int64_t>() < *a.get<std::int64_t>();
  const double x = as_double(a), y = as_double(b);
  return x < y ? -1 : y < x;
}

Value fold(Interpreter& in, const std::vector<Value>& items, const char* row, grammar::Span span) {
  Value out = items[0];
  for (std::size_t i = 1; i < items.size(); ++i) out = call_row(in, row, {out, items[i]}, span);
  return out;
}

Value extreme(Interpreter& in, BoundArgs& a, const char* name, const char* pairwise, bool largest) {
  const bool array = a[0].is_tensor() && a[0].tensor().type().rank() > 0;
  bool named = false;
  for (const CallArg& x : a.rest) named = named || !x.name.empty();
  if (array || named) return pass_on(in, name, a);  // max(x), max(x, axis: 0), max(x, 0)
  std::vector<Value> items;
  if (a.rest.empty()) {
    if (a[0].is_tensor()) return call_row(in, name, {a[0]}, a.span);
    if (is_plain(a[0])) in.fail("type", a.span, std::string(name) + " of one number: give a list or several numbers");
    items = items_of(in, a[0], a.args[0].span, name);
  } else {
    items.push_back(a[0]);
    for (CallArg& x : a.rest) items.push_back(std::move(x.value));
  }
  if (items.empty()) in.fail("value", a.span, std::string("an empty list has no ") + name);
  for (const Value& v : items) {
    if (v.is_tensor()) return fold(in, items, pairwise, a.span);
    if (!is_plain(v) && !(v.is_string() && items[0].is_string()))
      in.fail("type", a.span, std::string(name) + " takes numbers, this list holds " + lang::kind_name(v));
  }
  const Value* best = &items[0];
  for (const Value& v : items) {
    if (v.is_string() != items[0].is_string())
      in.fail("type", a.span, std::string(name) + " cannot compare text with numbers");
    const int order = v.is_string() ? v.str().compare(best->str()) : compare(v, *best);
    if (largest ? order > 0 : order < 0) best = &v;
  }
  return *best;
}

Value sum(Interpreter& in, BoundArgs& a) {
  if (a[0].is_tensor() || is_plain(a[0]) || !a.rest.empty()) return pass_on(in, "sum", a);
  const std::vector<Value> items = items_of(in, a[0], a.args[0].span, "sum");
  std::int64_t whole = 0;
  double real = 0;
  bool fraction = false;
  for (const Value& v : items) {
    if (v.is_tensor()) return fold(in, items, "add", a.span);
    if (!is_plain(v)) in.fail("type", a.span, "sum takes numbers, this list holds " + lang::kind_name(v));
    if (auto* d = v.get<double>()) {
      if (!fraction) real = static_cast<double>(whole);
      fraction = true;
      real += *d;
    } else if (fraction) {
      real += as_double(v);
    } else if (__builtin_add_overflow(
                   whole, v.is<bool>() ? static_cast<std::int64_t>(*v.get<bool>()) : *v.get<std::int64_t>(), &whole)) {
      in.fail("overflow", a.span, "the sum of these integers does not fit in 64 bits");
    }
  }
  return fraction ? Value(real) : Value(whole);
}

}  // namespace

void register_extremes(Interpreter& in) {
  in.define(
      {"max", "max(x, xs...)",
       "The largest: of a list, of several numbers, or of an array (axis: and keepdims: as for other reductions).",
       [](Interpreter& i, BoundArgs& a) { return extreme(i, a, "max", "maximum", true); }});
  in.define(
      {"min", "min(x, xs...)",
       "The smallest: of a list, of several numbers, or of an array (axis: and keepdims: as for other reductions).",
       [](Interpreter& i, BoundArgs& a) { return extreme(i, a, "min", "minimum", false); }});
  in.define({"sum", "sum(x, xs...)", "The sum: of a list, or of an array (axis:, keepdims:, out:).", sum});
}

}  // namespace shard::stdlib
