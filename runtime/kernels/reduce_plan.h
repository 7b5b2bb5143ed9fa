// The loops of one reduction of one element type, and the tree that joins what runs of elements give. Narrow floats
// accumulate in f32. Shared by reductions.cpp (within a block), blocks.cpp (over blocks) and element_program.cpp (of
// rows) only.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

struct ReducePlan {
  DType type;              // of memory
  std::size_t item, wide;  // bytes in memory, and of the accumulating type
  Loop load = nullptr;     // for narrow floats: memory -> f32
  Loop store = nullptr;    // f32 -> memory
  Loop join = nullptr;     // acc = op(a, b) in the accumulating type
  ReduceRun run = nullptr;
  AddRows add_rows = nullptr;  // of sums
  Reduce how = Reduce::Sum;

  // Lines of n <= kReduceRun elements of the accumulating type, `apart` elements from one to the next, to one each.
  void run_lines(const unsigned char* data, std::int64_t apart, std::int64_t n, std::int64_t lines,
                 unsigned char* out) const {
    if (const ReduceLines all = vector_table().lines(how, is_narrow(type) ? DType::F32 : type, n))
      return all(data, apart, n, lines, out);
    const auto step = static_cast<std::int64_t>(wide);
    for (std::int64_t i = 0; i < lines; ++i) run(data + i * apart * step, n, out + i * step);
  }
  // Rows of n elements of the accumulating type that lie `apart` elements from one to the next join acc one by one.
  void join_rows(const unsigned char* data, std::int64_t apart, std::int64_t rows, unsigned char* acc,
                 std::int64_t n) const {
    if (add_rows) return add_rows(data, apart, rows, acc, n);
    for (std::int64_t r = 0; r < rows; ++r)
      join(acc, data + r * apart * static_cast<std::int64_t>(wide), nullptr, acc, n);
  }
};

inline ReducePlan reduce_plan(Reduce op, DType type) {
  const VectorTable& t = vector_table();
  ReducePlan p{type,    size_of(type),           size_of(type),   nullptr,
               nullptr, t.loop(joins(op), type), t.run(op, type), op == Reduce::Sum ? t.add_rows(type) : nullptr,
               op};
  if (!p.run) throw RuntimeError("kernel", "this reduction does not exist for " + std::string(name(type)));
  if (is_narrow(type)) {
    p.wide = 4;
    p.load = t.narrow(type).load, p.store = t.narrow(type).store;
  }
  return p;
}

constexpr int kReduceLevels = 64;

// Joins equal subtrees as they are completed: level i holds the join of 2^i leaves. Every level is `width` elements
// apart.
class Tree {
 public:
  Tree(const ReducePlan& p, unsigned char* levels, std::size_t width, std::int64_t n)
      : p_(p), levels_(levels), width_(width), n_(n) {}
  // Where the next leaf is to be put.
  unsigned char* leaf() { return levels_ + width_ * static_cast<std::size_t>(depth_); }
  void push() {
    std::uint64_t c = count_++;
    ++depth_;
    for (; c & 1; c >>= 1) join();
  }
  const unsigned char* finish() {
    while (depth_ > 1) join();
    return levels_;
  }

 private:
  void join() {
    unsigned char* low = levels_ + width_ * static_cast<std::size_t>(depth_ - 2);
    p_.join(low, low + width_, nullptr, low, n_);
    --depth_;
  }
  const ReducePlan& p_;
  unsigned char* levels_;
  std::size_t width_;
  std::int64_t n_;
  std::uint64_t count_ = 0;
  int depth_ = 0;
};

// Rows of n elements as registers hold them to one each, in the order that reduce() has for lines.
inline void reduce_rows(const ReducePlan& p, const unsigned char* data, std::int64_t n, std::int64_t rows,
                        unsigned char* results) {
  if (n <= kReduceRun) return p.run_lines(data, n, n, rows, results);
  alignas(16) unsigned char levels[kReduceLevels * 8];
  for (; rows > 0; --rows, results += p.wide) {
    Tree tree(p, levels, 8, 1);
    for (std::int64_t left = n; left > 0; left -= kReduceRun) {
      const std::int64_t some = std::min(kReduceRun, left);
      p.run(data, some, tree.leaf());
      tree.push();
      data += static_cast<std::size_t>(some) * p.wide;
    }
    std::memcpy(results, tree.finish(), p.wide);
  }
}

}  // namespace shard::runtime
