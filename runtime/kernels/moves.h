// Copies of a few short stretches of bytes, or sums with what stands there, prepared: run with pointers only. Loops of
// small things are made of them.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

struct Moves {
  // An i32, or i64 where `wide`, that is read when this runs: a stretch begins so many times `apart` bytes further.
  struct Number {
    std::size_t operand;
    std::int64_t at;  // bytes
    bool wide;
    std::int64_t places, apart;
    Bounds outside;  // Drop: zeros are read, nothing is written; not Nan
  };
  struct Move {
    std::size_t operand;
    std::int64_t from, to;  // bytes
    std::size_t bytes;
    std::vector<Number> numbers = {};
    bool placed_in_result = false;  // by the numbers; else in the operand
    // What stands in the result and this many elements of the operand become what stands there; null: it is a copy.
    Loop combine = nullptr;
    std::int64_t elements = 0;
  };
  std::vector<Move> all;

  // Each of these adds what is said to what there is, or is false: that would be more than a few.
  // Elements of an operand from one on, to those of the result from one on.
  bool add(std::size_t operand, const View& in, std::int64_t first_in, const View& out, std::int64_t first_out);
  // Rows of an operand x [batch, before, n, inner] at the numbers of another [batch, m] -> out [batch, before, m,
  // inner].
  bool take(std::size_t operand, const View& x, std::size_t numbers, const View& index, const View& out,
            Bounds outside);
  // Rows of an operand v [batch, before, m, inner] to where the numbers say in out [batch, before, n, inner], in order.
  bool put(std::size_t operand, const View& v, std::size_t numbers, const View& index, const View& out,
           Scatter op = Scatter::Set);
  // All of an operand to the result, unless it is there already; both are dense. Of any size.
  void whole(std::size_t operand, const View& out) {
    all.push_back({operand, 0, 0, static_cast<std::size_t>(bytes_of(out.shape, size_of(out.dtype)))});
  }
  // The stretches from this one on are where a number says, besides.
  void place(std::size_t first, const Number& number, bool in_result);

  void operator()(void* const* in, void* const* out) const;

 private:
  bool rows(std::size_t operand, const View& in, std::size_t numbers, const View& index, const View& out,
            Bounds outside, bool placed_in_result);
};

}  // namespace shard::runtime
