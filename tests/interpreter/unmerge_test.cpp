// Merges of dimensions that are split again: rows that are split inside of a merged dimension stay where they are.
// Values are those of the whole computation.
#include "tests/interpreter/lockstep.h"

using namespace shard;
using namespace shard::testing;
using S = std::vector<std::string>;

namespace {

const Type kX = f32({4, 8, 6}), kW = f32({6, 10});
const std::vector<Sharding> kInside{spec({{}, {0}, {}}), spec({{}, {}})};

S says(const Body& body, const std::vector<Type>& types = {kX, kW}, const std::vector<Sharding>& layouts = kInside) {
  return communicates(check_partitioned(graph(types, body), mesh({{"X", 8}}), layouts).local);
}
Var rows_of(Builder& b, Var x) { return ir::reshape(b, x, {32, 6}); }

}  // namespace

TEST_CASE("a product of merged rows that are split again moves nothing") {
  CHECK(says([](Builder& b, const Vars& p) {
          return Vars{ir::reshape(b, mm(b, rows_of(b, p[0]), p[1]), {4, 8, 10})};
        }).empty());
  SECTION("with what is elementwise, a bias and numbers between") {
    CHECK(says(
              [](Builder& b, const Vars& p) {
                Var y = ir::add(b, mm(b, rows_of(b, p[0]), p[1]), ir::broadcast_to(b, p[2], {32, 10}));
                y = ir::mul(b, b.call("tanh", {y}), ir::constant(b, 0.5, DType::F32, true));
                return Vars{ir::reshape(b, y, {4, 8, 10})};
              },
              {kX, kW, f32({10})}, {kInside[0], kInside[1], spec({{}})})
              .empty());
  }
  SECTION("its gradients: one sum") {
    Graph loss = graph({kX, kW}, [](Builder& b, const Vars& p) {
      Var y = b.call("tanh", {ir::reshape(b, mm(b, rows_of(b, p[0]), p[1]), {4, 8, 10})});
      return Vars{ir::reduce_sum(b, ir::mul(b, y, y), {0, 1, 2})};
    });
    Graph back = transform::vjp(rows(), loss, std::vector<int>{0, 1}, {true}, false);
    CHECK(communicates(check_partitioned(back, mesh({{"X", 8}}), {kInside[0], kInside[1], spec({})}).local) ==
          S{"psum(240)"});
  }
}

TEST_CASE("merges that stay") {
  SECTION("the merged value is a result") {
    says([](Builder& b, const Vars& p) {
      Var x = rows_of(b, p[0]);
      return Vars{ir::reshape(b, mm(b, x, p[1]), {4, 8, 10}), x};
    });
  }
  SECTION("it is split in another way") {
    says([](Builder& b, const Vars& p) { return Vars{ir::reshape(b, mm(b, rows_of(b, p[0]), p[1]), {8, 4, 10})}; });
  }
  SECTION("rows are told apart between: a sum over the columns, a value of its own for each row") {
    says(
        [](Builder& b, const Vars& p) {
          Var y = ir::add(b, mm(b, rows_of(b, p[0]), p[1]), p[2]);
          return Vars{ir::reshape(b, y, {4, 8, 10})};
        },
        {kX, kW, f32({32, 10})}, {kInside[0], kInside[1], spec({{}, {}})});
    says(
        [](Builder& b, const Vars& p) {
          Var y = ir::add(b, mm(b, rows_of(b, p[0]), p[1]), ir::broadcast_to(b, p[2], {32, 10}));
          return Vars{ir::reshape(b, y, {4, 8, 10})};
        },
        {kX, kW, f32({32, 1})}, {kInside[0], kInside[1], spec({{}, {}})});
  }
  SECTION("sizes of one") {
    says(
        [](Builder& b, const Vars& p) {
          return Vars{ir::reshape(b, mm(b, rows_of(b, p[0]), p[1]), {4, 8, 10})};
        },
        {f32({4, 1, 8, 6}), kW}, {spec({{}, {}, {0}, {}}), kInside[1]});
  }
  SECTION("a constraint on the merged rows") {
    MeshRef m = mesh({{"X", 8}});
    says([&](Builder& b, const Vars& p) {
      Var x = laid(b, rows_of(b, p[0]), m, spec({{0}, {}}));
      return Vars{ir::reshape(b, mm(b, x, p[1]), {4, 8, 10})};
    });
  }
}

TEST_CASE("merged dimensions that two operands share are summed as they were") {
  CHECK(says(
            [](Builder& b, const Vars& p) {
              Var y = ir::reshape(b, p[1], {32, 10});
              return Vars{b.emit1(*b.core().contract, {rows_of(b, p[0]), y}, {{"spec", std::string("mk,mn->kn")}})};
            },
            {kX, f32({4, 8, 10})}, {kInside[0], spec({{}, {0}, {}})}) == S{"psum(240)"});
  says(  // merged of other sizes
      [](Builder& b, const Vars& p) {
        Var y = ir::reshape(b, p[1], {32, 10});
        return Vars{b.emit1(*b.core().contract, {rows_of(b, p[0]), y}, {{"spec", std::string("mk,mn->kn")}})};
      },
      {kX, f32({8, 4, 10})}, {kInside[0], spec({{0}, {}, {}})});
}
