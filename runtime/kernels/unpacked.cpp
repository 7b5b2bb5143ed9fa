#include "runtime/kernels/unpacked.h"

#include <algorithm>

#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kLeastRows = 8;              // a kernel's, or it would make some again
constexpr std::int64_t kMore = 3;                   // as many bytes of `w` as in other products: x would be copied
constexpr std::int64_t kMultiplications = 1 << 19;  // multiplications that a task should do

std::int64_t all_terms(const Unpacked& p) { return p.terms * static_cast<std::int64_t>(p.parts.size()); }

}  // namespace

bool unpacked_pays(const Unpacked& p) {
  const bool wide = p.type == DType::F64;
  const std::int64_t item = wide ? 8 : 4;
  return (wide || p.type == DType::F32) && p.rows >= kLeastRows && p.columns * item >= 16 &&
         p.columns * all_terms(p) * item <= kMore * vector_table().small;
}

void multiply_unpacked(const Unpacked& p, const void* a, const void* w, void* c, const Stop* stop) {
  Nest<3> nest;
  for (const auto& d : p.around) nest.add(d.size, {d.a, d.w, d.c});
  const bool wide = p.type == DType::F64;
  const auto kernel = wide ? vector_table().gemm_small_f64 : vector_table().gemm_small_f32;
  const std::int64_t item = wide ? 8 : 4, terms = all_terms(p), each = p.columns * terms,
                     rows = std::min(p.rows, (kMultiplications / each / 64 + 1) * 64),
                     blocks = (p.rows + rows - 1) / rows;
  const auto part_count = static_cast<std::int64_t>(p.parts.size());
  spread(
      nest.count(nest.rank) * blocks, std::max<std::int64_t>(1, kMultiplications / (rows * each)),
      [&](std::int64_t lo, std::int64_t hi) {
        Position<3> at(nest, nest.rank, lo / blocks);
        for (std::int64_t i = lo; i < hi; ++i) {
          if (i > lo && i % blocks == 0) at.next();
          const std::int64_t row = i % blocks * rows;
          const auto from = [&](auto* data, std::int64_t offset) { return data + offset * item; };
          kernel({std::min(rows, p.rows - row), p.columns, terms,
                  from(static_cast<const unsigned char*>(a), at.offset[0] + row * p.a_row), p.a_row, p.a_term,
                  from(static_cast<const unsigned char*>(w), at.offset[1]), p.w_row, 1,
                  from(static_cast<unsigned char*>(c), at.offset[2] + row * p.c_row), p.c_row, p.parts.data(),
                  part_count});
        }
      },
      stop);
}

}  // namespace shard::runtime
