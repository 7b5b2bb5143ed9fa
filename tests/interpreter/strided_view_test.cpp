// Orders of memory: strides follow from the order alone (row-major over what is named, worked out by hand).
#include <catch2/catch.hpp>

#include "interpreter/exec/strided_view.h"

using namespace shard::exec;

TEST_CASE("device axes stand before the dimensions that they are anchored at") {
  const Mesh mesh{{{"X", 4, {}}, {"Y", 2, {}}}, {0, 1, 2, 3, 4, 5, 6, 7}};
  const AxisId x = 0, y = 1;
  AxisSet both;
  both.add(x), both.add(y);

  const StridedView dense = dense_place(0, DType::F32, both, {3, 5}, &mesh);  // [X, Y, 3, 5]
  CHECK(dense.device == Strides{30, 15});
  CHECK(dense.strides == Strides{5, 1});
  CHECK(is_dense(dense, &mesh));

  const Anchors order{{x, 0}, {y, 1}};  // [X, 3, Y, 5]
  const StridedView between = anchored_place(0, DType::F32, order, {3, 5}, &mesh);
  CHECK(between.device == Strides{30, 5});
  CHECK(between.strides == Strides{10, 1});
  CHECK(!is_dense(between, &mesh));
  CHECK(view_of(between, order, &mesh).shape == Shape{4, 3, 2, 5});
  CHECK(is_contiguous(view_of(between, order, &mesh)));
  CHECK(view_of(between, {y, x}, &mesh).strides == Strides{5, 30, 10, 1});

  const StridedView after = anchored_place(0, DType::F32, {{y, 2}, {x, 2}}, {3, 5}, &mesh);  // [3, 5, Y, X]
  CHECK(after.device == Strides{1, 4});
  CHECK(after.strides == Strides{40, 8});
}

TEST_CASE("an order is read from strides, where all of the memory is seen") {
  const Mesh mesh{{{"X", 4, {}}, {"Y", 2, {}}}, {0, 1, 2, 3, 4, 5, 6, 7}};
  for (const Anchors& order : {Anchors{{0, 0}, {1, 0}}, Anchors{{1, 0}, {0, 0}}, Anchors{{0, 0}, {1, 1}},
                               Anchors{{1, 1}, {0, 2}}, Anchors{{0, 2}, {1, 2}}}) {
    const StridedView p = anchored_place(0, DType::F32, order, {3, 5}, &mesh);
    const auto read = anchors_of(p, &mesh);
    REQUIRE(read);
    const StridedView same = anchored_place(0, DType::F32, *read, {3, 5}, &mesh);
    CHECK(same.device == p.device);
    CHECK(same.strides == p.strides);
    CHECK(!anchors_of(seen_as(p, permuted(strided(p), {1, 0})), &mesh));
    CHECK(!anchors_of(broadcast(p, {2, 3, 5}), &mesh));
    StridedView cut = p;
    cut.offset = 1;
    CHECK(!anchors_of(cut, &mesh));
  }
  StridedView row = dense_place(0, DType::F32, {}, {3, 5}, nullptr);
  row.shape = {1, 5};  // part of it, which sizes alone do not tell
  CHECK(anchors_of(row, nullptr));
}
