// A spec written in place that does not fit its array: names that are near, an axis once, as many entries as dimensions,
// and no axis that does not divide.
#pragma once
#include "interpreter/lang/impl.h"

namespace shard::lang {

// `e`: a `shard` expression whose `spec` failed on `value`; `mesh`: the one it names, or null.
void mend_shard(Interpreter::Impl& m, grammar::Error& error, const grammar::Expr& e, const Value& value,
                const Value& spec, const runtime::MeshRef& mesh);

}  // namespace shard::lang
