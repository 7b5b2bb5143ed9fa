// The table of this instruction set.
#include "runtime/kernels/vector/parts.h"

#define SHARD_TEXT(x) #x
#define SHARD_NAME(x) SHARD_TEXT(x)

namespace shard::runtime::SHARD_ISA {
namespace {

Loop loop(Code code, DType type) {
  if (code == Code::Select) return SHARD_LOOPS::loop_select(type);
  switch (type) {
    case DType::F16:
    case DType::BF16:
    case DType::F32: return loop_f32(code);
    case DType::F64: return SHARD_LOOPS::loop_f64(code);
    case DType::Bool: return SHARD_LOOPS::loop_bool(code);
    default: return SHARD_LOOPS::loop_integer(code, type);
  }
}

}  // namespace

const VectorTable& table() {
  static constexpr VectorTable it{SHARD_NAME(SHARD_ISA),
                                  loop,
                                  SHARD_LOOPS::convert,
                                  SHARD_LOOPS::round_f16,
                                  SHARD_LOOPS::round_bf16,
                                  SHARD_LOOPS::load_f16,
                                  SHARD_LOOPS::load_bf16,
                                  SHARD_LOOPS::store_f16,
                                  SHARD_LOOPS::store_bf16,
                                  SHARD_LOOPS::run,
                                  SHARD_LOOPS::accumulate,
                                  threefry,
                                  gemm_f32,
                                  gemm_f64};
  return it;
}

}  // namespace shard::runtime::SHARD_ISA
