#include "interpreter/lang/values/traced_range.h"

namespace shard::lang {

bool only_a_run_knows(const Value& v) {
  const trace::Tensor* t = v.get<trace::Tensor>();
  return t && t->traced() && !t->known() && t->type().shape.empty() && runtime::is_integer(t->type().dtype);
}

std::optional<Value> TracedRange::next(Interpreter&) {
  throw runtime::RuntimeError("traced",
                              "how long this range is, only a run knows: `for` goes through it, and nothing else");
}

}  // namespace shard::lang
