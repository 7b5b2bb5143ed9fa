// Every layout into every other on 2 x 2 x 2 devices, unreduced sums included: the blocks that arrive are those that
// cutting the whole value gives, and no step holds more than it must.
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
