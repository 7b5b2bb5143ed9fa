// Parts of an array laid over each other and added, as the transpose of cutting windows needs it.
#include <algorithm>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/types.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kOverlapWork = 16 * 1024;  // elements that a task should add

template <class T>
void add_part(const Nest<2>& part, const T* in, T* out) {
  if (part.rank == 0) {
    *out = from_compute<T>(add_wrapped(to_compute(*out), to_compute(*in)));
    return;
  }
  const int last = part.rank - 1;
  const std::int64_t n = part.size[last], in_step = part.stride[0][last], out_step = part.stride[1][last];
  Position<2> at(part, last, 0);
  for (std::int64_t line = part.count(last); line > 0; --line, at.next()) {
    const T* from = in + at.offset[0];
    T* to = out + at.offset[1];
    if (in_step == 1 && out_step == 1)
      for (std::int64_t i = 0; i < n; ++i) to[i] = from_compute<T>(add_wrapped(to_compute(to[i]), to_compute(from[i])));
    else
      for (std::int64_t i = 0; i < n; ++i) {
        T& sum = to[i * out_step];
        sum = from_compute<T>(add_wrapped(to_compute(sum), to_compute(from[i * in_step])));
      }
  }
}

}  // namespace

Overlap::Overlap(const View& in, const View& out, int lead, std::span<const Part> parts) : type_(out.dtype) {
  if (type_ == DType::Bool || type_ == DType::Key)
    throw RuntimeError("kernel", "nothing is added of " + std::string(name(type_)));
  for (int d = 0; d < lead; ++d) entries_.add(out.shape[d], {in.strides[d], out.strides[d]});
  each_ = 1;
  for (int d = lead; d < out.rank(); ++d) each_ *= out.shape[d];
  for (const Part& p : parts) {
    Piece piece{p.in_offset, p.out_offset, {}};
    for (std::size_t d = 0; d < p.shape.size(); ++d) piece.nest.add(p.shape[d], {p.in[d], p.out[d]});
    work_ += numel(p.shape);
    if (numel(p.shape) > 0) pieces_.push_back(piece);
  }
}

void Overlap::run(const void* in, void* out) const {
  const std::int64_t grain = std::max<std::int64_t>(1, kOverlapWork / std::max<std::int64_t>(1, work_ + each_));
  visit(type_, [&](auto t) {
    using T = decltype(t);
    spread(entries_.count(entries_.rank), grain, [&](std::int64_t from, std::int64_t to) {
      Position<2> at(entries_, entries_.rank, from);
      for (std::int64_t i = from; i < to; ++i, at.next()) {
        T* result = static_cast<T*>(out) + at.offset[1];
        std::fill_n(result, each_, T{});
        for (const Piece& p : pieces_)
          add_part(p.nest, static_cast<const T*>(in) + at.offset[0] + p.in_offset, result + p.out_offset);
      }
    });
  });
}

}  // namespace shard::runtime
