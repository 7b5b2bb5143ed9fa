// Every layout into every other on 2 x 2 x 2 devices, unreduced sums included: the blocks that arrive are those that
// cutting the whole value gives, and no step holds more than it must.
#include "interpreter/ir/collective.h"
#include "interpreter/transform/passes.h"
#include "tests/interpreter/lockstep.h"
#include "tests/share.h"

using namespace shard;
using namespace shard::testing;

namespace {

// All ways to give each axis to nothing, to a dimension (in every order) or, where `unreduced`, to an unreduced sum.
std::vector<Sharding> layouts(int axes, int rank, bool unreduced) {
  std::vector<Sharding> out{Sharding::replicated(static_cast<std::size_t>(rank))};
  for (int a = 0; a < axes; ++a) {
    std::vector<Sharding> more;
    for (const Sharding& s : out) {
      more.push_back(s);
      if (unreduced) {
        more.push_back(s);
        more.back().unreduced.add(static_cast<AxisId>(a));
      }
      for (int d = 0; d < rank; ++d) {
        const auto& old = s.dims[static_cast<std::size_t>(d)].axes;
        for (std::size_t place = 0; place <= old.size(); ++place) {
          more.push_back(s);
          auto& now = more.back().dims[static_cast<std::size_t>(d)].axes;
          now.insert(now.begin() + static_cast<std::ptrdiff_t>(place), static_cast<AxisId>(a));
        }
      }
    }
    out = std::move(more);
  }
  return out;
}

Graph moved(const MeshRef& m, const Type& type, const Sharding& from, const Sharding& to) {
  Builder b(rows());
  b.set_local(m);
  Type local = Type::of(type.dtype, runtime::local_shape(*m, type.shape, from));
  local.mesh = m;
  local.varying = from.split_axes() | from.unreduced;
  Var x = b.param(local);
  return b.finish({transform::reshard(b, x, type, *m, from, to)});
}

std::int64_t largest(const Graph& g) {
  std::int64_t n = 0;
  for (const Type& t : g.types) n = std::max(n, transform::bytes_of(t));
  return n;
}

}  // namespace

TEST_CASE("every layout reaches every other") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}, {"Z", 2}});
  Type type = f32({8, 8});
  Array whole = numbers(type, 7);
  for (std::size_t i = 0; i < whole.size(); ++i) whole.set(i, static_cast<double>(i));
  auto all = layouts(3, 2, true);
  REQUIRE(all.size() == 92);
  Lockstep devices(m);
  int wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i % kShare; j < all.size(); j += kShare) {
      const Sharding &from = all[i], &to = all[j];
      Graph g = moved(m, type, from, to);
      Array back = join(devices.run(g, {split(whole, *m, from)})[0], type.shape, *m, to);
      if (back.values() == whole.values()) continue;
      if (++wrong <= 3)
        FAIL_CHECK(runtime::to_string(*m, from) << " to " << runtime::to_string(*m, to) << "\n" << ir::to_string(g));
    }
  CHECK(wrong == 0);
}

TEST_CASE("every layout reaches every other where sizes do not divide") {
  MeshRef m = mesh({{"X", 2}, {"Y", 3}});
  Type type = f32({7, 5});
  const Array whole = numbers(type, 7);
  const Sharding everywhere = Sharding::replicated(2);
  const auto all = layouts(2, 2, false);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i % kShare; j < all.size(); j += kShare) {
      Graph f = graph({type}, [&](Builder& b, const Vars& p) {
        return Vars{laid(b, ir::neg(b, laid(b, p[0], m, all[i])), m, all[j])};
      });
      const transform::Program p = lowered(f, m, {everywhere});
      INFO(runtime::to_string(*m, all[i]) << " to " << runtime::to_string(*m, all[j]) << "\n"
                                          << ir::to_string(p.local));
      CHECK(runtime::divides(*m, type.shape, p.results[0].layout));
      const Blocks got = Lockstep(m).run(p.local, {split(whole, *m, everywhere)})[0];
      const Array back = join(got, type.shape, *m, p.results[0].layout);
      for (std::size_t k = 0; k < whole.size(); ++k) CHECK(back.get(k) == -whole.get(k));
    }
}

TEST_CASE("resharding never holds more than the larger of both ends where the sizes divide") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}, {"Z", 2}});
  Type type = f32({8, 8});
  auto all = layouts(3, 2, false);
  int wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i % kShare; j < all.size(); j += kShare) {
      const Sharding &from = all[i], &to = all[j];
      Graph g = moved(m, type, from, to);
      std::int64_t ends = 4 * std::max(runtime::numel(runtime::local_shape(*m, type.shape, from)),
                                       runtime::numel(runtime::local_shape(*m, type.shape, to)));
      if (largest(g) <= ends) continue;
      if (++wrong <= 3)
        FAIL_CHECK(runtime::to_string(*m, from) << " to " << runtime::to_string(*m, to) << "\n" << ir::to_string(g));
    }
  CHECK(wrong == 0);
}

TEST_CASE("extremes are unreduced too") {
  MeshRef m = mesh({{"X", 2}, {"Y", 4}});
  Type type = f32({8, 8});
  Array whole = numbers(type, 3);
  for (auto kind : {runtime::UnreducedKind::Max, runtime::UnreducedKind::Min})
    for (const Sharding& to : layouts(2, 2, false))
      for (Axes unreduced : {Axes{0}, Axes{1}, Axes{0, 1}}) {
        Sharding from = spec({{}, {}}, unreduced);
        from.unreduced_kind = kind;
        Graph g = moved(m, type, from, to);
        CHECK(join(Lockstep(m).run(g, {split(whole, *m, from)})[0], type.shape, *m, to).values() == whole.values());
      }
}

TEST_CASE("the steps that are known to be shortest") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Type type = f32({8, 16});
  auto steps = [&](const Sharding& from, const Sharding& to) { return communicates(moved(m, type, from, to)); };
  using S = std::vector<std::string>;
  CHECK(steps(spec({{0}, {}}), spec({{0}, {}})) == S{});
  CHECK(steps(spec({{}, {}}), spec({{0}, {1}})) == S{});  // a slice moves nothing
  CHECK(steps(spec({{0}, {}}), spec({{}, {}})) == S{"all_gather(512)"});
  CHECK(steps(spec({{0, 1}, {}}), spec({{}, {}})) == S{"all_gather(512)"});  // two axes, one step
  CHECK(steps(spec({{0, 1}, {}}), spec({{0}, {}})) == S{"all_gather(128)"});
  CHECK(steps(spec({{0}, {}}), spec({{}, {0}})) == S{"all_to_all(128)"});
  CHECK(steps(spec({{0, 1}, {}}), spec({{1, 0}, {}})) == S{"ppermute(64)"});  // the order of axes
  CHECK(steps(spec({{0}, {}}, {1}), spec({{0}, {}})) == S{"psum(128)"});
  CHECK(steps(spec({{}, {}}, {0}), spec({{0}, {}})) == S{"psum_scatter(512)"});
  CHECK(steps(spec({{}, {}}, {0}), spec({{}, {0}})) == S{"psum_scatter(512)"});
  CHECK(steps(spec({{}, {}}, {0, 1}), spec({{}, {}})) == S{"psum(512)"});  // several axes once
  CHECK(steps(spec({{}, {}}, {0, 1}), spec({{0, 1}, {}})) == S{"psum_scatter(512)"});
  CHECK(steps(spec({{}, {}}, {0, 1}), spec({{0}, {}})) == S{"psum_scatter(512)", "psum(128)"});
  CHECK(steps(spec({{}, {}}), spec({{}, {}}, {0})) == S{});  // into an unreduced sum: nothing moves
  CHECK(steps(spec({{0}, {}}), spec({{}, {}}, {0})) == S{});
}

TEST_CASE("an axis of size 1 moves nothing") {
  MeshRef m = mesh({{"X", 8}, {"one", 1}});
  CHECK(communicates(moved(m, f32({8, 4}), spec({{1}, {}}), spec({{}, {1}}))).empty());
  CHECK(communicates(moved(m, f32({8, 4}), spec({{0, 1}, {}}, {}), spec({{0}, {}}))).empty());
  CHECK(communicates(moved(m, f32({8, 4}), spec({{0}, {}}, {1}), spec({{0}, {}}))).empty());
}

TEST_CASE("axes of other sizes take each other's place where the blocks are as many") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}, {"Z", 2}});
  Type type = f32({8, 8});
  Array whole = numbers(type, 5);
  auto all = layouts(3, 2, false);
  for (std::size_t i = 0; i < all.size(); i += 3)
    for (std::size_t j = 1; j < all.size(); j += 2) {
      bool fits = true;
      for (const Sharding* s : {&all[i], &all[j]})
        for (const auto& d : s->dims) fits &= 8 % runtime::parts(*m, d) == 0;
      if (!fits) continue;
      Graph g = moved(m, type, all[i], all[j]);
      CHECK(join(Lockstep(m).run(g, {split(whole, *m, all[i])})[0], type.shape, *m, all[j]).values() == whole.values());
    }
  CHECK(communicates(moved(m, type, spec({{0}, {}}), spec({{1, 2}, {}}))) == std::vector<std::string>{"ppermute(64)"});
}

// Every arrangement of seven axes takes minutes to list. What is sent is by `comm_cost`; gathering a value and slicing
// it again sends what is missing of the whole.
TEST_CASE("layouts of eight axes are reached at once, and for no more than a gather") {
  std::vector<std::pair<std::string, std::int64_t>> axes;
  for (char c = 'a'; c < 'i'; ++c) axes.emplace_back(std::string(1, c), 2);
  MeshRef m = mesh(axes);
  Type type = f32({256, 256});
  Array whole = numbers(type, 7);
  auto sent = [&](const Graph& g) {
    std::int64_t n = 0;
    for (const auto& r : transform::account(g, m.get()).comm) {
      std::int64_t devices = 1;
      for (std::size_t i = 0; i < r.axes.size(); ++i) devices *= 2;
      n += ir::comm_cost(*r.op->comm, r.given, devices).sent;
    }
    return n;
  };
  std::uint32_t state = 1;
  auto draw = [&](std::uint32_t n) { return ((state = state * 1664525 + 1013904223) >> 16) % n; };
  auto drawn = [&] {
    Axes order;
    for (AxisId a = 0; a < 8; ++a) order.insert(order.begin() + static_cast<std::ptrdiff_t>(draw(a + 1u)), a);
    Sharding s = spec({{}, {}});
    for (AxisId a : order)
      if (const std::uint32_t d = draw(3); d < 2) s.dims[d].axes.push_back(a);
    return s;
  };
  int wrong = 0;
  for (int i = 0; i < 400; ++i) {
    const Sharding from = drawn(), to = drawn();
    const Graph g = moved(m, type, from, to);
    const std::int64_t block = 4 * runtime::numel(runtime::local_shape(*m, type.shape, from));
    wrong += sent(g) > 4 * 256 * 256 - block;
    if (i % 40 == 0)
      CHECK(join(Lockstep(m).run(g, {split(whole, *m, from)})[0], type.shape, *m, to).values() == whole.values());
  }
  CHECK(wrong == 0);
  // 256 KB over 128 devices are 2 KB a block: a permutation of it, then two axes of two are gathered from 2 KB.
  CHECK(sent(moved(m, type, spec({{0, 1, 2}, {3, 4, 5, 6}}), spec({{5, 3, 6}, {1, 0}}))) == 2048 + 3 * 2048);
}
