// The table of this instruction set.
#include "runtime/kernels/vector/common.h"

#define SHARD_TEXT(x) #x
#define SHARD_NAME(x) SHARD_TEXT(x)

namespace shard::runtime::SHARD_ISA {
namespace {

Loop loop(Code code, DType type) {
  if (code == Code::Select && type != DType::C64 && type != DType::C128) return SHARD_LOOPS::loop_select(type);
  if (code == Code::Real || code == Code::Imag || code == Code::Complex) return SHARD_LOOPS::loop_complex(code, type);
  switch (type) {
    case DType::C64:
    case DType::C128: return nullptr;
    case DType::F8E4M3:
    case DType::F8E5M2:
    case DType::F16:
    case DType::BF16:
    case DType::F32: return loop_f32(code);
    case DType::F64: return SHARD_LOOPS::loop_f64(code);
    case DType::Bool: return SHARD_LOOPS::loop_bool(code);
    default: return SHARD_LOOPS::loop_integer(code, type == DType::I4 ? DType::I8 : type);
  }
}

}  // namespace

const VectorTable& table() {
#if defined(__AVX512F__)
  const auto bf16 = __builtin_cpu_supports("avx512bf16") ? gemm_bf16 : nullptr;
#else
  constexpr void (*bf16)(const Gemm&) = nullptr;
#endif
  static const VectorTable it{SHARD_NAME(SHARD_ISA),
                              loop,
                              SHARD_LOOPS::convert,
                              SHARD_LOOPS::narrow,
                              SHARD_LOOPS::run,
                              SHARD_LOOPS::lines,
                              SHARD_LOOPS::add_rows,
                              SHARD_LOOPS::places,
                              SHARD_LOOPS::every,
                              kVectorBytes > 16 ? kVectorBytes / 4 : 0,
                              short_groups,
                              joined_lines,
                              SHARD_LOOPS::turned,
                              threefry,
                              gemm_f32,
                              gemm_f64,
                              bf16,
                              gemm_u32,
                              gemm_small_f32,
                              gemm_small_f64,
                              kSmallProduct,
                              kPackedAlike,
                              fourier_f32,
                              fourier_f64,
                              fourier_halves_f32,
                              fourier_halves_f64};
  return it;
}

}  // namespace shard::runtime::SHARD_ISA
