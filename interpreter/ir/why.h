// Why a collective stands where nobody wrote one: what was there, who wanted it otherwise, and what met. The
// partitioner fills it in, the builder hangs it on the collectives that come of it (attribute `why`), and who tells
// people of them reads it (transform/communication, lang/staging/why).
#pragma once
#include <vector>

#include "interpreter/ir/attrs.h"
#include "interpreter/ir/origin.h"
#include "runtime/mesh/type.h"

namespace shard::ir {

struct OpDef;

struct Why {
  struct Value {
    runtime::Type type;  // whole, with its layout over all axes
    Origin made;         // of the node that made it; of no source: an argument
    int argument = -1;   // which of the call's
  };
  Value value;                // as it was there
  runtime::Type wanted;       // as it was wanted
  const OpDef* by = nullptr;  // who wanted it; null: it is a result
  grammar::Span where;        // of that
  std::vector<Value> beside;  // what it met there: the other operands
  std::vector<Value> terms;   // where a sum was unreduced: the operands that met and left it
  bool product = false;       // of these terms, formed at once
};

}  // namespace shard::ir
