#include "runtime/kernels/moves.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/spread.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kMost = 8, kLongest = 4096;  // stretches; bytes of one

void move(void* to, const void* from, std::size_t bytes) {
  constexpr std::int64_t kPiece = 1 << 20;
  switch (bytes) {  // of one number the copy is two instructions
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    default:
      if (to == from) return;
      spread(static_cast<std::int64_t>(bytes), kPiece, [&](std::int64_t lo, std::int64_t hi) {
        std::memcpy(static_cast<char*>(to) + lo, static_cast<const char*>(from) + lo,
                    static_cast<std::size_t>(hi - lo));
      });
  }
}

// The place that a number says, or -1.
std::int64_t said_by(const Moves::Number& n, void* const* in) {
  const char* const at = static_cast<const char*>(in[n.operand]) + n.at;
  std::int64_t i;
  if (n.wide) {
    std::memcpy(&i, at, sizeof i);
  } else {
    std::int32_t narrow;
    std::memcpy(&narrow, at, sizeof narrow);
    i = narrow;
  }
  if (n.outside == Bounds::Drop) return i >= 0 && i < n.places ? i : -1;
  if (n.outside == Bounds::Folded && i < 0) i = -1 - i;
  return std::clamp<std::int64_t>(i, 0, n.places - 1);
}

}  // namespace

bool Moves::add(std::size_t operand, const View& in, std::int64_t first_in, const View& out, std::int64_t first_out) {
  if (numel(out.shape) == 0) return true;
  enum { kIn, kOut };
  Nest<2> nest;
  for (std::size_t d = 0; d < out.shape.size(); ++d) nest.add(out.shape[d], {in.strides[d], out.strides[d]});
  const auto item = static_cast<std::int64_t>(size_of(out.dtype));
  const bool dense = nest.rank > 0 && nest.stride[kIn][nest.rank - 1] == 1 && nest.stride[kOut][nest.rank - 1] == 1;
  const int outer = nest.rank - (dense ? 1 : 0);
  const std::int64_t line = (dense ? nest.size[outer] : 1) * item, lines = nest.count(outer);
  if (static_cast<std::int64_t>(all.size()) + lines > kMost || line > kLongest) return false;
  Position<2> p(nest, outer, 0);
  for (std::int64_t i = 0; i < lines; ++i, p.next())
    all.push_back({operand, (first_in + p.offset[kIn]) * item, (first_out + p.offset[kOut]) * item,
                   static_cast<std::size_t>(line)});
  return true;
}

bool Moves::rows(std::size_t operand, const View& in, std::size_t numbers, const View& index, const View& out,
                 Bounds outside, bool placed_in_result) {
  const View& placed = placed_in_result ? out : in;
  if (placed.shape[2] == 0 || outside == Bounds::Nan) return false;
  const auto item = static_cast<std::int64_t>(size_of(out.dtype)),
             word = static_cast<std::int64_t>(size_of(index.dtype));
  for (std::int64_t b = 0; b < index.shape[0]; ++b)
    for (std::int64_t j = 0; j < index.shape[1]; ++j) {
      const auto first = [&](const View& v) { return b * v.strides[0] + (&v == &placed ? 0 : j * v.strides[2]); };
      const auto block = [](const View& v) {
        return View{v.dtype, {v.shape[1], v.shape[3]}, {v.strides[1], v.strides[3]}, nullptr};
      };
      const std::size_t before = all.size();
      if (!add(operand, block(in), first(in), block(out), first(out))) return false;
      const Number number{numbers,
                          (b * index.strides[0] + j * index.strides[1]) * word,
                          index.dtype == DType::I64,
                          placed.shape[2],
                          placed.strides[2] * item,
                          outside};
      place(before, number, placed_in_result);
    }
  return true;
}

void Moves::place(std::size_t first, const Number& number, bool in_result) {
  for (std::size_t i = first; i < all.size(); ++i)
    all[i].numbers.push_back(number), all[i].placed_in_result = in_result;
}

bool Moves::take(std::size_t operand, const View& x, std::size_t numbers, const View& index, const View& out,
                 Bounds outside) {
  return rows(operand, x, numbers, index, out, outside, false);
}

bool Moves::put(std::size_t operand, const View& v, std::size_t numbers, const View& index, const View& out,
                Scatter op) {
  const std::size_t before = all.size();
  Loop combine = nullptr;
  if (op != Scatter::Set) {
    const bool known = op == Scatter::Add || op == Scatter::Mul;  // of others there is more to say about nan
    const bool held = out.dtype == DType::F32 || out.dtype == DType::F64 || out.dtype == DType::I32 ||
                      out.dtype == DType::I64;  // as they are computed
    if (known && held) combine = vector_table().loop(op == Scatter::Add ? Code::Add : Code::Mul, out.dtype);
    if (!combine) return false;
  }
  if (!rows(operand, v, numbers, index, out, Bounds::Drop, true)) return false;
  for (std::size_t i = before; i < all.size(); ++i)
    all[i].combine = combine, all[i].elements = static_cast<std::int64_t>(all[i].bytes / size_of(out.dtype));
  return true;
}

void Moves::operator()(void* const* in, void* const* out) const {
  for (const Move& m : all) {
    std::int64_t placed = 0;
    bool there = true;
    for (const Number& n : m.numbers) {
      const std::int64_t i = said_by(n, in);
      there = there && i >= 0;
      placed += i * n.apart;
    }
    const char* const from = static_cast<const char*>(in[m.operand]) + m.from;
    char* const to = static_cast<char*>(*out) + m.to;
    if (!there && !m.placed_in_result)
      std::memset(to, 0, m.bytes);
    else if (there && m.combine)
      m.combine(to + placed, from, nullptr, to + placed, m.elements);
    else if (there)
      move(m.placed_in_result ? to + placed : to, m.placed_in_result ? from : from + placed, m.bytes);
  }
}

}  // namespace shard::runtime
