// assert, assert_close, assert_error: scripts that check themselves. On traced values they act when the program runs.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "interpreter/lang/eval/hooks.h"
#include "interpreter/lang/values/tree.h"
#include "interpreter/lang/values/value_text.h"
#include "runtime/array/array_text.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::DeferredString;

// Only a run can tell.
bool unknown_here(const Value& v) {
  return v.is_tensor() && v.tensor().valid() && !v.tensor().traced() && !v.tensor().array()->has_elements();
}

Value assert_true(Interpreter& in, BoundArgs& a) {
  if (unknown_here(a[0])) return {};
  DeferredString message;
  message.texts = {"assertion failed"};
  if (a.given(1)) {
    message.texts.back() += ": ";
    lang::append_shown(message, a[1], "", in.context().pool());
  }
  if (a[0].is_tensor() && a[0].tensor().traced()) {
    const Type& t = a[0].tensor().type();
    if (t.rank() != 0 || t.dtype != DType::Bool)
      in.fail("assert", a.span, "assert takes one truth value, this is " + runtime::to_string(t),
              {"all(...) of an array is one"});
    record_effect(in, "assert", message, {a[0].tensor()});
    return {};
  }
  if (in.truth(a[0], a.args[0].span)) return {};
  if (!message.values.empty()) {
    record_effect(in, "error", message, {});
    return {};
  }
  in.fail("assert", a.span, message.texts.back());
}

std::string index_text(const Shape& shape, std::int64_t flat) {
  if (shape.empty()) return "";
  std::string s;
  for (std::size_t i = shape.size(); i-- > 0;) {
    s = std::to_string(flat % shape[i]) + (s.empty() ? "" : ", ") + s;
    flat /= shape[i];
  }
  return " at [" + s + "]";
}

void compare_trees(Interpreter& in, BoundArgs& a, double rtol, double atol) {
  const Value &got = a[0], &want = a[1];
  if (got.items() || got.fields() || want.items() || want.fields()) {
    const auto is_numbers = [](const Value& v) { return v.is_tensor() && !v.tensor().traced(); };
    // A list of numbers may be compared with an array.
    if (is_numbers(got) != is_numbers(want) && !(got.fields() || want.fields())) {
      const Tensor x = array_of(in, got, std::nullopt, a.args[0].span),
                   y = array_of(in, want, std::nullopt, a.args[1].span);
      return compare_close(in, x.array(), y.array(), rtol, atol, a.span, "");
    }
    if (!lang::same_structure(got, want)) {
      auto notes = lang::tree_difference(got, want, "the first", "the second");
      notes.push_back("the first is " + lang::structure(got));
      notes.push_back("the second is " + lang::structure(want));
      in.fail("assert", a.span, "the two trees differ in structure", std::move(notes));
    }
  }
  const std::vector<std::string> paths = lang::leaf_paths(got);
  const auto where = [&](std::size_t i) { return paths[i].empty() ? std::string() : "at `" + paths[i] + "`: "; };
  const std::vector<Value> xs = lang::leaves(got), ys = lang::leaves(want);
  if (xs.size() != ys.size()) in.fail("assert", a.span, "one of the two values is none, the other is not");
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs[i].is_string() || ys[i].is_string() ||
        (!xs[i].is_tensor() && !xs[i].is_host_number() && !xs[i].is<bool>())) {
      if (!lang::equal(xs[i], ys[i]))
        in.fail("assert", a.span, where(i) + "values differ: " + in.repr(xs[i]) + " and " + in.repr(ys[i]));
      continue;
    }
    const auto strong = [&](const Value& v, grammar::Span span) {  // host numbers are compared as f64
      return v.is<double>() || v.is<std::int64_t>() ? array_of(in, v, DType::F64, span) : in.tensor(v, span);
    };
    const Tensor x = strong(xs[i], a.args[0].span), y = strong(ys[i], a.args[1].span);
    if (x.traced() || y.traced()) {
      DeferredString message;
      message.texts = {"values differ"};  // where only the verdict comes back
      record_effect(in, "assert_close", message, {x, y}, {{"rtol", rtol}, {"atol", atol}});
    } else {
      compare_close(in, x.array(), y.array(), rtol, atol, a.span, where(i));
    }
  }
}

Value assert_close(Interpreter& in, BoundArgs& a) {
  compare_trees(in, a, in.number(a[2], a.args[2].span, "rtol"), in.number(a[3], a.args[3].span, "atol"));
  return {};
}

std::string squeezed(const std::string& s) {
  std::string out;
  for (char c : s)
    if (!std::isspace(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

Value assert_error(Interpreter& in, BoundArgs& a) {
  const std::string words = a[1].is_none() ? "" : in.text(a[1], a.args[1].span, "the words of the expected error");
  if (!a[0].callable())
    in.fail("type", a.args[0].span,
            "assert_error takes a function without arguments: assert_error(fn() = x[9], \"out of range\")");
  std::string text;
  const lang::ErrorsThrown thrown(in.checker());
  try {
    in.call(a[0], std::vector<Value>{}, a.span);
  } catch (const grammar::Error& e) {
    if (e.diagnostic.code == "interrupt") throw;
    if (e.diagnostic.code == "unknown") return {};  // only a run can tell
    text = e.diagnostic.message;                    // not the source line: it may hold the words themselves
    for (const std::string& note : e.diagnostic.notes) text += "\n" + note;
    for (const grammar::Fix& fix : e.diagnostic.fixes) text += "\n" + fix.advice + " " + fix.replacement;
  } catch (const runtime::RuntimeError& e) { text = e.what(); }
  in.context().pool().stop().ask();  // the end of the run is no error that is expected
  if (text.empty() && in.context().types_only()) return {};
  if (text.empty())
    in.fail("assert", a.span, "there was no error, one was expected" + (words.empty() ? "" : ": " + words));
  if (squeezed(text).find(squeezed(words)) == std::string::npos)
    in.fail("assert", a.span, "the error does not say \"" + words + "\"", {"it says: " + text});
  return {};
}

}  // namespace

void compare_close(Interpreter& in, const ArrayRef& got, const ArrayRef& want, double rtol, double atol,
                   grammar::Span span, const std::string& where) {
  const Shape &sx = got->type.shape, &sy = want->type.shape;
  if (sx != sy && !sx.empty() && !sy.empty())
    in.fail("assert", span,
            where + "shapes differ: " + runtime::to_string(got->type) + " and " + runtime::to_string(want->type));
  if (!got->has_elements() || !want->has_elements()) return;  // only a run can tell
  runtime::Pool& pool = in.context().pool();
  const ArrayRef x = runtime::to_host(pool, got), y = runtime::to_host(pool, want);
  const Shape& shape = sx.empty() ? sy : sx;
  // Of complex numbers both parts are compared, one after the other; the imaginary one of a real number is 0.
  const bool complex = runtime::is_complex(x->type.dtype) || runtime::is_complex(y->type.dtype);
  const std::int64_t parts = complex ? 2 : 1, n = runtime::numel(shape) * parts;
  std::int64_t wrong = 0, worst = -1;
  double worst_by = -1;
  const auto value = [parts](const ArrayRef& a, std::int64_t i) {
    const std::int64_t at = a->type.shape.empty() ? 0 : i / parts;
    if (runtime::is_complex(a->type.dtype)) return runtime::element_double(*runtime::parts_of(a), 2 * at + i % 2);
    return i % parts ? 0.0 : runtime::element_double(*a, at);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const double p = value(x, i), q = value(y, i);
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    const double by = std::fabs(p - q);
    if (by <= atol + rtol * std::fabs(q)) continue;
    ++wrong;
    if (worst < 0 || by > worst_by || std::isnan(by)) worst = i, worst_by = by;
  }
  if (wrong == 0) return;
  const auto text = [](double d) { return runtime::format_double(d); };
  std::vector<std::string> notes = {"tolerances: rtol " + text(rtol) + ", atol " + text(atol)};
  if (n > 1)
    notes.insert(notes.begin(), std::to_string(wrong) + " of " + std::to_string(n) +
                                    " elements differ by more than the tolerances allow");
  in.fail("assert", span,
          where + "values differ: " + text(value(x, worst)) + " and " + text(value(y, worst)) +
              index_text(shape, worst / parts) + ", by " + text(worst_by),
          notes);
}

void register_assertions(Interpreter& in) {
  const auto define = [&](std::string name, std::string signature, std::string doc, auto call) {
    lang::Native native{std::move(name), std::move(signature), std::move(doc), call};
    native.asserts = true;
    in.define(std::move(native));
  };
  define("assert", "assert(condition, message = none)",
         "Stops with an error where the condition is false. On a traced condition it acts when the program runs.",
         assert_true);
  define("assert_close", "assert_close(got, want, rtol = 1e-5, atol = 1e-6)",
         "Stops with an error where two numbers, arrays or trees differ by more than atol + rtol * abs(want) "
         "anywhere; nan equals nan.",
         assert_close);
  define("assert_error", "assert_error(f, words = none)",
         "Calls f(), which must end in an error whose text contains the words (blanks and case aside).", assert_error);
}

}  // namespace shard::stdlib
