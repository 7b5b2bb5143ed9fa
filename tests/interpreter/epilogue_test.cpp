// Epilogues: programs that are done to a product's result piece by piece are no instruction of their own, and give the
// bits that they give when they are.
#include "interpreter/exec/timing.h"
#include "tests/interpreter/execute.h"

namespace shard::testing::epilogues {
namespace {

constexpr std::int64_t kRows = 4096, kTerms = 24, kColumns = 72;
const Type kX = f32({kRows, kTerms}), kW = f32({kTerms, kColumns}), kMade = f32({kRows, kColumns}),
           kBias = f32({kColumns});

using Rest = std::function<Vars(Builder&, Var product, const Vars& others)>;

Graph both(const std::vector<Type>& others, const Rest& rest) {
  std::vector<Type> params{kX, kW};
  params.insert(params.end(), others.begin(), others.end());
  return graph(
      params, [&](Builder& b, const Vars& in) { return rest(b, mm(b, in[0], in[1]), Vars(in.begin() + 2, in.end())); });
}
Graph alone(const std::vector<Type>& others, const Rest& rest) {
  std::vector<Type> params{kMade};
  params.insert(params.end(), others.begin(), others.end());
  return graph(params, [&](Builder& b, const Vars& in) { return rest(b, in[0], Vars(in.begin() + 1, in.end())); });
}

Arrays given(const Graph& g) {
  Arrays args;
  for (Var p : g.params) args.push_back(numbers(g.type(p), static_cast<unsigned>(p.id) + 1));
  return args;
}

std::size_t instructions(const Graph& g, const Arrays& args) {
  runtime::Pool pool;
  std::vector<ArrayRef> arrays;
  std::vector<exec::ArrayInfo> infos;
  for (const Array& x : args) infos.push_back(exec::array_info(*arrays.emplace_back(plain(pool, x))));
  const auto plan = compile(g, infos, nullptr, pool);
  exec::Timing timing;
  exec::Hooks hooks;
  hooks.timing = &timing;
  timing.begins(*plan);
  (void)plan->run(arrays, {}, hooks);
  timing.ends();
  return timing.calls().begin()->second.fastest.size();
}

// `left`: instructions besides the product.
void check(const std::vector<Type>& others, const Rest& rest, std::size_t left) {
  const Graph g = both(others, rest), after = alone(others, rest);
  const Arrays args = given(g);
  const Graph product = graph({kX, kW}, [](Builder& b, const Vars& in) { return Vars{mm(b, in[0], in[1])}; });
  Arrays second = execute(product, {args[0], args[1]}, nullptr, {});
  second.insert(second.end(), args.begin() + 2, args.end());
  CHECK((flat(execute(g, args, nullptr, {})) == flat(execute(after, second, nullptr, {}))));
  CHECK(instructions(g, args) == 1 + left);
}

Var along(Builder& b, Var one_a_row) { return ir::broadcast_to(b, ir::reshape(b, one_a_row, {kRows, 1}), kMade.shape); }

}  // namespace

TEST_CASE("a bias and an activation are done to pieces of the product", "[epilogue]") {
  check(
      {kBias},
      [](Builder& b, Var y, const Vars& o) {
        return Vars{b.call("tanh", {ir::add(b, y, ir::broadcast_to(b, o[0], kMade.shape))})};
      },
      0);
}

TEST_CASE("so is a scale with a residual, which is written over", "[epilogue]") {
  check(
      {kMade},
      [](Builder& b, Var y, const Vars& o) {
        return Vars{ir::add(b, ir::mul(b, y, ir::constant(b, 0.5, DType::F32)), o[0])};
      },
      0);
}

TEST_CASE("so are reductions of rows, and what they leave", "[epilogue]") {
  check(
      {},
      [](Builder& b, Var y, const Vars&) {
        const Var e = b.call("exp", {ir::sub(b, y, along(b, b.call("reduce_max", {y}, {{"axes", ir::Ints{-1}}})))});
        return Vars{ir::div(b, e, along(b, ir::reduce_sum(b, e, {-1})))};
      },
      0);
  check(
      {},
      [](Builder& b, Var y, const Vars&) {
        return Vars{y, ir::reduce_sum(b, ir::mul(b, y, y), {-1})};
      },
      0);
}

TEST_CASE("a product that is kept has its own memory, and the sum over all rows a step that joins its leaves",
          "[epilogue]") {
  check(
      {},
      [](Builder& b, Var y, const Vars&) {
        return Vars{y, b.call("tanh", {y})};
      },
      0);
  check(
      {},
      [](Builder& b, Var y, const Vars&) {
        const Var h = b.call("tanh", {y});
        return Vars{h, ir::reduce_sum(b, h, {-2})};
      },
      1);
}

TEST_CASE("a sum of all elements has a step that joins its leaves too", "[epilogue]") {
  check(
      {},
      [](Builder& b, Var y, const Vars&) {
        return Vars{ir::reduce_sum(b, b.call("tanh", {y}), {-2, -1})};
      },
      1);
}

TEST_CASE("what reads the product in another order waits for all of it", "[epilogue]") {
  check(
      {f32({kColumns, kRows})},
      [](Builder& b, Var y, const Vars& o) {
        return Vars{b.call("tanh", {ir::add(b, ir::transpose(b, y, {1, 0}), o[0])})};
      },
      1);
}

TEST_CASE("what it is made of may be read by the program too", "[epilogue]") {
  const Type square = f32({2048, 128}), w = f32({128, 128});
  const Graph g = graph({square, w}, [](Builder& b, const Vars& in) {
    return Vars{ir::add(b, b.call("tanh", {mm(b, in[0], in[1])}), in[0])};
  });
  const Arrays args = given(g);
  CHECK(instructions(g, args) == 1);
  const Graph product = graph({square, w}, [](Builder& b, const Vars& in) { return Vars{mm(b, in[0], in[1])}; });
  const Graph rest = graph({square, square},
                           [](Builder& b, const Vars& in) { return Vars{ir::add(b, b.call("tanh", {in[0]}), in[1])}; });
  const Arrays made = execute(product, args, nullptr, {});
  CHECK((flat(execute(g, args, nullptr, {})) == flat(execute(rest, {made[0], args[0]}, nullptr, {}))));
}

TEST_CASE("a program of something else stays an instruction", "[epilogue]") {
  check(
      {kMade},
      [](Builder& b, Var y, const Vars& o) {
        return Vars{y, b.call("tanh", {o[0]})};
      },
      1);
}

TEST_CASE("on a mesh, whose blocks lie as the whole array does", "[epilogue]") {
  const Graph g = both({kBias}, [](Builder& b, Var y, const Vars& o) {
    return Vars{b.call("tanh", {ir::add(b, y, ir::broadcast_to(b, o[0], kMade.shape))})};
  });
  const Arrays args = given(g);
  const auto m = mesh({{"data", 4}, {"model", 2}});
  const std::vector<double> want = flat(execute(g, args, nullptr, {}));
  CHECK((flat(execute(g, args, m, {spec({{0}, {}}), spec({{}, {}}), spec({{}})})) == want));
  CHECK((flat(execute(g, args, m, {spec({{0}, {}}), spec({{}, {1}}), spec({{1}})})) == want));
}

}  // namespace shard::testing::epilogues
