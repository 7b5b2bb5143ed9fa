// Inputs that exercise an operation, as text beside its row; read only where somebody asks (tests, help). One sample
// after the other, with `;` between them: operands (a type, and where its numbers lie), then attributes.
//
//   "[4, 6]; [2, 4, 6] 0.5..2 axis=-1; i32[4] 0..3 f64[] mode='full' shape=[4, 6] widths=[(1, 0), (2, 2)] dtype=i8"
//
// A type without a name is f32; numbers lie in -1..1 (f32), -4..5 (i32) or 0..4 where nothing is said, integers below
// the upper end; `whole` is kWhole; a number with a point is a double.
#pragma once
#include <vector>

#include "interpreter/ir/attrs.h"
#include "interpreter/ir/op.h"

namespace shard::ir {

struct SampleOperand {
  runtime::DType dtype = runtime::DType::F32;
  runtime::Shape shape;
  double low = -1, high = 1;  // uniform numbers (integers: in [low, high))
};
struct Sample {
  std::vector<SampleOperand> operands;
  Attrs attrs;
};
std::vector<Sample> samples_of(const OpDef& row);  // throws std::logic_error naming what it cannot read

}  // namespace shard::ir
