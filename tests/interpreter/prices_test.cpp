// Splits that are chosen by price, and values that are made again in another layout. What is cheaper is a derivation:
// of a sum a device sends 2 (n - 1) / n of the result, of a gather (n - 1) / n of the operand.
#include "tests/interpreter/lockstep.h"

using namespace shard;
using namespace shard::testing;
using S = std::vector<std::string>;

namespace {

S says(const Graph& g, const std::vector<Sharding>& layouts, const MeshRef& m) {
  return communicates(check_partitioned(g, m, layouts).local);
}
Graph product(std::int64_t rows, std::int64_t inner, std::int64_t columns, bool whole) {
  return graph({f32({rows, inner}), f32({inner, columns})}, [&](Builder& b, const Vars& p) {
    Var y = mm(b, p[0], p[1]);
    return Vars{whole ? y : ir::reduce_sum(b, y, {0, 1})};
  });
}

}  // namespace

TEST_CASE("an operand is gathered where that is less than the sum") {
  MeshRef m = mesh({{"X", 8}});
  const std::vector<Sharding> one_split{spec({{}, {0}}), spec({{}, {}})};
  CHECK(says(product(64, 8, 64, true), one_split, m) == S{"all_gather(2048)"});  // 1,792 bytes are sent, not 28,672
  CHECK(says(product(8, 64, 8, true), one_split, m) == S{"psum(256)"});          // 448, not 1,792
  CHECK(says(product(64, 128, 64, true), one_split, m) == S{"psum(16384)"});  // 28,672 either way: the work stays split
  SECTION("where both are split along it they agree") {
    CHECK(says(product(64, 8, 64, true), {spec({{}, {0}}), spec({{0}, {}})}, m) == S{"psum(16384)"});
  }
  SECTION("what is summed in the end counts") { CHECK(says(product(64, 8, 64, false), one_split, m) == S{"psum(4)"}); }
  SECTION("a loop may wait with its sum") {
    const auto body = region({f32({64, 64}), f32({64, 8}), f32({8, 64})},
                             [](Builder& b, const Vars& p) { return Vars{ir::add(b, p[0], mm(b, p[1], p[2]))}; });
    Graph g = graph({f32({64, 64}), f32({3, 64, 8}), f32({3, 8, 64})}, [&](Builder& b, const Vars& p) {
      return Vars{scan(b, body, {}, {p[0]}, {p[1], p[2]}, 3)[0]};
    });
    CHECK(says(g, {spec({{}, {}}), spec({{}, {}, {0}}), spec({{}, {}, {}})}, m) == S{"psum(16384)"});
  }
}

TEST_CASE("windows are made again of the gathered image") {
  MeshRef m = mesh({{"X", 8}});
  Graph g = graph({f32({2, 8, 8, 8}), f32({3, 3, 8, 32})}, [&](Builder& b, const Vars& p) {
    return Vars{b.call("conv", {p[0], p[1]},
                       {{"stride", ir::Ints{1}},
                        {"padding", std::string("SAME")},
                        {"dilation", ir::Ints{1}},
                        {"input_dilation", ir::Ints{1}},
                        {"groups", std::int64_t{1}}})};
  });
  CHECK(says(g, {spec({{}, {}, {}, {0}}), spec({{}, {}, {}, {}})}, m) == S{"all_gather(4096)"});
}

TEST_CASE("what is repeated is brought into a layout before it is") {
  MeshRef m = mesh({{"X", 4}});
  Graph g = graph({f32({8}), f32({64, 8})}, [&](Builder& b, const Vars& p) {
    Var rows = ir::broadcast_to(b, p[0], {64, 8});
    return Vars{laid(b, ir::mul(b, rows, p[1]), m, spec({{}, {0}})), laid(b, rows, m, spec({{}, {}}))};
  });
  CHECK(says(g, {spec({{0}}), spec({{}, {0}})}, m) == S{"all_gather(32)"});  // not 64 rows of it
}

TEST_CASE("what changes some elements of a value is laid out as the value") {
  MeshRef m = mesh({{"X", 8}});
  Graph g = graph({f32({8, 64, 4}), f32({8, 1, 4})}, [&](Builder& b, const Vars& p) {
    return b.emit(*b.core().dynamic_update, {p[0], p[1], ir::constant_int(b, 37)}, {{"axes", ir::Ints{-2}}});
  });
  // Positions are split, and so is the batch of the new row: the row is moved, 128 bytes in all.
  auto p = check_partitioned(g, m, {spec({{}, {0}, {}}), spec({{0}, {}, {}})});
  CHECK(communicates(p.local) == S{"all_gather(128)"});
  CHECK(p.results[0].layout == spec({{}, {0}, {}}));
  SECTION("a row that is whole moves nothing") { CHECK(says(g, {spec({{}, {0}, {}}), spec({{}, {}, {}})}, m).empty()); }
  SECTION("a whole value stays whole") { CHECK(says(g, {spec({{}, {}, {}}), spec({{}, {}, {}})}, m).empty()); }
}
