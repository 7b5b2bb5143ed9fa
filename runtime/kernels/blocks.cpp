// Reductions over devices: blocks joined element by element, in the order that kernels.h states. Tiles of a block go
// through the whole tree while they are in the first cache; how the tiles are cut changes no bit.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/reduce_plan.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kColumns = 256;     // a tile: the sums of all levels of the tree stay in the first cache
constexpr std::int64_t kWork = 32 * 1024;  // elements a task should have at least
constexpr int kLevels = 24;                // of a tree over at most 2^24 devices

// Where the blocks begin, in bytes, row-major over the first dimensions.
std::vector<std::int64_t> starts(const View& in, int devices) {
  std::vector<std::int64_t> out{0};
  for (std::size_t d = 0; d < static_cast<std::size_t>(devices); ++d) {
    std::vector<std::int64_t> finer;
    finer.reserve(out.size() * static_cast<std::size_t>(in.shape[d]));
    for (const std::int64_t o : out)
      for (std::int64_t i = 0; i < in.shape[d]; ++i)
        finer.push_back(o + i * in.strides[d] * static_cast<std::int64_t>(size_of(in.dtype)));
    out = std::move(finer);
  }
  return out;
}

// The join of all blocks at one tile.
class TileTree {
 public:
  TileTree(const ReducePlan& p, std::span<const std::int64_t> blocks) : p_(p), blocks_(blocks) {}

  void run(const unsigned char* data, std::int64_t width, unsigned char* out) {
    data_ = data;
    width_ = width;
    if (!p_.store) return join(0, blocks_.size(), out, 0);
    alignas(64) float sum[kColumns];
    join(0, blocks_.size(), reinterpret_cast<unsigned char*>(sum), 0);
    p_.store(sum, nullptr, nullptr, out, width);
  }

 private:
  const void* block(std::size_t i, int side) {
    const unsigned char* at = data_ + blocks_[i];
    if (!p_.load) return at;
    float* wide = wide_[static_cast<std::size_t>(side)].data();
    p_.load(at, nullptr, nullptr, wide, width_);
    return wide;
  }
  // Blocks [from, from + n), n > 1, into `acc`. To pair neighbours level after level is to cut off the largest power of
  // two that leaves something.
  void join(std::size_t from, std::size_t n, unsigned char* acc, int level) {
    if (n == 2) return p_.join(block(from, 0), block(from + 1, 1), nullptr, acc, width_);
    const std::size_t left = std::bit_floor(n - 1);
    join(from, left, acc, level);
    if (n - left == 1) return p_.join(acc, block(from + left, 0), nullptr, acc, width_);
    unsigned char* right = sums_[static_cast<std::size_t>(level)].data();
    join(from + left, n - left, right, level + 1);
    p_.join(acc, right, nullptr, acc, width_);
  }

  const ReducePlan& p_;
  std::span<const std::int64_t> blocks_;
  const unsigned char* data_ = nullptr;
  std::int64_t width_ = 0;
  alignas(64) std::array<std::array<float, kColumns>, 2> wide_;
  alignas(64) std::array<std::array<unsigned char, kColumns * 8>, kLevels> sums_;
};

struct Job {
  ReducePlan p;
  std::vector<std::int64_t> blocks;
  Nest<1> nest;  // of one block; its last dimension dense
  std::int64_t line = 1, lines = 1;

  void run(const void* in, void* out) const {
    const std::int64_t tiles = (line + kColumns - 1) / kColumns, each = static_cast<std::int64_t>(blocks.size());
    const auto item = static_cast<std::int64_t>(p.item);
    spread(lines * tiles, std::max<std::int64_t>(1, kWork / (std::min(line, kColumns) * each)),
           [&](std::int64_t lo, std::int64_t hi) {
             TileTree tree(p, blocks);
             Position<1> at(nest, std::max(0, nest.rank - 1), lo / tiles);
             std::int64_t tile = lo % tiles;
             for (std::int64_t unit = lo; unit < hi; ++unit) {
               const std::int64_t from = tile * kColumns;
               tree.run(static_cast<const unsigned char*>(in) + (at.offset[0] + from) * item,
                        std::min(kColumns, line - from),
                        static_cast<unsigned char*>(out) + (unit / tiles * line + from) * item);
               if (++tile < tiles) continue;
               tile = 0;
               at.next();
             }
           });
  }
};

}  // namespace

BlockReduction bind_reduce_blocks(Reduce op, const View& in, int devices, const View& out) {
  const Shape shape(in.shape.begin() + devices, in.shape.end());
  const Strides strides(in.strides.begin() + devices, in.strides.end());
  const std::int64_t count = numel(shape);
  if (count == 0) return [](const void*, void*) {};
  auto job = std::make_shared<Job>(Job{reduce_plan(op, in.dtype), starts(in, devices), {}});
  if (job->blocks.size() > std::size_t{1} << kLevels) throw RuntimeError("kernel", "a sum over more than 2^24 devices");
  if (job->blocks.size() == 1)
    return [block = View{in.dtype, shape, strides, nullptr}, to = out](const void* from, void* into) mutable {
      block.data = const_cast<void*>(from);
      to.data = into;
      copy(block, to);
    };
  for (std::size_t d = 0; d < shape.size(); ++d) job->nest.add(shape[d], {strides[d]});
  const int last = std::max(0, job->nest.rank - 1);
  if (job->nest.rank > 0 && job->nest.stride[0][static_cast<std::size_t>(last)] != 1) {  // no dense lines: packed first
    View packed = contiguous(in.dtype, in.shape);
    return [packed, from = in, rest = bind_reduce_blocks(op, packed, devices, out)](const void* x, void* y) mutable {
      const std::unique_ptr<unsigned char[]> memory(
          new unsigned char[static_cast<std::size_t>(numel(packed.shape)) * size_of(packed.dtype)]);
      packed.data = memory.get();
      from.data = const_cast<void*>(x);
      copy(from, packed);
      rest(packed.data, y);
    };
  }
  job->line = job->nest.rank > 0 ? job->nest.size[static_cast<std::size_t>(last)] : 1;
  job->lines = count / job->line;
  return [job](const void* from, void* to) { job->run(from, to); };
}

void reduce_blocks(Reduce op, const View& in, int devices, const View& out) {
  bind_reduce_blocks(op, in, devices, out)(in.data, out.data);
}

}  // namespace shard::runtime
