// Sums over devices that the partitioner inserts, and their gradients' kin, keep to the law of
// runtime/kernels/kernels.h whatever the shapes: the block of each device is summed by itself, as one device would, and
// the terms are joined as neighbours by device index. Single collectives: collective_test.cpp,
// tests/golden/manual/sum_order.shard.
#include <oneapi/tbb/global_control.h>

#include "tests/interpreter/execute.h"

using namespace shard;
using namespace shard::testing;

namespace {

Graph sum_of_rows(const Type& x, const MeshRef& m, const Sharding* wanted) {
  Builder b(rows());
  Var s = ir::reduce_sum(b, b.param(x), {0});
  if (wanted) s = b.emit1(*b.core().shard, {s}, {{"layout", ir::Layout{m, *wanted}}});
  return b.finish({s});
}

Array joined(std::vector<Array> terms) {
  while (terms.size() > 1) {
    std::vector<Array> next;
    for (std::size_t i = 0; i < terms.size(); i += 2) {
      next.push_back(terms[i]);
      for (std::size_t k = 0; i + 1 < terms.size() && k < terms[i].size(); ++k)
        next.back().set(k, terms[i].dtype == DType::F32 ? terms[i].load<float>(k) + terms[i + 1].load<float>(k)
                                                        : terms[i].get(k) + terms[i + 1].get(k));
    }
    terms = std::move(next);
  }
  return terms[0];
}

// x split over `axes` (major first) along its first dimension; the sum is over the axes in mesh order.
std::string wrong(const MeshRef& m, const Axes& axes, const Type& type, bool scattered) {
  const Array x = numbers(type, 5);
  Sharding layout = Sharding::replicated(type.shape.size()), wanted = Sharding::replicated(type.shape.size() - 1);
  layout.dims[0].axes = axes;
  if (scattered) wanted.dims[0].axes = axes;
  const Graph g = sum_of_rows(type, m, scattered ? &wanted : nullptr);
  Type block = type;
  block.shape[0] /= m->size_of(layout.split_axes());
  const Graph one = sum_of_rows(block, nullptr, nullptr);
  std::vector<Array> terms;  // by device: the mesh has these axes only
  for (const Array& b : split(x, *m, layout)) terms.push_back(execute(one, {b}, nullptr, {}).at(0));
  const Array got = execute(g, {x}, m, {layout}).at(0), want = joined(terms);
  return got.bytes == want.bytes ? "" : "other bits";
}

}  // namespace

TEST_CASE("inserted sums over devices are one tree for all shapes") {
  for (std::int64_t n = 2; n <= 9; ++n)
    for (const DType t : {DType::F32, DType::F64})
      for (const runtime::Shape& rest : std::vector<runtime::Shape>{{}, {1}, {5}, {2, 3}, {n * 2, 7}, {n, 300}, {4100}})
        for (const std::int64_t each : {1, 3}) {
          runtime::Shape shape = rest;
          shape.insert(shape.begin(), n * each);
          INFO(n << " devices, " << runtime::to_string(shape));
          CHECK(wrong(mesh({{"X", n}}), {0}, Type::of(t, shape), false) == "");
          if (!rest.empty() && rest[0] % n == 0) CHECK(wrong(mesh({{"X", n}}), {0}, Type::of(t, shape), true) == "");
        }
}

TEST_CASE("inserted sums over several axes go by device index") {
  for (const auto& [x, y] : std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 2}, {2, 3}, {3, 2}, {4, 2}, {3, 3}})
    for (const Axes& axes : std::vector<Axes>{{0, 1}, {1, 0}})
      for (const runtime::Shape& rest : std::vector<runtime::Shape>{{}, {6}, {x * y, 40}}) {
        runtime::Shape shape = rest;
        shape.insert(shape.begin(), x * y * 2);
        INFO(x << " x " << y << ", " << runtime::to_string(shape));
        CHECK(wrong(mesh({{"X", x}, {"Y", y}}), axes, Type::of(DType::F32, shape), false) == "");
      }
}

namespace {

Graph product(const Type& x, const Type& w) {
  Builder b(rows());
  Var y = b.emit1(*b.core().contract, {b.param(x), b.param(w)}, {{"spec", std::string("mk,kn->mn")}});
  return b.finish({y, ir::mul(b, y, ir::constant(b, 0.3, DType::F32))});
}

// The columns [from, from + n) of a matrix, or its rows.
Array lines(const Array& x, bool rows_of, std::int64_t from, std::int64_t n) {
  return rows_of ? cut(x, {from, 0}, {n, x.shape[1]}) : cut(x, {0, from}, {x.shape[0], n});
}

}  // namespace

TEST_CASE("exact: products are summed by device index, and a device's rows are its own") {
  for (const std::int64_t n : {2, 3, 4, 5, 8})
    for (const auto& [rows_each, inner, columns] :
         std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{{1, 7, 5}, {3, 64, 33}, {16, 40, 96}}) {
      INFO(n << " devices, " << rows_each << " rows");
      const MeshRef m = mesh({{"X", n}});
      const Type x = f32({rows_each, n * inner}), w = f32({n * inner, columns});
      const Array a = numbers(x, 3), b = numbers(w, 4);
      const Graph one = product(f32({rows_each, inner}), f32({inner, columns}));
      std::vector<Array> terms;
      for (std::int64_t d = 0; d < n; ++d)
        terms.push_back(
            execute(one, {lines(a, false, d * inner, inner), lines(b, true, d * inner, inner)}, nullptr, {}, true)[0]);
      const std::vector<Sharding> split_sum{spec({{}, {0}}), spec({{0}, {}})};
      CHECK(execute(product(x, w), {a, b}, m, split_sum, true)[0].bytes == joined(terms).bytes);

      const Type tall = f32({n * rows_each, inner}), u = f32({inner, columns});
      const Array c = numbers(tall, 5), v = numbers(u, 6);
      const Array got = execute(product(tall, u), {c, v}, m, {spec({{0}, {}}), spec({{}, {}})}, true)[0];
      for (std::int64_t d = 0; d < n; ++d) {
        const Array alone = execute(one, {lines(c, true, d * rows_each, rows_each), v}, nullptr, {}, true)[0];
        CHECK(lines(got, true, d * rows_each, rows_each).bytes == alone.bytes);
      }
    }
}

TEST_CASE("fused products and sums are the same for any number of threads") {
  const MeshRef m = mesh({{"X", 4}});
  const Type x = f32({96, 512}), w = f32({512, 200});
  const Array a = numbers(x, 3), b = numbers(w, 4);
  const std::vector<Sharding> layouts{spec({{}, {0}}), spec({{0}, {}})};
  const Array many = execute(product(x, w), {a, b}, m, layouts)[0];
  tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  CHECK(execute(product(x, w), {a, b}, m, layouts)[0].bytes == many.bytes);
}

TEST_CASE("long sums of lines that lie apart are the same for any number of threads") {  // read there, and packed
  const auto check = [](const Type& x, const Type& w) {
    Builder b(rows());
    const Var y = b.emit1(*b.core().contract, {b.param(x), b.param(w)}, {{"spec", std::string("arbs,rsn->abn")}});
    const Graph g = b.finish({y});
    const std::vector<Array> in{numbers(x, 3), numbers(w, 4)};
    const Array many = execute(g, in, nullptr, {})[0];
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    CHECK(execute(g, in, nullptr, {})[0].bytes == many.bytes);
    const std::int64_t inner = x.shape[3], length = x.shape[1] * inner;
    double sum = 0;  // the last element
    const auto row = static_cast<std::size_t>(x.shape[2] * inner);
    for (std::int64_t k = 0; k < length; ++k) {
      const std::size_t back =
          static_cast<std::size_t>((length - 1 - k) / inner) * row + static_cast<std::size_t>((length - 1 - k) % inner);
      sum += in[0].get(in[0].size() - 1 - back) * in[1].get(static_cast<std::size_t>((k + 1) * w.shape[2] - 1));
    }
    CHECK(many.get(many.size() - 1) == Approx(sum).epsilon(1e-4));
  };
  check(f32({6, 64, 16, 32}), f32({64, 32, 128}));
  check(f32({48, 64, 4, 32}), f32({64, 32, 128}));
}
