// Depth first: which products are done block by block with what stands between them, that bits stay those of all at
// once, on one device and on meshes, and that what lies between is never held as a whole.
#include "interpreter/exec/depth_first.h"

#include "interpreter/transform/distinct.h"
#include "tests/interpreter/execute.h"

namespace shard::testing::depth_first {
namespace {

std::vector<exec::Unit> units(const Graph& g) {
  std::vector<AxisSet> none(g.params.size());
  const auto distinct = transform::distinct_axes(g, none, nullptr).of;
  return exec::depth_first(g, distinct, nullptr, nullptr, exec::units_of(g, distinct, nullptr));
}
std::size_t segments(const Graph& g) {
  std::size_t n = 0;
  for (const auto& u : units(g)) n += u.segment != nullptr;
  return n;
}

Var product(Builder& b, Var x, Var y, const char* spec) {
  return b.emit1(*b.core().contract, {x, y}, {{"spec", std::string(spec)}});
}
Var along(Builder& b, Var reduced, Var like) {  // again along the last dimension
  runtime::Shape one = b.type(like).shape;
  one.back() = 1;
  return ir::broadcast_to(b, ir::reshape(b, reduced, one), b.type(like).shape);
}
Var softmax(Builder& b, Var x) {
  Var e = b.call("exp", {ir::sub(b, x, along(b, b.call("reduce_max", {x}, {{"axes", ir::Ints{-1}}}), x))});
  return ir::div(b, e, along(b, ir::reduce_sum(b, e, {-1}), e));
}

constexpr std::int64_t kBatch = 4, kHeads = 4, kTokens = 128, kSize = 16;
const runtime::Shape kByHead{kBatch, kHeads, kTokens, kSize}, kByToken{kBatch, kTokens, kHeads, kSize};
constexpr std::int64_t kScores = kBatch * kHeads * kTokens * kTokens * 4;  // bytes

Graph attention(bool by_token, bool masked, bool keep) {
  const Type in = f32(by_token ? kByToken : kByHead);
  return graph({in, in, in, f32({kTokens, kTokens})}, [&](Builder& b, const Vars& x) {
    Var s = product(b, x[0], x[1], by_token ? "bqhd,bkhd->bhqk" : "bhqd,bhkd->bhqk");
    s = ir::mul(b, s, ir::constant(b, 0.25, DType::F32));
    if (masked) s = ir::add(b, s, ir::broadcast_to(b, x[3], b.type(s).shape));
    const Var p = softmax(b, s);
    const Var out = product(b, p, x[2], by_token ? "bhqk,bkhd->bqhd" : "bhqk,bhkd->bhqd");
    Vars results{b.call("tanh", {out})};
    if (keep) results.push_back(p);
    return results;
  });
}
// From p, v and the cotangent of the result: those of q and k. The product with v is made beside what reads p.
Graph backward() {
  const Type in = f32(kByHead), scores = f32({kBatch, kHeads, kTokens, kTokens});
  return graph({scores, in, in, in, in}, [&](Builder& b, const Vars& x) {
    const Var p = softmax(b, product(b, x[2], x[3], "bhqd,bhkd->bhqk"));
    const Var dp = product(b, x[4], x[1], "bhqd,bhkd->bhqk");
    const Var sums = along(b, ir::reduce_sum(b, ir::mul(b, dp, p), {-1}), p);
    const Var ds = ir::mul(b, ir::mul(b, p, ir::sub(b, dp, sums)), x[0]);
    return Vars{product(b, ds, x[3], "bhqk,bhkd->bhqd"), product(b, ds, x[2], "bhqk,bhqd->bhkd"),
                product(b, p, x[4], "bhqk,bhqd->bhkd")};
  });
}

// Over these dimensions, which are not the last ones of short rows.
Var normalised(Builder& b, Var x, const ir::Ints& axes) {
  const runtime::Shape shape = b.type(x).shape;
  runtime::Shape ones = shape;
  for (const std::int64_t axis : axes) ones[shape.size() - static_cast<std::size_t>(-axis)] = 1;
  const auto spread = [&](Var reduced) { return ir::broadcast_to(b, ir::reshape(b, reduced, ones), shape); };
  const Var e = b.call("exp", {ir::sub(b, x, spread(b.call("reduce_max", {x}, {{"axes", axes}})))});
  return ir::div(b, e, spread(ir::reduce_sum(b, e, axes)));
}
Graph normalised(const runtime::Shape& shape, const ir::Ints& axes) {
  return graph({f32(shape)}, [&](Builder& b, const Vars& x) { return Vars{normalised(b, x[0], axes)}; });
}

Arrays given(const Graph& g) {
  Arrays args;
  for (Var p : g.params) args.push_back(numbers(g.type(p), static_cast<unsigned>(p.id) + 1));
  return args;
}
std::int64_t temporaries(const Graph& g) {
  runtime::Pool pool;
  std::vector<exec::ArrayInfo> infos;
  for (const Array& x : given(g)) infos.push_back(exec::array_info(*plain(pool, x)));
  return compile(g, infos, nullptr, pool)->memory().temporaries;
}
void check_same_bits(const Graph& g, const MeshRef& m = nullptr, const std::vector<Sharding>& layouts = {}) {
  CHECK((flat(execute(g, given(g), m, layouts)) == flat(execute(g, given(g), m, layouts, true))));
}

}  // namespace

TEST_CASE("scores of attention are made block by block, with the bits that they have as a whole", "[depth_first]") {
  for (const bool by_token : {false, true})
    for (const bool masked : {false, true})
      for (const bool keep : {false, true}) {
        INFO(by_token << masked << keep);
        const Graph g = attention(by_token, masked, keep);
        CHECK(segments(g) == 1);
        check_same_bits(g);
        CHECK(temporaries(g) < kScores / 2);
      }
}

TEST_CASE("so is what goes back through them, two products of which are made side by side", "[depth_first]") {
  const Graph g = backward();
  CHECK(segments(g) == 1);
  check_same_bits(g);
  CHECK(temporaries(g) < kScores);
}

TEST_CASE("blocks of devices are blocks too", "[depth_first]") {
  const MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  for (const bool by_token : {false, true}) {
    const Sharding split = by_token ? spec({{0}, {}, {1}, {}}) : spec({{0}, {1}, {}, {}});
    const Graph g = attention(by_token, true, true);
    check_same_bits(g, m, {split, split, split, spec({{}, {}})});
    const Sharding whole = spec({{}, {}, {}, {}});
    check_same_bits(g, m, {whole, split, split, spec({{0}, {}})});
  }
}

TEST_CASE("what is summed over the batch, or small, is left as it is", "[depth_first]") {
  CHECK(segments(graph({f32({64, 64, 64}), f32({64, 64})}, [](Builder& b, const Vars& x) {  // a weight has no batch
          const Var h = b.call("tanh", {product(b, x[0], x[1], "bmk,kn->bmn")});
          return Vars{product(b, h, x[1], "bmk,kn->bmn")};
        })) == 0);
  CHECK(segments(graph({f32({64, 64, 64}), f32({64, 64, 64})}, [](Builder& b, const Vars& x) {
          const Var h = b.call("tanh", {product(b, x[0], x[1], "bmk,bkn->bmn")});
          return Vars{product(b, h, x[1], "bmk,bkn->mn")};
        })) == 0);
  CHECK(segments(graph({f32({4, 8, 8}), f32({4, 8, 8})}, [](Builder& b, const Vars& x) {
          const Var h = b.call("tanh", {product(b, x[0], x[1], "bmk,bkn->bmn")});
          return Vars{product(b, h, x[1], "bmk,bkn->bmn")};
        })) == 0);
}

TEST_CASE("what stands around reductions of other dimensions than a batch's is done batch by batch", "[depth_first]") {
  const std::pair<runtime::Shape, ir::Ints> cases[] = {
      {{32, 128, 64}, {-2}}, {{4, 8, 96, 64}, {-2}}, {{32, 16, 16, 32}, {-3, -2}}, {{32, 12000}, {-1}}};
  const MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  for (const auto& [shape, axes] : cases) {
    INFO(runtime::to_string(shape));
    const Graph g = normalised(shape, axes);
    CHECK(segments(g) == 1);
    CHECK(temporaries(g) < runtime::numel(shape) * 4 / 2);
    check_same_bits(g);
    std::vector<std::vector<runtime::AxisId>> dims(shape.size());
    dims[0] = {0};
    check_same_bits(g, m, {spec(dims)});
    dims.back() = {1};
    check_same_bits(g, m, {spec(dims)});
  }
  CHECK(segments(normalised({4, 512, 128}, {-2})) == 0);       // few blocks: all threads are at each reduction
  CHECK(segments(normalised({16, 1024, 512}, {-2})) == 0);     // blocks that no cache holds
  CHECK(segments(normalised({32, 32, 64}, {-2})) == 0);        // all of it stays in one
  CHECK(segments(normalised({64, 64, 1024}, {-3, -2})) == 0);  // no batch
}

TEST_CASE("what blocks make is written over an operand that ends in them", "[depth_first]") {
  constexpr std::int64_t kBytes = 32 * 128 * 64 * 4;
  const Type h = f32({32, 128, 64}), w = f32({64, 64});
  const auto apply = [](Builder& b, Var x, Var by) { return product(b, x, by, "bmk,kn->bmn"); };
  const Graph once = graph({h, w}, [&](Builder& b, const Vars& x) {
    return Vars{apply(b, normalised(b, apply(b, x[0], x[1]), {-2}), x[1])};
  });
  const Graph again = graph({h, w}, [&](Builder& b, const Vars& x) {  // the operand is read afterwards too
    const Var made = apply(b, x[0], x[1]);
    return Vars{apply(b, normalised(b, made, {-2}), x[1]), apply(b, made, x[1])};
  });
  const MeshRef m = mesh({{"X", 2}});
  for (const Graph* g : {&once, &again}) {
    CHECK(segments(*g) == 1);
    check_same_bits(*g);
    check_same_bits(*g, m, {spec({{0}, {}, {}}), spec({{}, {}})});
  }
  CHECK(temporaries(once) < kBytes * 3 / 2);
  CHECK(temporaries(again) > kBytes * 3 / 2);
}

// The product of what is made inside with all of it has to come behind, and so has the second pair of products.
TEST_CASE("what needs the blocks of others waits for all of them", "[depth_first]") {
  const Graph g = graph({f32({16, 64, 64}), f32({16, 64, 64})}, [](Builder& b, const Vars& x) {
    const Var h = b.call("tanh", {product(b, x[0], x[1], "bmk,bkn->bmn")});
    const Var sum = ir::broadcast_to(b, ir::reduce_sum(b, h, {0}), {16, 64, 64});
    const Var second = product(b, h, x[1], "bmk,bkn->bmn");
    return Vars{product(b, ir::add(b, second, sum), x[0], "bmk,bkn->bmn"), h};
  });
  CHECK(segments(g) <= 1);
  check_same_bits(g);
}

}  // namespace shard::testing::depth_first
