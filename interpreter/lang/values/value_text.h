// Values as text: what `print` shows, what the REPL shows, and what "{value:format}" makes. Called by the evaluator
// (interpolation), by print and error messages, and by the REPL. Arrays are brought to the host with the engine's pool.
#pragma once
#include <string>
#include <string_view>

#include "interpreter/lang/values/value.h"

namespace shard::lang {

std::string show(const Value& v, runtime::Pool& pool);  // as print: strings bare, also inside containers
std::string repr(const Value& v,
                 runtime::Pool& pool);  // as the REPL: strings in quotes, so that it can be written again
std::string show(const runtime::ArrayRef& a, runtime::Pool& pool);
std::string show(const Spec& spec);              // P(@X, _) with trailing `_` dropped, unreduced and reduced axes
std::string show(const Axis& axis);              // @X, @(a, b)
std::string header(const grammar::Function& f);  // jit fn f(x, scale = 2.0)
std::string quoted(std::string_view text);       // "a\nb", with escapes

// Python's format mini-language (format_spec.h). Arrays of rank 0 format as their number. Throws
// RuntimeError("format").
std::string format_value(const Value& v, std::string_view spec, runtime::Pool& pool);
std::string format_value(const runtime::ArrayRef& a, std::string_view spec, runtime::Pool& pool);

// Strings whose parts only a run has: appends what `v` shows (with this format) to `to`; traced arrays, also inside
// containers and strings, become its values. `to.texts` is kept one longer than `to.values`.
bool has_traced(const Value& v);
void append_shown(DeferredString& to, const Value& v, std::string_view spec, runtime::Pool& pool);
inline constexpr std::string_view kLayoutFormat = "@sharding";  // a format that shows the layout of the value instead

}  // namespace shard::lang
