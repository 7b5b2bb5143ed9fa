// Views: row-major ones and the test for them; strides of broadcasts, transpositions and reshapes; single elements.
#include "runtime/array/view.h"

#include <algorithm>

#include "runtime/array/half.h"

namespace shard::runtime {

View contiguous(DType dtype, Shape shape, void* data) {
  Strides strides = row_major(shape);
  return View{dtype, std::move(shape), std::move(strides), data};
}

// Strides of dimensions of size 1 mean nothing, and an array without elements is contiguous.
bool is_contiguous(const View& v) {
  std::int64_t step = 1;
  bool dense = true;
  for (std::size_t i = v.shape.size(); i-- > 0;) {
    if (v.shape[i] == 0) return true;
    if (v.shape[i] == 1) continue;
    dense = dense && v.strides[i] == step;
    step *= v.shape[i];
  }
  return dense;
}

bool all_alike(const View& v) {
  return std::all_of(v.strides.begin(), v.strides.end(), [](std::int64_t s) { return s == 0; });
}

Strided broadcast(const Strided& x, const Shape& shape) {
  const std::size_t extra = shape.size() - x.shape.size();
  Strided out{shape, Strides(shape.size(), 0), x.offset};
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] == shape[extra + d]) out.strides[extra + d] = x.strides[d];
  return out;
}

Strided permuted(const Strided& x, const std::vector<int>& perm) {
  Strided out{{}, {}, x.offset};
  for (int d : perm) {
    out.shape.push_back(x.shape[static_cast<std::size_t>(d)]);
    out.strides.push_back(x.strides[static_cast<std::size_t>(d)]);
  }
  return out;
}

std::optional<Strided> reshaped(const Strided& x, const Shape& shape) {
  Strided out{shape, Strides(shape.size(), 0), x.offset};
  if (numel(shape) == 0) return out;
  // The old dimensions are gathered into runs that step evenly; each run is then cut into new dimensions.
  struct Run {
    std::int64_t size, stride;
  };
  std::vector<Run> runs;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (x.shape[d] == 1) continue;
    if (!runs.empty() && runs.back().stride == x.shape[d] * x.strides[d])
      runs.back() = {runs.back().size * x.shape[d], x.strides[d]};
    else
      runs.push_back({x.shape[d], x.strides[d]});
  }
  std::size_t d = 0;
  for (const Run& run : runs) {
    std::int64_t left = run.size;
    while (left > 1) {
      while (d < shape.size() && shape[d] == 1) ++d;
      if (d == shape.size() || left % shape[d]) return std::nullopt;
      left /= shape[d];
      out.strides[d] = left * run.stride;
      ++d;
    }
  }
  return out;
}

double element_double(DType dtype, const void* p) {
  switch (dtype) {
    case DType::F16: return f16_to_f32(*static_cast<const std::uint16_t*>(p));
    case DType::BF16: return bf16_to_f32(*static_cast<const std::uint16_t*>(p));
    case DType::F8E4M3: return e4m3_to_f32(*static_cast<const std::uint8_t*>(p));
    case DType::F8E5M2: return e5m2_to_f32(*static_cast<const std::uint8_t*>(p));
    case DType::C64:  // the real part
    case DType::F32: return *static_cast<const float*>(p);
    case DType::C128:
    case DType::F64: return *static_cast<const double*>(p);
    case DType::U64: return static_cast<double>(*static_cast<const std::uint64_t*>(p));
    default: return static_cast<double>(element_int(dtype, p));
  }
}

std::int64_t element_int(DType dtype, const void* p) {
  switch (dtype) {
    case DType::Bool:
    case DType::U8: return *static_cast<const std::uint8_t*>(p);
    case DType::I4:
    case DType::I8: return *static_cast<const std::int8_t*>(p);
    case DType::I16: return *static_cast<const std::int16_t*>(p);
    case DType::U16: return *static_cast<const std::uint16_t*>(p);
    case DType::I32: return *static_cast<const std::int32_t*>(p);
    case DType::U32: return *static_cast<const std::uint32_t*>(p);
    case DType::I64:
    case DType::U64:
    case DType::Key: return *static_cast<const std::int64_t*>(p);
    default: break;
  }
  const double x = element_double(dtype, p);  // a float is cut off and clamped, nan is 0
  if (!(x == x)) return 0;
  if (x >= 0x1p63) return INT64_MAX;
  if (x < -0x1p63) return INT64_MIN;
  return static_cast<std::int64_t>(x);
}

void store_element(DType t, double value, std::int64_t integer, void* at) {
  const std::uint64_t word = static_cast<std::uint64_t>(integer);
  switch (t) {
    case DType::Bool: *static_cast<std::uint8_t*>(at) = integer != 0; return;
    case DType::F16: *static_cast<std::uint16_t*>(at) = f32_to_f16(f64_to_f32_odd(value)); return;
    case DType::BF16: *static_cast<std::uint16_t*>(at) = f32_to_bf16(f64_to_f32_odd(value)); return;
    case DType::F32: *static_cast<float*>(at) = static_cast<float>(value); return;
    case DType::F64: *static_cast<double*>(at) = value; return;
    case DType::F8E4M3: *static_cast<std::uint8_t*>(at) = f32_to_e4m3(f64_to_f32_odd(value)); return;
    case DType::F8E5M2: *static_cast<std::uint8_t*>(at) = f32_to_e5m2(f64_to_f32_odd(value)); return;
    case DType::I4: *static_cast<std::int8_t*>(at) = to_i4(static_cast<std::int8_t>(integer)); return;
    case DType::C64: static_cast<float*>(at)[0] = static_cast<float>(value), static_cast<float*>(at)[1] = 0; return;
    case DType::C128: static_cast<double*>(at)[0] = value, static_cast<double*>(at)[1] = 0; return;
    default: break;
  }
  switch (size_of(t)) {
    case 1: *static_cast<std::uint8_t*>(at) = static_cast<std::uint8_t>(word); return;
    case 2: *static_cast<std::uint16_t*>(at) = static_cast<std::uint16_t>(word); return;
    case 4: *static_cast<std::uint32_t*>(at) = static_cast<std::uint32_t>(word); return;
    default: *static_cast<std::uint64_t*>(at) = word; return;
  }
}

}  // namespace shard::runtime
