// Meshes, layouts and types as text (expectations: the notation of JAX's jax.typeof, and the language's own specs), and
// where the blocks of device arrays lie.
#include <catch2/catch.hpp>

#include <numeric>

#include "runtime/mesh/device_array.h"
#include "tests/runtime/arrays.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

namespace {

MeshRef mesh_of(std::vector<MeshAxis> axes) {
  Mesh m;
  m.axes = std::move(axes);
  m.devices.resize(static_cast<std::size_t>(m.size_of(m.all())));
  std::iota(m.devices.begin(), m.devices.end(), 0);
  return std::make_shared<Mesh>(m);
}
AxisSet set_of(std::initializer_list<AxisId> axes) {
  AxisSet s;
  for (const AxisId a : axes) s.add(a);
  return s;
}

// A device array of the given blocks' values: f(position, index in the block).
std::shared_ptr<DeviceArray> place(Pool& pool, const MeshRef& mesh, Shape shape, Sharding layout, AxisSet distinct,
                                   const std::vector<float>& physical) {
  auto a = std::make_shared<DeviceArray>();
  a->type = Type::of(DType::F32, std::move(shape));
  a->type.mesh = mesh;
  a->layout = std::move(layout);
  a->distinct = distinct;
  a->buffer = pool.allocate(physical.size() * 4);
  std::copy(physical.begin(), physical.end(), static_cast<float*>(a->buffer->data()));
  return a;
}
std::vector<float> values(const DeviceArray& a) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < numel(a.type.shape); ++i) out.push_back(static_cast<float>(element_double(a, i)));
  return out;
}

}  // namespace

TEST_CASE("meshes", "[mesh]") {
  const MeshRef m = mesh_of({{"data", 4, AxisKind::Auto}, {"model", 2, AxisKind::Explicit}});
  CHECK(to_string(*m) == "(@data: 4, @model: 2 explicit)");
  CHECK(m->find("model") == AxisId{1});
  CHECK_FALSE(m->find("x"));
  CHECK(m->size() == 8);
  CHECK(m->of_kind(AxisKind::Auto) == AxisSet::of(0));
  const MeshRef same = mesh_of({{"data", 4, AxisKind::Manual}, {"model", 2, AxisKind::Explicit}});
  CHECK(same_devices(*m, *same));
  CHECK_FALSE(*m == *same);
  CHECK_FALSE(same_devices(*m, *mesh_of({{"model", 2, AxisKind::Explicit}, {"data", 4, AxisKind::Auto}})));
  AxisSet s = set_of({3, 31, 0});
  CHECK(s.list() == std::vector<AxisId>{0, 3, 31});
  s.remove(3);
  CHECK(s.count() == 2);
  CHECK(s.contains(AxisSet::of(31)));
}

TEST_CASE("layouts as written", "[sharding]") {
  const MeshRef m = mesh_of({{"X", 2, AxisKind::Auto}, {"Y", 2, AxisKind::Auto}, {"Z", 2, AxisKind::Auto}});
  Sharding s = Sharding::replicated(3);
  CHECK(to_string(*m, s) == "P()");
  s.dims[0].axes = {0};
  CHECK(to_string(*m, s) == "P(@X)");
  s.dims[0].axes = {};
  s.dims[1].axes = {2, 1};
  CHECK(to_string(*m, s) == "P(_, @(Z, Y))");
  s.dims[2].open = true;
  CHECK(to_string(*m, s) == "P(_, @(Z, Y), ?)");
  s.unreduced = AxisSet::of(0);
  CHECK(to_string(*m, s) == "P(_, @(Z, Y), ?, unreduced: @X)");
  CHECK(s.split_axes() == set_of({1, 2}));
  CHECK(s.used_axes() == set_of({0, 1, 2}));
  CHECK(local_shape(*m, {3, 8, 5}, s) == Shape{3, 2, 5});
  CHECK(block_shape(*m, {3, 8, 5}, s) == Shape{3, 2, 5});
  CHECK(block_shape(*m, {3, 6, 5}, s) == Shape{3, 2, 5});  // 2, 2, 2 and none
  CHECK(block_shape(*m, {3, 1, 0}, s) == Shape{3, 1, 0});
  CHECK(divides(*m, {3, 8, 5}, s));
  CHECK_FALSE(divides(*m, {3, 6, 5}, s));
  CHECK_THROWS_WITH(local_shape(*m, {3, 6, 5}, s),
                    Catch::Contains("dimension 1 of size 6") && Catch::Contains("4 parts"));
}

TEST_CASE("types as written", "[type]") {
  const MeshRef m = mesh_of({{"X", 2, AxisKind::Explicit},
                             {"Y", 2, AxisKind::Explicit},
                             {"Z", 2, AxisKind::Explicit},
                             {"i", 2, AxisKind::Manual},
                             {"a", 2, AxisKind::Explicit},
                             {"b", 2, AxisKind::Explicit},
                             {"c", 2, AxisKind::Explicit}});
  Type t = Type::of(DType::F32, {8, 4});
  CHECK(to_string(t) == "f32[8,4]");
  CHECK(to_string(Type::of(DType::I32, {})) == "i32[]");
  t.mesh = m;
  t.sharding.dims[0].axes = {0};
  t.sharding.dims[1].axes = {1, 2};
  t.varying = AxisSet::of(3);
  t.sharding.unreduced = set_of({4, 5});
  t.sharding.reduced = AxisSet::of(6);
  CHECK(to_string(t) == "f32[8@X,4@(Y,Z)]{V:i, U:(a,b), R:c}");
  Type u = t;
  CHECK(u == t);
  CHECK(hash(u) == hash(t));
  u.mesh = std::make_shared<Mesh>(*m);
  CHECK(u == t);
  CHECK(hash(u) == hash(t));
  u.sharding.unreduced_kind = UnreducedKind::Max;
  CHECK_FALSE(u == t);
  CHECK(to_string(u) == "f32[8@X,4@(Y,Z)]{V:i, U_max:(a,b), R:c}");
  u = t;
  u.weak = true;
  CHECK_FALSE(u == t);
}

TEST_CASE("blocks come together", "[device_array]") {
  Pool pool;
  const MeshRef m = mesh_of({{"X", 2, AxisKind::Auto}, {"Y", 3, AxisKind::Auto}});
  // 4 x 3, rows over @X, columns over @Y; element (r, c) is 10 r + c.
  Sharding both = Sharding::replicated(2);
  both.dims[0].axes = {0};
  both.dims[1].axes = {1};
  const auto a = place(pool, m, {4, 3}, both, set_of({0, 1}), {0, 10, 1, 11, 2, 12, 20, 30, 21, 31, 22, 32});
  CHECK(a->local() == Shape{2, 1});
  CHECK(a->physical() == Shape{2, 3, 2, 1});
  CHECK(values(*to_host(pool, a)) == std::vector<float>{0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
  CHECK(values(*block_of(pool, a, 4)) == std::vector<float>{21, 31});  // device (1, 1)
  CHECK(index_of(*a, 4) == std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 4}, {1, 2}});

  // Over (Y, X): the first is the slower one.
  Sharding swapped = Sharding::replicated(1);
  swapped.dims[0].axes = {1, 0};
  const auto b = place(pool, m, {6}, swapped, set_of({0, 1}), {0, 2, 4, 1, 3, 5});
  CHECK(values(*to_host(pool, b)) == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(index_of(*b, 3) == std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 2}});

  // Leading dimension over axes in mesh order: nothing moves.
  Sharding leading = Sharding::replicated(2);
  leading.dims[0].axes = {0, 1};
  const auto c = place(pool, m, {6, 2}, leading, set_of({0, 1}), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const ArrayRef whole = to_host(pool, c);
  CHECK(whole->buffer == c->buffer);
  CHECK(values(*whole)[7] == 7);

  // Replicated: one block for everyone.
  const auto r = place(pool, m, {2}, Sharding::replicated(1), {}, {5, 6});
  CHECK(to_host(pool, r) == r);
  CHECK(values(*block_of(pool, r, 5)) == std::vector<float>{5, 6});

  // An unreduced sum over @X of columns split over @Y, and the same with a maximum.
  Sharding unreduced = Sharding::replicated(1);
  unreduced.dims[0].axes = {1};
  unreduced.unreduced = AxisSet::of(0);
  const auto u = place(pool, m, {3}, unreduced, set_of({0, 1}), {1, 2, 3, 10, 0, -30});
  CHECK(values(*to_host(pool, u)) == std::vector<float>{11, 2, -27});
  unreduced.unreduced_kind = UnreducedKind::Max;
  CHECK(values(*to_host(pool, place(pool, m, {3}, unreduced, set_of({0, 1}), {1, 2, 3, 10, 0, -30}))) ==
        std::vector<float>{10, 2, 3});

  // Blocks that are stored for an axis that splits nothing hold the same value.
  Sharding rows = Sharding::replicated(1);
  rows.dims[0].axes = {0};
  CHECK(values(*to_host(pool, place(pool, m, {2}, rows, set_of({0, 1}), {7, 7, 7, 8, 8, 8}))) ==
        std::vector<float>{7, 8});
}

TEST_CASE("host data in and elements out", "[device_array]") {
  Pool pool;
  const std::int32_t data[] = {1, -2, 3};
  const ArrayRef a = from_host(pool, DType::I32, {3}, data);
  CHECK(element_int(*a, 1) == -2);
  CHECK(element_double(*a, 2) == 3);
  CHECK_FALSE(a->type.mesh);
  CHECK(block_of(pool, a, 0)->local() == Shape{3});
  CHECK(index_of(*a, 0)[0].second == 3);
  CHECK_NOTHROW(from_host(pool, DType::F64, {0, 4}, nullptr));
  CHECK_THROWS_AS(from_host(pool, DType::F64, {std::int64_t{1} << 60}, nullptr), RuntimeError);
  const double d[] = {1e300, -2.7, NAN};
  const ArrayRef f = from_host(pool, DType::F64, {3}, d);
  CHECK(element_int(*f, 0) == INT64_MAX);
  CHECK(element_int(*f, 1) == -2);
  CHECK(element_int(*f, 2) == 0);
}
