// What stands in for a value while a script is checked without being run (see eval/hooks.h): a value of which nothing
// is known, and sizes that depend on data.
#pragma once
#include "grammar/diagnostic.h"
#include "interpreter/lang/values/value.h"

namespace shard::lang {

// Of a name whose declaration failed. Reading it ends the statement without a second error.
inline Value nothing() { return Value(trace::Tensor()); }
inline bool is_nothing(const Value& v) { return v.is_tensor() && !v.tensor().valid(); }
[[noreturn]] inline void only_in_a_run(grammar::Span span) {
  throw grammar::Error("unknown", span, "this value is known only in a run");
}

using runtime::is_unknown_size;
using runtime::kUnknownSize;
inline bool is_size_of_data(const Value& v) {
  const auto* n = v.get<std::int64_t>();
  return n && runtime::is_unknown_size(*n);
}

}  // namespace shard::lang
