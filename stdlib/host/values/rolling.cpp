// roll: by shifts that are known the row of that name; by one that only a run has, the row that cuts a window out.
#include <algorithm>

#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

bool only_in_a_run(const Value& v) {
  if (const auto* items = v.items()) return std::any_of(items->begin(), items->end(), only_in_a_run);
  return v.is_tensor() && v.tensor().traced() && !v.tensor().known();
}

Value roll(Interpreter& in, BoundArgs& a) {
  std::vector<CallArg> args{{"", a[0], a.args[0].span}, {"", a[1], a.args[1].span}};
  if (!a[2].is_none()) args.push_back({"axis", a[2], a.args[2].span});
  return call_row(in, only_in_a_run(a[1]) ? "roll_by" : "roll", std::move(args), a.span);
}

}  // namespace

void register_rolling(Interpreter& in) {
  in.define({"roll", "roll(x, shift, axis = none)",
             "The elements moved on along an axis, or several; what falls off comes in at the front.", roll});
}

}  // namespace shard::stdlib
