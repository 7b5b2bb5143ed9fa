// Small sums of gradients over devices as one message: which are, in which order, and that values stay.
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"
#include "tests/interpreter/lockstep.h"

using namespace shard;
using namespace shard::testing;
using S = std::vector<std::string>;

namespace {

const MeshRef kFourByTwo = mesh({{"X", 4}, {"Y", 2}});

struct Joined {
  S before, after;
};
// Collectives of the program without and with the pass, which compute the same.
Joined joined(const Graph& g, const std::vector<Sharding>& layouts) {
  const transform::Program apart = check_partitioned(g, kFourByTwo, layouts);
  const transform::Program together = lowered(g, kFourByTwo, layouts, {});
  Arrays args;
  std::vector<Blocks> blocks;
  for (std::size_t i = 0; i < g.params.size(); ++i) {
    args.push_back(numbers(g.type(g.params[i]), static_cast<unsigned>(i)));
    blocks.push_back(split(args.back(), *kFourByTwo, layouts[i]));
  }
  const Arrays want = Reference().run(g, args);
  std::vector<Blocks> got = Lockstep(kFourByTwo).run(together.local, blocks);
  for (std::size_t r = 0; r < want.size(); ++r)
    check_close(join(got[r], want[r].shape, *kFourByTwo, together.results[r].layout).values(), want[r].values(), 2e-5);
  return {communicates(apart.local), communicates(together.local)};
}
Var squares(Builder& b, Var x, bool backward = true) {
  const ir::Origin at(grammar::Span{1, 0, 1});
  const ir::SpanScope made(b, backward ? at.turned() : at);
  return ir::reduce_sum(b, ir::mul(b, x, x), {0});
}

}  // namespace

TEST_CASE("sums that do not depend on one another are one, wherever what reads them stands") {
  const Joined j = joined(graph({f32({8, 6}), f32({8, 3})},
                                [](Builder& b, const Vars& p) {
                                  const Var x = b.call("sin", {squares(b, p[0])});  // reads the first before the second
                                  const Var y = squares(b, p[1]);
                                  return Vars{x, b.call("sin", {y})};
                                }),
                          {spec({{0}, {}}), spec({{0}, {}})});
  CHECK(j.before == S{"psum(24)", "psum(12)"});
  CHECK(j.after == S{"psum(36)"});
}

TEST_CASE("sums of other devices, or of what another sum made, are not joined") {
  const Joined other = joined(graph({f32({8, 6}), f32({8, 3})},
                                    [](Builder& b, const Vars& p) {
                                      return Vars{squares(b, p[0]), squares(b, p[1])};
                                    }),
                              {spec({{0}, {}}), spec({{1}, {}})});
  CHECK(other.after == S{"psum(24)", "psum(12)"});
  const Joined chain = joined(graph({f32({8, 6})},
                                    [](Builder& b, const Vars& p) {
                                      const Var m = ir::broadcast_to(b, squares(b, p[0]), {8, 6});
                                      return Vars{squares(b, ir::sub(b, p[0], m))};
                                    }),
                              {spec({{0}, {}})});
  CHECK(chain.after == S{"psum(24)", "psum(24)"});
}

TEST_CASE("what the forward part sums does not wait for gradients") {
  const Joined j = joined(graph({f32({8, 6}), f32({8, 3})},
                                [](Builder& b, const Vars& p) {
                                  return Vars{squares(b, p[0], false), squares(b, p[1])};
                                }),
                          {spec({{0}, {}}), spec({{0}, {}})});
  CHECK(j.after == S{"psum(24)", "psum(12)"});
}

TEST_CASE("large sums stay: they would wait for one another") {
  const Joined j = joined(graph({f32({8, 20000}), f32({8, 3}), f32({8, 5})},
                                [](Builder& b, const Vars& p) {
                                  return Vars{squares(b, p[0]), squares(b, p[1]), squares(b, p[2])};
                                }),
                          {spec({{0}, {}}), spec({{0}, {}}), spec({{0}, {}})});
  CHECK(j.after == S{"psum(80000)", "psum(32)"});
}

TEST_CASE("sums in a loop's body are joined there") {
  const Graph body = graph({f32({6}), f32({3}), f32({8, 6}), f32({8, 3})}, [](Builder& b, const Vars& p) {
    return Vars{b.call("sin", {ir::add(b, p[0], squares(b, p[2]))}),
                b.call("sin", {ir::add(b, p[1], squares(b, p[3]))})};
  });
  const Joined j = joined(graph({f32({6}), f32({3}), f32({2, 8, 6}), f32({2, 8, 3})},
                                [&](Builder& b, const Vars& p) {
                                  return scan(b, share(body), {}, {p[0], p[1]}, {p[2], p[3]}, 2);
                                }),
                          {spec({{}}), spec({{}}), spec({{}, {0}, {}}), spec({{}, {0}, {}})});
  CHECK(j.before == S{"psum(24)", "psum(12)"});
  CHECK(j.after == S{"psum(36)"});
}
