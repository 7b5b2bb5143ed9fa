// Tensors: the type of a value, concrete or traced.
#include "interpreter/trace/tensor.h"

#include "interpreter/trace/context.h"

namespace shard::trace {

const runtime::Type& Tensor::type() const {
  if (!valid()) throw runtime::RuntimeError("unknown", "this value is known only in a run");
  if (!frame_) return array_->type;
  return frame_->done ? frame_->done->type(var_) : frame_->builder.type(var_);
}

}  // namespace shard::trace
