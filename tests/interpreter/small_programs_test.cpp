// What loops and products of few elements become before they are lowered; and that values stay.
#include <algorithm>

#include "interpreter/ir/complex_parts.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"
#include "tests/interpreter/lockstep.h"

using namespace shard;
using namespace shard::testing;

namespace {

void check_alike(const Graph& a, const Graph& b) {
  Arrays args;
  for (ir::Var p : a.params) args.push_back(numbers(a.type(p), static_cast<unsigned>(args.size())));
  check_close(run(b, args), run(a, args), 1e-6);
}
std::size_t how_often(const Graph& g, const ir::OpDef* op) {
  return static_cast<std::size_t>(
      std::count_if(g.nodes.begin(), g.nodes.end(), [&](const ir::Node& n) { return n.op == op; }));
}
Var product_of(Builder& b, const char* spec, Var x, Var y) {
  return b.emit1(*b.core().contract, {x, y}, {{"spec", std::string(spec)}});
}
const ir::CoreOps& known_rows() { return rows().core(); }

}  // namespace

TEST_CASE("the parts of a complex number that was made are those it was made of") {
  const Graph g = graph({f32({4}), f32({4})}, [](Builder& b, const Vars& p) {
    const Var z = ir::complex_of(b, p[0], p[1]);
    return Vars{ir::real_part(b, z), ir::imag_part(b, z)};
  });
  const Graph less = transform::simplify(rows(), g);
  CHECK(less.nodes.empty());
  CHECK(less.results == Vars{less.params[0], less.params[1]});
}

TEST_CASE("outer products, and many small matrices by vectors, are done by elements") {
  const auto products = [](const Graph& g) {
    const auto made = transform::with_small_products_by_elements(rows(), g);
    if (made) check_alike(g, *made);
    return how_often(made ? *made : g, known_rows().contract);
  };
  const auto of = [](const char* spec, const Type& x, const Type& y) {
    return graph({x, y}, [spec](Builder& b, const Vars& p) { return Vars{product_of(b, spec, p[0], p[1])}; });
  };
  CHECK(products(of("i,j->ij", f32({30}), f32({50}))) == 0);
  CHECK(products(of("i,j->ij", f32({3}), f32({5}))) == 1);
  CHECK(products(of("ik,kj->ji", f32({30, 1}), f32({1, 50}))) == 0);
  CHECK(products(of("bij,bj->bi", f32({20, 3, 4}), f32({20, 4}))) == 0);
  CHECK(products(of("bij,bjk->bik", f32({20, 3, 4}), f32({20, 4, 1}))) == 0);
  CHECK(products(of("bij,bjk->bik", f32({20, 2, 2}), f32({20, 2, 2}))) == 0);
  CHECK(products(of("bji,bkj->bki", f32({20, 2, 2}), f32({20, 2, 2}))) == 0);
  CHECK(products(of("bij,bj->bi", f32({2, 3, 4}), f32({2, 4}))) == 1);      // too few
  CHECK(products(of("bij,bj->bi", f32({20, 300, 4}), f32({20, 4}))) == 1);  // too large
  CHECK(products(of("bij,bi->bj", f32({20, 3, 4}), f32({20, 3}))) == 0);    // rows that are added up
  CHECK(products(of("bij,bi->bj", f32({20, 9, 9}), f32({20, 9}))) == 1);
  CHECK(products(of("bij,bjk->bik", f32({20, 3, 3}), f32({20, 3, 3}))) == 0);
  CHECK(products(of("bij,bjk->bik", f32({20, 4, 4}), f32({20, 4, 4}))) == 1);
  CHECK(products(of("bij,bjk->bik", f32({20, 3, 4}), f32({20, 4, 2}))) == 1);
  CHECK(products(of("ij,jk->ik", f32({30, 4}), f32({4, 50}))) == 1);
}

TEST_CASE("a loop on a condition asks at the end of a turn") {
  // Turns are counted up to a constant of the condition; the body has one of its own.
  const GraphRef test = region({i32(), i32(), f32()}, [](Builder& b, const Vars& p) {
    return Vars{b.emit1(*b.core().lt, {p[1], p[0]})};
  });
  const GraphRef body = region({f32(), i32(), f32()}, [](Builder& b, const Vars& p) {
    return Vars{ir::add(b, p[1], ir::constant_int(b, 1)), ir::mul(b, p[2], p[0])};
  });
  for (const std::int64_t turns : {0, 1, 5}) {
    const Graph g = graph({f32(), f32()}, [&](Builder& b, const Vars& p) {
      const Vars in{ir::constant_int(b, turns), p[0], ir::constant_int(b, 0), p[1]};
      return b.emit(*b.core().while_loop, in, ir::with_wiring({}, ir::WhileWiring{1, 1}), {test, body});
    });
    const auto made = transform::with_rotated_loops(rows(), g);
    REQUIRE(made);
    check_alike(g, *made);
    const auto loop =
        std::find_if(made->nodes.begin(), made->nodes.end(), [](const ir::Node& n) { return !n.regions.empty(); });
    REQUIRE(loop != made->nodes.end());
    CHECK(loop->regions[0]->nodes.empty());
    CHECK(how_often(*loop->regions[1], known_rows().lt) == 1);
    CHECK(how_often(*made, known_rows().lt) == 1);
    CHECK(!transform::with_rotated_loops(rows(), *made));
  }
}

TEST_CASE("what a turn passes on to another place is a node, what stays is none") {
  const GraphRef body = region({f32({3}), f32({3}), f32({3})}, [](Builder& b, const Vars& p) {
    return Vars{p[1], ir::add(b, p[0], p[1]), p[2], p[0]};  // the last one is a row
  });
  const Graph g =
      graph({f32({3}), f32({3}), f32({3})}, [&](Builder& b, const Vars& p) { return scan(b, body, {}, p, {}, 4); });
  const auto made = transform::with_passed_on(rows(), g);
  REQUIRE(made);
  check_alike(g, *made);
  const Graph& turn = *made->nodes[0].regions[0];
  CHECK(how_often(turn, known_rows().convert) == 2);
  CHECK(turn.results[2] == turn.params[2]);
}
