// Matrix products whose left operand is read where it lies, though its rows lie over each other or its terms in parts
// apart, as those of windows do: a small kernel reads each element once for several columns, which takes less than
// copying it first.
#pragma once
#include <vector>

#include "runtime/array/dtype.h"
#include "runtime/array/stop.h"

namespace shard::runtime {

struct Unpacked {
  struct Around {
    std::int64_t size, a, w, c;
  };
  DType type;
  std::int64_t rows, columns, terms;         // of one product
  std::int64_t a_row, a_term, w_row, c_row;  // columns lie side by side
  std::vector<std::int64_t> parts;           // of `terms` each: where they begin in a row of `a`
  std::vector<Around> around;                // products of this kind, and the steps between them
};

bool unpacked_pays(const Unpacked& p);  // false as well where there is no such kernel
void multiply_unpacked(const Unpacked& p, const void* a, const void* w, void* c, const Stop* stop);

}  // namespace shard::runtime
