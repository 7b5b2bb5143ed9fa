// Complex numbers taken apart and put together. Everything else about them is arithmetic of their parts
// (stdlib/ops/complex.cpp), so these are the only loops that see them.
#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {
namespace {

template <class T, int Part>
void part(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const T* x = static_cast<const T*>(a);
  T* o = static_cast<T*>(out);
  for (std::int64_t i = 0; i < n; ++i) o[i] = x[2 * i + Part];
}

template <class T>
void together(const void* a, const void* b, const void*, void* out, std::int64_t n) {
  const T *re = static_cast<const T*>(a), *im = static_cast<const T*>(b);
  T* o = static_cast<T*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) o[2 * i] = re[i], o[2 * i + 1] = im[i];
}

template <class T>
Loop loop_of(Code code) {
  return code == Code::Real ? part<T, 0> : code == Code::Imag ? part<T, 1> : together<T>;
}

}  // namespace

Loop loop_complex(Code code, DType type) {
  switch (type) {
    case DType::C64:
    case DType::C128:
      if (code == Code::Complex) return nullptr;
      break;
    case DType::F8E4M3:
    case DType::F8E5M2:
    case DType::F16:
    case DType::BF16:
    case DType::F32:
    case DType::F64:
      if (code != Code::Complex) return nullptr;
      break;
    default: return nullptr;
  }
  return type == DType::C128 || type == DType::F64 ? loop_of<double>(code) : loop_of<float>(code);
}

}  // namespace shard::runtime::SHARD_ISA
