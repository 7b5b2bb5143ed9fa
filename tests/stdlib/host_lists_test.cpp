// Lists, trees, numbers of the host. Expectations are Python's for the same functions.
#include <catch2/catch.hpp>

#include "tests/stdlib/script.h"

using Catch::Contains;
using shard::test::error;
using shard::test::run;

TEST_CASE("len counts items, fields, characters and rows") {
  CHECK(
      run(R"(print(len([1, 2]), len((1, 2, 3)), len({a: 1}), len("naïve"), len(range(4)), len(zeros([5, 2])), len([])))") ==
      "2 3 1 5 4 5 0\n");
  CHECK_THAT(error("len(3)"), Contains("no length"));
  CHECK_THAT(error("len(array(3))"), Contains("rank 0"));
}

TEST_CASE("range counts as Python's does") {
  CHECK(run("print(range(3), range(2, 5), range(0, 10, 4), range(5, 0, -2), range(3, 3), range(-2))") ==
        "0..3 2..5 [0, 4, 8] [5, 3, 1] 3..3 0..0\n");
  CHECK_THAT(error("range(0, 5, 0)"), Contains("step"));
  CHECK_THAT(error("range(0, 9000000000000000000, 2)"), Contains("too long"));
}

TEST_CASE("map and filter take the function first, or second after a dot or a pipe") {
  CHECK(run("let xs = [1, 2, 3]\nprint(map(fn(x) = x * x, xs), xs.map(fn(x) = x + 1), xs |> filter(fn(x) = x != 2))") ==
        "[1, 4, 9] [2, 3, 4] [1, 3]\n");
  CHECK(run("print(map(fn(a, b) = a + b, [1, 2], [10, 20]), zip([1, 2], [\"a\", \"b\"]), enumerate([\"x\"], start: "
            "5))") == "[11, 22] [(1, a), (2, b)] [(5, x)]\n");
  CHECK_THAT(error("map(1, 2)"), Contains("takes a function"));
  CHECK_THAT(error("zip([1], [1, 2])"), Contains("1 and 2"));
}

TEST_CASE("append is a value") {
  CHECK(run("let a = [1]\nlet b = append(a, 2)\na = append(a, 3)\nprint(a, b)") == "[1, 3] [1, 2]\n");
  CHECK_THAT(error("append(1, 2)"), Contains("takes a list"));
}

TEST_CASE("max, min and sum of numbers and lists") {
  CHECK(run("print(max(4, 7), min([3, 1, 2]), sum([1, 2.5]), sum([]), max([\"a\", \"c\", \"b\"]), sum([true, true]), "
            "max(2, 2.5))") == "7 1 3.5 0 c 2 2.5\n");
  CHECK(run("print(max(array([1, 5, 2])), sum([array(1), array(2)]), sum(ones([2, 3]), axis: 0), max(0..4))") ==
        "5 3 [2. 2. 2.] 3\n");
  CHECK_THAT(error("max([])"), Contains("empty"));
  CHECK_THAT(error("sum([9223372036854775807, 1])"), Contains("64 bits"));
  CHECK_THAT(error("sum([\"a\"])"), Contains("string"));
}

TEST_CASE("trees: map, leaves, reduce") {
  CHECK(run("print(tree_map(fn(x) = x * 2, {a: 1, b: [2, (3, none)]}))") == "{a: 2, b: [4, (6, none)]}\n");
  CHECK(run("print(tree_leaves({a: 1, b: [2, none]}), tree_reduce(fn(a, b) = a + b, [1, (2, 3)]), tree_reduce(fn(a, b) "
            "= a + b, [], 7))") == "[1, 2] 6 7\n");
  CHECK_THAT(error("tree_map(fn(a, b) = a, {a: 1}, {b: 1})"), Contains("{a: *}") && Contains("{b: *}"));
}

TEST_CASE("conversions of host values") {
  CHECK(
      run(R"(print(int(3.9), int(-3.9), int("12"), int(true), float(2), float("1e3"), str(1.5) + "x", int(array([7]))))") ==
      "3 -3 12 1 2.0 1000.0 1.5x 7\n");
  CHECK(run("print(bytes(zeros([2, 3])), bytes({a: zeros([4], f16), b: [true]}))") == "24 16\n");
  CHECK_THAT(error("int(\"x1\")"), Contains("\"x1\" is no integer"));
  CHECK_THAT(error("int(1e30)"), Contains("64-bit"));
  CHECK_THAT(error("float([1])"), Contains("list"));
}

TEST_CASE("array: default types, ranges of types, ragged lists") {
  CHECK(run("print(typeof(array(1)), typeof(array([1, 2.5])), typeof(array([true, 2])), typeof(array([])), "
            "typeof(array([[], []])), typeof(array(0..3)))") == "i32[] f32[2] i32[2] f32[0] f32[2,0] i32[3]\n");
  CHECK(run("print(array([3000000000], u32), array([1.9, -1.9], i32), array([1, 0], bool), array([[array(1), 2], [3, "
            "4]]))") == "[3000000000] [ 1 -1] [ true false] [[1 2]\n [3 4]]\n");
  CHECK_THAT(error("array([1, 3000000000])"), Contains("3000000000 does not fit in i32") && Contains("i64"));
  CHECK_THAT(error("array([300], u8)"), Contains("300 does not fit in u8"));
  CHECK_THAT(error("array([[1, 2], [3]])"), Contains("at [1] has 1 items"));
  CHECK_THAT(error("array([1, [2]])"), Contains("[1]"));
  CHECK_THAT(error("array([1, \"a\"])"), Contains("at [1] is string"));
}
