#include "runtime/kernels/leaves.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/reduce_plan.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime {
namespace {

static_assert(Leaves::kLanes * Leaves::kLines == kReduceRun);
constexpr std::int64_t kJoined = 256;  // that are joined at a time: all levels of their tree stay in the first caches

}  // namespace

void add_to_leaves(const Leaves& l, const ReducePlan& p, std::int64_t at, std::int64_t n, const unsigned char* data,
                   unsigned char* lanes, unsigned char* leaves) {
  const auto item = static_cast<std::int64_t>(p.item);
  std::int64_t in = at % l.length, line = in / l.line(), column = in % l.line();
  unsigned char* leaf = leaves + (at / l.length * l.count() + line / Leaves::kLines) * l.inner * item;
  while (n > 0) {
    if (const std::int64_t all = std::min(l.leaf(), l.length - in);  // of the next leaf, which begins here
        l.inner == 1 && line % Leaves::kLines == 0 && column == 0 && n >= all) {
      p.run(data, all, leaf);
      data += all * item, n -= all, in += all, line += Leaves::kLines, leaf += item;
      if (in == l.length) in = line = 0;
      continue;
    }
    const std::int64_t w = std::min({n, l.line() - column, l.length - in});
    unsigned char* sum = (l.inner == 1 ? lanes : leaf) + column * item;
    if (line % Leaves::kLines == 0) {
      std::memcpy(sum, data, static_cast<std::size_t>(w * item));
    } else if (w == l.line()) {  // what is there of the leaf
      const std::int64_t lines = std::min(Leaves::kLines - line % Leaves::kLines, std::min(n, l.length - in) / w);
      p.join_rows(data, w, lines, sum, w);
      const std::int64_t before = (lines - 1) * w;  // the last one
      data += before * item, n -= before, in += before, line += lines - 1;
    } else {
      p.join(sum, data, nullptr, sum, w);
    }
    data += w * item, n -= w, in += w, column += w;
    if (column < l.line() && in < l.length) return;
    column = 0, ++line;
    if (line % Leaves::kLines == 0 || in == l.length) {  // the leaf is there
      if (l.inner == 1) p.run(lanes, std::min(Leaves::kLanes, (in - 1) % l.leaf() + 1), leaf);
      leaf += l.inner * item;
    }
    if (in == l.length) in = line = 0;
  }
}

void join_leaves(const Leaves& l, Reduce how, DType type, std::int64_t outer, const void* leaves, void* out) {
  const ReducePlan p = reduce_plan(how, type);
  const auto* from_leaves = static_cast<const unsigned char*>(leaves);
  auto* to = static_cast<unsigned char*>(out);
  const std::int64_t tiles = (l.inner + kJoined - 1) / kJoined;
  const std::size_t stride = kJoined * p.item;
  spread(outer * tiles, std::max<std::int64_t>(1, 256 / l.count()), [&](std::int64_t lo, std::int64_t hi) {
    alignas(64) unsigned char levels[32 * kJoined * 8];  // of up to 2^31 leaves
    for (std::int64_t i = lo; i < hi; ++i) {
      const std::int64_t from = i % tiles * kJoined, w = std::min(kJoined, l.inner - from);
      Tree tree(p, levels, stride, w);
      const auto bytes = static_cast<std::size_t>(w) * p.item;
      const auto place = [&](std::int64_t row) { return static_cast<std::size_t>(row * l.inner + from) * p.item; };
      for (std::int64_t k = 0; k < l.count(); ++k) {
        std::memcpy(tree.leaf(), from_leaves + place(i / tiles * l.count() + k), bytes);
        tree.push();
      }
      std::memcpy(to + place(i / tiles), tree.finish(), bytes);
    }
  });
}

}  // namespace shard::runtime
