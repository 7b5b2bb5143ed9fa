// Constraints that would make a call send less, with results laid out as before and at most half as much work again:
// the call is partitioned again with each of them, in memory, and nothing runs. Candidates are the values next to its
// costliest collectives, as the reasons of these name them (ir/why.h).
#pragma once
#include <string>
#include <vector>

#include "interpreter/lang/staging/jit.h"

namespace shard::lang {

// Layouts worth trying for a value: its own first, then with at most two axes, each on one dimension that it divides,
// then none.
std::vector<runtime::Sharding> candidate_layouts(const runtime::Type& type, const runtime::Mesh& mesh);

struct Advice {
  // What is to be written: "line 7: (shard q @ w as P(@X))", or of an argument "first: let q = shard q as P()". All of
  // them together.
  std::vector<std::string> constraints;
  // Bytes that a device sends, in rings. Written into the script a constraint holds for the gradient of its value too,
  // which is not tried here.
  std::int64_t before = 0, after = 0;
  double work = 1;  // that all devices do, against before
  std::size_t tried = 0;
  bool in_time = true;  // false: the time was up before all were tried
};
Advice advise(Interpreter& in, const CompiledCall& call);
std::string advice_text(const Advice& advice);

}  // namespace shard::lang
