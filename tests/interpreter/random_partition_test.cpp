// Random loops in random layouts, and their gradients: partitioned, they compute what the whole does. In f64 and tamed,
// because products and sines in a row make much of a last bit.
#include "tests/interpreter/lockstep.h"
#include "tests/share.h"

using namespace shard;
using namespace shard::testing;

namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : s_(seed * 0x9E3779B97F4A7C15ull) {}
  std::size_t operator()(std::size_t n) {
    s_ = s_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::size_t>(s_ >> 33) % n;
  }
  Sharding layout(std::size_t rank) {
    Sharding out = Sharding::replicated(rank);
    for (AxisId a = 0; a < 3; ++a) {
      std::size_t d = (*this)(rank + 1);
      if (d == rank) continue;
      Axes& axes = out.dims[d].axes;
      axes.insert(axes.begin() + static_cast<std::ptrdiff_t>((*this)(axes.size() + 1)), a);
    }
    return out;
  }

 private:
  std::uint64_t s_;
};

// The values given and six more made of them.
Vars mixed(Builder& b, Vars have, Dice& dice, const MeshRef& m) {
  for (int step = 0; step < 6; ++step) {
    Var x = have[dice(have.size())], y = have[dice(have.size())];
    switch (dice(10)) {
      case 0:
      case 1: x = b.emit1(*b.core().contract, {x, y}, {{"spec", std::string("mk,kn->mn")}}); break;
      case 2: x = ir::transpose(b, x, {1, 0}); break;
      case 3: x = ir::add(b, x, y); break;
      case 4: x = ir::mul(b, x, y); break;
      case 5: x = b.call("tanh", {x}); break;
      case 6: x = ir::broadcast_to(b, ir::reduce_sum(b, x, {0}), {8, 8}); break;
      case 7: x = b.emit1(*b.core().shard, {x}, {{"layout", ir::Layout{m, dice.layout(2)}}}); break;
      case 8: x = ir::reshape(b, ir::reshape(b, x, {4, 16}), {8, 8}); break;
      default: x = ir::sub(b, ir::neg(b, x), y); break;
    }
    Var scale = ir::broadcast_to(b, ir::constant(b, 0.125, DType::F64, true), {8, 8});  // so that gradients stay tame
    have.push_back(b.call("sin", {ir::mul(b, x, scale)}));
  }
  return have;
}

}  // namespace

TEST_CASE("random loops and their gradients in random layouts") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}, {"Z", 2}});
  for (unsigned seed = 1; seed <= 60 / kShare; ++seed) {
    INFO("seed " << seed);
    Dice dice(seed);
    std::size_t consts = dice(3), carry = 1 + dice(2), xs = dice(3);
    auto body = region(std::vector<Type>(consts + carry + xs, f64({8, 8})), [&](Builder& b, const Vars& p) {
      Vars have = mixed(b, p, dice, m), out;
      for (std::size_t i = 0; i < carry + 1; ++i) out.push_back(have[have.size() - 1 - dice(4)]);
      return out;
    });
    std::vector<Type> types;
    std::vector<Sharding> layouts;
    for (std::size_t i = 0; i < consts + carry + xs; ++i) {
      bool steps = i >= consts + carry;
      types.push_back(steps ? f64({8, 8, 8}) : f64({8, 8}));
      layouts.push_back(dice.layout(steps ? 3 : 2));
    }
    Graph g = graph(types, [&](Builder& b, const Vars& p) {
      auto part = [&](std::size_t from, std::size_t n) {
        return Vars(p.begin() + static_cast<std::ptrdiff_t>(from), p.begin() + static_cast<std::ptrdiff_t>(from + n));
      };
      Vars out = scan(b, body, part(0, consts), part(consts, carry), part(consts + carry, xs), 8, dice(2) == 1);
      Var sum = ir::reduce_sum(b, out.back(), {0, 1, 2});
      for (std::size_t i = 0; i < carry; ++i) sum = ir::add(b, sum, ir::reduce_sum(b, out[i], {0, 1}));
      return Vars{sum, out[0], out.back()};
    });
    check_partitioned(g, m, layouts, seed, 1e-6);
    std::vector<int> wrt;
    for (std::size_t i = 0; i < types.size(); ++i) wrt.push_back(static_cast<int>(i));
    Graph back = transform::vjp(rows(), g, wrt, {true, false, false}, true);
    layouts.push_back(spec({}));
    check_partitioned(back, m, layouts, seed, 1e-6);
  }
}
