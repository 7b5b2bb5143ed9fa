// Small owning arrays for the tests of kernels, and a slow walk over any view.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <new>
#include <random>
#include <vector>

#include "runtime/array/half.h"
#include "runtime/array/view.h"

namespace shard::runtime::test {

struct Array {
  DType dtype;
  Shape shape;
  std::vector<unsigned char> bytes;
  Array(DType t, Shape s)
      : dtype(t), shape(std::move(s)), bytes(static_cast<std::size_t>(numel(shape)) * size_of(t) + 64) {}
  View view() { return contiguous(dtype, shape, bytes.data()); }
  void* data() { return bytes.data(); }
  std::int64_t size() const { return numel(shape); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

// Memory whose end nobody reads beyond.
class Guarded {
 public:
  explicit Guarded(std::size_t pages)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        room_(pages * page_),
        data_(static_cast<char*>(
            mmap(nullptr, room_ + page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (data_ == MAP_FAILED || mprotect(data_ + room_, page_, PROT_NONE) != 0) throw std::bad_alloc();
  }
  ~Guarded() { munmap(data_, room_ + page_); }
  Guarded(const Guarded&) = delete;
  float* begin() const { return reinterpret_cast<float*>(data_); }
  float* end() const { return reinterpret_cast<float*>(data_ + room_); }

 private:
  std::size_t page_, room_;
  char* data_;
};

inline double get(const View& v, std::int64_t at) {
  switch (v.dtype) {
    case DType::Bool:
    case DType::U8: return v.as<std::uint8_t>()[at];
    case DType::I8: return v.as<std::int8_t>()[at];
    case DType::I16: return v.as<std::int16_t>()[at];
    case DType::U16: return v.as<std::uint16_t>()[at];
    case DType::I32: return v.as<std::int32_t>()[at];
    case DType::U32: return v.as<std::uint32_t>()[at];
    case DType::I64: return static_cast<double>(v.as<std::int64_t>()[at]);
    case DType::U64:
    case DType::Key: return static_cast<double>(v.as<std::uint64_t>()[at]);
    case DType::F16: return f16_to_f32(v.as<std::uint16_t>()[at]);
    case DType::BF16: return bf16_to_f32(v.as<std::uint16_t>()[at]);
    case DType::F32: return v.as<float>()[at];
    case DType::F64: return v.as<double>()[at];
    case DType::F8E4M3: return e4m3_to_f32(v.as<std::uint8_t>()[at]);
    case DType::F8E5M2: return e5m2_to_f32(v.as<std::uint8_t>()[at]);
    case DType::I4: return v.as<std::int8_t>()[at];
    case DType::C64: return v.as<float>()[2 * at];
    case DType::C128: return v.as<double>()[2 * at];
  }
  return 0;
}
inline void set(const View& v, std::int64_t at, double x) {
  switch (v.dtype) {
    case DType::Bool: v.as<std::uint8_t>()[at] = x != 0; return;
    case DType::U8: v.as<std::uint8_t>()[at] = static_cast<std::uint8_t>(x); return;
    case DType::I8: v.as<std::int8_t>()[at] = static_cast<std::int8_t>(x); return;
    case DType::I16: v.as<std::int16_t>()[at] = static_cast<std::int16_t>(x); return;
    case DType::U16: v.as<std::uint16_t>()[at] = static_cast<std::uint16_t>(x); return;
    case DType::I32: v.as<std::int32_t>()[at] = static_cast<std::int32_t>(x); return;
    case DType::U32: v.as<std::uint32_t>()[at] = static_cast<std::uint32_t>(x); return;
    case DType::I64: v.as<std::int64_t>()[at] = static_cast<std::int64_t>(x); return;
    case DType::U64:
    case DType::Key: v.as<std::uint64_t>()[at] = static_cast<std::uint64_t>(x); return;
    case DType::F16: v.as<std::uint16_t>()[at] = f32_to_f16(f64_to_f32_odd(x)); return;
    case DType::BF16: v.as<std::uint16_t>()[at] = f32_to_bf16(f64_to_f32_odd(x)); return;
    case DType::F32: v.as<float>()[at] = static_cast<float>(x); return;
    case DType::F64: v.as<double>()[at] = x; return;
    case DType::F8E4M3: v.as<std::uint8_t>()[at] = f32_to_e4m3(f64_to_f32_odd(x)); return;
    case DType::F8E5M2: v.as<std::uint8_t>()[at] = f32_to_e5m2(f64_to_f32_odd(x)); return;
    case DType::I4: v.as<std::int8_t>()[at] = to_i4(static_cast<std::int8_t>(x)); return;
    case DType::C64: v.as<float>()[2 * at] = static_cast<float>(x), v.as<float>()[2 * at + 1] = 0; return;
    case DType::C128: v.as<double>()[2 * at] = x, v.as<double>()[2 * at + 1] = 0; return;
  }
}

// f(index) for every index of the shape, in row-major order.
inline void each_index(const Shape& shape, const std::function<void(const Shape&)>& f) {
  if (numel(shape) == 0) return;
  Shape at(shape.size(), 0);
  while (true) {
    f(at);
    std::size_t d = shape.size();
    while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}
inline std::int64_t offset(const View& v, const Shape& at) {
  std::int64_t o = 0;
  for (std::size_t i = 0; i < at.size(); ++i) o += at[i] * v.strides[i];
  return o;
}
inline double at(const View& v, const Shape& index) { return get(v, offset(v, index)); }

inline Array random_array(DType t, Shape shape, unsigned seed, double scale = 1) {
  Array a(t, std::move(shape));
  std::mt19937 rng(seed);
  std::normal_distribution<double> normal(0, scale);
  std::uniform_int_distribution<int> small(is_signed(t) ? -9 : 0, 9);
  const View v = a.view();
  for (std::int64_t i = 0; i < a.size(); ++i)
    set(v, i, is_float(t) ? normal(rng) : t == DType::Bool ? small(rng) % 2 : small(rng));
  return a;
}

inline const std::vector<DType>& number_types() {
  static const std::vector<DType> all{DType::Bool, DType::I8,  DType::I16, DType::I32, DType::I64,
                                      DType::U8,   DType::U16, DType::U32, DType::U64, DType::F16,
                                      DType::BF16, DType::F32, DType::F64};
  return all;
}

}  // namespace shard::runtime::test
