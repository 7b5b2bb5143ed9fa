// Lists, and what walks through sequences: len zip enumerate map filter append range. Lists are values: append gives a
// new one, in place where nobody else holds the old one.
#include <algorithm>

#include "interpreter/lang/eval/index/index.h"
#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/native.h"
#include "interpreter/lang/values/tree.h"
#include "interpreter/lang/values/value_text.h"
#include "interpreter/lang/values/wrapped.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::Range;

constexpr std::int64_t kLargestList = std::int64_t{1} << 27;

std::int64_t range_length(const Range& r) { return r.end > r.begin ? r.end - r.begin : 0; }

Value len(Interpreter& in, BoundArgs& a) {
  const Value& v = a[0];
  if (const auto* items = v.items()) return Value(static_cast<std::int64_t>(items->size()));
  if (const auto* record = v.fields()) return Value(static_cast<std::int64_t>(record->fields.size()));
  if (v.is_string() || v.is<std::shared_ptr<const lang::DeferredString>>())
    return Value(static_cast<std::int64_t>(lang::code_points(in.text(v, a.span, "what len counts")).size()));
  if (const Range* r = v.get<Range>()) return Value(range_length(*r));
  if (auto* spec = v.get<std::shared_ptr<const lang::Spec>>())
    return Value(static_cast<std::int64_t>((*spec)->dims.size()));
  if (v.is_tensor()) {
    const auto& shape = v.tensor().type().shape;
    if (shape.empty()) in.fail("type", a.span, "an array of rank 0 has no length", {"it is " + lang::kind_name(v)});
    return Value(shape[0]);
  }
  if (const auto* loader = v.get<std::shared_ptr<lang::Loader>>())
    if (const auto n = (*loader)->length()) return Value(*n);
  in.fail("type", a.span, lang::kind_name(v) + " has no length",
          {"len takes lists, tuples, records, strings, ranges and arrays"});
}

// map and filter take the function first; after `.` or `|>` it comes second.
void function_first(Interpreter& in, BoundArgs& a, std::vector<Value>& sequences, const char* name) {
  if (!a[0].callable()) {
    if (a.rest.empty() || !a.rest[0].value.callable())
      in.fail("type", a.span, std::string(name) + " takes a function and a list: " + name + "(fn(x) = ..., xs)");
    std::swap(a[0], a.rest[0].value);
  }
  for (CallArg& x : a.rest) {
    if (!x.name.empty()) in.fail("call", x.span, std::string(name) + " has no argument called `" + x.name + "`");
    sequences.push_back(std::move(x.value));
  }
  if (sequences.empty()) in.fail("call", a.span, std::string(name) + " needs a list after its function");
}

std::vector<std::vector<Value>> columns(Interpreter& in, const std::vector<Value>& sequences, grammar::Span span,
                                        const char* name) {
  std::vector<std::vector<Value>> out;
  for (const Value& s : sequences) out.push_back(items_of(in, s, span, name));
  for (const auto& c : out)
    if (c.size() != out[0].size())
      in.fail("call", span,
              std::string(name) + " takes sequences of one length; these have " + std::to_string(out[0].size()) +
                  " and " + std::to_string(c.size()));
  return out;
}

Value zip(Interpreter& in, BoundArgs& a) {
  std::vector<Value> sequences;
  for (CallArg& x : a.rest) sequences.push_back(std::move(x.value));
  const auto cols = columns(in, sequences, a.span, "zip");
  std::vector<Value> out;
  for (std::size_t i = 0; !cols.empty() && i < cols[0].size(); ++i) {
    std::vector<Value> row;
    for (const auto& c : cols) row.push_back(c[i]);
    out.push_back(Value::tuple(std::move(row)));
  }
  return Value::list(std::move(out));
}

Value enumerate(Interpreter& in, BoundArgs& a) {
  std::int64_t n = in.integer(a[1], a.args[1].span, "start");
  std::vector<Value> out;
  for (Value& v : items_of(in, a[0], a.span, "enumerate")) out.push_back(Value::tuple({Value(n++), std::move(v)}));
  return Value::list(std::move(out));
}

// A function of several parameters that is given one tuple, as of `zip`: the error says how it is taken apart.
Value call_with_item(Interpreter& in, const Value& f, std::vector<Value> args, grammar::Span span) {
  const std::size_t parts = args.size() == 1 && args[0].items() ? args[0].items()->size() : 0;
  const auto* closure = lang::written_function(f);
  if (parts > 1 && closure && closure->function->params.size() == parts) {
    const auto& params = closure->function->params;
    const bool all_needed = std::all_of(params.begin(), params.end(), [](const auto& p) { return !p.default_value; });
    if (all_needed)
      in.fail("call", span,
              "map gives its function one tuple of " + std::to_string(parts) + ", and it takes " +
                  std::to_string(parts) + " values",
              {"a tuple is taken apart by a pattern: `fn((a, b)) = ...`; or give map the lists: `map(f, xs, ys)`"});
  }
  return in.call(f, std::move(args), span);
}

Value map(Interpreter& in, BoundArgs& a) {
  std::vector<Value> sequences;
  function_first(in, a, sequences, "map");
  const auto cols = columns(in, sequences, a.span, "map");
  std::vector<Value> out;
  for (std::size_t i = 0; i < cols[0].size(); ++i) {
    std::vector<Value> args;
    for (const auto& c : cols) args.push_back(c[i]);
    out.push_back(call_with_item(in, a[0], std::move(args), a.span));
  }
  return Value::list(std::move(out));
}

Value filter(Interpreter& in, BoundArgs& a) {
  std::vector<Value> sequences;
  function_first(in, a, sequences, "filter");
  if (sequences.size() != 1) in.fail("call", a.span, "filter takes one list");
  std::vector<Value> out;
  for (Value& v : items_of(in, sequences[0], a.span, "filter"))
    if (in.truth(in.call(a[0], {v}, a.span), a.span)) out.push_back(std::move(v));
  return Value::list(std::move(out));
}

Value appended(Interpreter& in, BoundArgs& a) {
  auto* list = a[0].get<std::shared_ptr<lang::List>>();
  if (!list) in.fail("type", a.args[0].span, "append takes a list, this is " + lang::kind_name(a[0]));
  if (list->use_count() > 1) *list = std::make_shared<lang::List>(**list);
  (*list)->items.push_back(std::move(a[1]));
  return std::move(a[0]);
}

Value range(Interpreter& in, BoundArgs& a) {
  const auto at = [&](std::size_t i, const char* what) { return in.integer(a[i], a.args[i].span, what); };
  const std::int64_t step = at(2, "the step of a range");
  if (step == 0) in.fail("call", a.span, "the step of a range cannot be 0");
  if (lang::only_a_run_knows(a[0]) || lang::only_a_run_knows(a[1])) {
    Value from = a.given(1) ? a[0] : Value(std::int64_t{0}), to = a.given(1) ? a[1] : a[0];
    return Value(
        std::shared_ptr<lang::Loader>(std::make_shared<lang::TracedRange>(std::move(from), std::move(to), step)));
  }
  if (!a.given(1)) return Value(Range{0, std::max<std::int64_t>(0, at(0, "the end of a range"))});
  const std::int64_t begin = at(0, "the begin of a range"), end = at(1, "the end of a range");
  if (step == 1) return Value(Range{begin, end});
  const auto distance = step > 0 ? static_cast<unsigned __int128>(std::max<__int128>(0, __int128{end} - begin))
                                 : static_cast<unsigned __int128>(std::max<__int128>(0, __int128{begin} - end));
  const auto stride = static_cast<unsigned __int128>(step > 0 ? __int128{step} : -__int128{step});
  const unsigned __int128 n = (distance + stride - 1) / stride;
  if (n > static_cast<unsigned __int128>(kLargestList))
    in.fail("call", a.span, "a range with a step is a list, and this one would be too long");
  std::vector<Value> out;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(n); ++i) out.emplace_back(begin + i * step);
  return Value::list(std::move(out));
}

}  // namespace

std::vector<Value> items_of(Interpreter& in, const Value& v, grammar::Span span, std::string_view what) {
  if (const auto* items = v.items()) return *items;
  if (auto parts = lang::parts_of(v)) return std::move(*parts);
  std::vector<Value> out;
  if (const Range* r = v.get<Range>()) {
    if (range_length(*r) > kLargestList)
      in.fail("call", span, "the range " + lang::show(v, in.context().pool()) + " is too long to be made a list");
    for (std::int64_t i = r->begin; i < r->end; ++i) out.emplace_back(i);
    return out;
  }
  if (v.is_tensor() && v.tensor().type().rank() > 0) {
    for (std::int64_t i = 0; i < v.tensor().type().shape[0]; ++i) out.push_back(lang::row(in, v.tensor(), i, span));
    return out;
  }
  if (const auto* loader = v.get<std::shared_ptr<lang::Loader>>()) {
    (*loader)->restart();
    while (auto next = (*loader)->next(in)) out.push_back(std::move(*next));
    return out;
  }
  in.fail("type", span,
          std::string(what) + " takes a list, a record, a string, a range or an array with rows, this is " +
              lang::kind_name(v));
}

Value call_row(Interpreter& in, std::string_view name, std::vector<CallArg> args, grammar::Span span) {
  return in.call(Value(in.context().table().find(name)), std::move(args), span);
}

Value call_row(Interpreter& in, std::string_view name, std::vector<Value> args, grammar::Span span) {
  return in.call(Value(in.context().table().find(name)), std::move(args), span);
}

Value pass_on(Interpreter& in, std::string_view name, BoundArgs& a) {
  std::vector<CallArg> all;
  for (lang::BoundArg& x : a.args) all.push_back({"", x.value, x.span});
  for (CallArg& x : a.rest) all.push_back(std::move(x));
  return call_row(in, name, std::move(all), a.span);
}

std::optional<CallArg> take_named(BoundArgs& a, std::string_view name) {
  const auto found = std::find_if(a.rest.begin(), a.rest.end(), [&](const CallArg& x) { return x.name == name; });
  if (found == a.rest.end()) return std::nullopt;
  std::optional<CallArg> out(std::move(*found));
  a.rest.erase(found);
  return out;
}

std::vector<std::string> note_if(bool wanted, std::string note) {
  return wanted ? std::vector<std::string>{std::move(note)} : std::vector<std::string>{};
}

Value list_of(const std::vector<std::int64_t>& numbers) {
  return Value::list(std::vector<Value>(numbers.begin(), numbers.end()));
}

void register_lists(Interpreter& in) {
  in.define({"len", "len(x)", "How many items, fields, characters or rows x has.", len, {"length"}});
  in.define({"zip", "zip(xs...)",
             "A list of tuples: the first items, the second items, ... Sequences must have one length.", zip});
  in.define({"enumerate", "enumerate(xs, start = 0)", "A list of (index, item).", enumerate});
  in.define(
      {"map",
       "map(f, xs...)",
       "The list of f(x) for each x of a list, range or array; with several, of f(x, y). After `.` or `|>`: xs.map(f).",
       map,
       {{"tolist", "a list of the parts along the first dimension is `map(fn(v) = v, x)`"}}});
  in.define({"filter", "filter(f, xs...)",
             "The list of those x for which f(x) is true. After `.` or `|>`: xs.filter(f).", filter});
  in.define({"append",
             "append(xs, x)",
             "The list with x at its end: xs = append(xs, x).",
             appended,
             {"push", {"append", "values never change in place"}}});
  in.define({"range", "range(begin, end = none, step = 1)",
             "The integers from begin up to, not including, end; range(n) begins at 0.", range});
}

}  // namespace shard::stdlib
