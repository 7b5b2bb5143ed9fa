// typeof, sharding, shards; print and assert at once and in programs.
#include <catch2/catch.hpp>

#include "tests/stdlib/script.h"

using Catch::Contains;
using shard::test::error;
using shard::test::run;

TEST_CASE("types and layouts of values") {
  CHECK(run("mesh m = (@X: 4, @Y: 2)\nlet x = shard zeros([8, 4]) as P(@X, @Y)\nprint(typeof(x), sharding(x), "
            "sharding(3), sharding({a: x, b: zeros([2])}))") == "f32[8,4] P(@X, @Y) P() {a: P(@X, @Y), b: P()}\n");
  CHECK(run("print(typeof(1), typeof(1.5), typeof([1, true]), typeof(\"a\"))") ==
        "i32[] f32[] [i32[], bool[]] string\n");
  CHECK(run("mesh m = (@X: 2)\nlet s = shards(shard arange(4) as P(@X))\nprint(s[1].device, s[1].index, s[1].data, "
            "len(s))") == "cpu:1 (2..4,) [2 3] 2\n");
  CHECK(
      run("mesh m = (@X: 4)\nprint(axis_size(@X), device_count(), process_count(), process_index(), len(devices()))") ==
      "4 8 1 0 8\n");
  CHECK_THAT(error("mesh m = (@X: 4)\naxis_size(@Z)"), Contains("@Z") && Contains("@X"));
}

TEST_CASE("device_get gives the whole array without a layout") {
  CHECK(run("mesh m = (@X: 4)\nlet x = device_get({a: shard arange(8) as P(@X)})\nprint(x, sharding(x.a), "
            "len(shards(x.a)))") == "{a: [0 1 2 3 4 5 6 7]} P() 1\n");
}

TEST_CASE("an array from its blocks, each made once") {
  CHECK(run("mesh m = (@X: 2, @Y: 2)\nlet whole = arange(16).reshape([4, 4])\nlet n = 0\nlet x = from_blocks(fn(index) "
            "{ n += 1; whole[index] }, [4, 4], P(@X))\n"
            "print(n, sharding(x), all(x == whole), shards(x)[3].index, all(whole[shards(x)[3].index] == "
            "shards(x)[3].data))") == "2 P(@X) true (2..4, 0..4) true\n");
  CHECK_THAT(error("mesh m = (@X: 2)\nfrom_blocks(fn(i) = zeros([3]), [4], P(@X))"),
             Contains("(3)") && Contains("(2)"));
}

TEST_CASE("gradients are checked against differences") {
  CHECK(run("check_grads(fn(x, p) = sum(tanh(x @ p.w) ** 2), normal(key(0), [3, 2]), {w: normal(key(1), [2, 2])})") ==
        "");
  CHECK_THAT(error("check_grads(custom_vjp(fn(x) = x * x, fn(x) = (x * x, x), fn(x, g) = (3 * x * g,)), array(2.0))"),
             Contains("disagrees"));
}

TEST_CASE("comm tells what a call says") {
  CHECK(run("mesh m = (@X: 8)\nlet x = shard ones([8, 4]) as P(@X)\nlet c = comm(fn(x) = x.T @ x, x)\nprint(c, "
            "c.all_gather)") == "{psum: {count: 1, bytes: 64}} {count: 0, bytes: 0}\n");
  CHECK_THAT(error("jit fn f(x) { comm(fn(x) = x, x) }\nf(ones([2]))"), Contains("outside"));
}

TEST_CASE("parts of an array that are joined again in their order, or round its end, move only edges") {
  const std::string given = "mesh m = (@X: 4)\nlet x = shard arange(8.0).reshape([8, 1]) as P(@X)\n";
  const auto both = [&](const std::string& f) {
    return run(given + "jit fn f(x) = " + f + "\nprint(f(x)[:, 0], comm(f, x))");
  };
  CHECK(both("concat([x[6:], x[:2], x[2:6]])") == "[6. 7. 0. 1. 2. 3. 4. 5.] {ppermute: {count: 1, bytes: 8}}\n");
  CHECK(both("concat(split(x, 4))") == "[0. 1. 2. 3. 4. 5. 6. 7.] {}\n");
  CHECK(both("grad(fn(x) = sum(concat([x[1:], x[:1]]) * x[::-1]))(x)").substr(0, 34) ==
        "[ 0. 14. 12. 10.  8.  6.  4.  2.] ");  // of the sum of x[i] * x[8 - i]
  SECTION("other parts stay what they are") {
    const auto values = [&](const std::string& f) { return run(given + "jit fn f(x) = " + f + "\nprint(f(x)[:, 0])"); };
    CHECK(values("concat([x[6:], x[2:6], x[:2]])") == "[6. 7. 2. 3. 4. 5. 0. 1.]\n");
    CHECK(values("concat([x[4:], x[4:]])") == "[4. 5. 6. 7. 4. 5. 6. 7.]\n");
    CHECK(values("concat([x[4:], x[:2]])") == "[4. 5. 6. 7. 0. 1.]\n");
    CHECK(values("concat([x[4:], (x + 1)[:4]])") == "[4. 5. 6. 7. 1. 2. 3. 4.]\n");
    CHECK(run("jit fn f(x) = concat([x[1:, :2], x[:1, 1:]])\nprint(f(arange(6).reshape([2, 3])))") ==
          "[[3 4]\n [1 2]]\n");
  }
}

TEST_CASE("print joins with blanks, at once or when the program runs") {
  CHECK(run("print()\nprint(1, \"a\", [2.0])") == "\n1 a [2.0]\n");
  CHECK(run("jit fn f(x) {\n  print(\"x\", x, {a: [x + 1]})\n  print(\"traced\", x.shape)\n  x\n}\nlet a = f(array([1, "
            "2]))\nlet b = f(array([3, 4]))") == "traced (2,)\nx [1 2] {a: [[2 3]]}\nx [3 4] {a: [[4 5]]}\n");
  CHECK(run("jit fn f(x) {\n  print(\"{x:.2f}|{x:>6}\")\n  x\n}\nlet a = f(array(1.5))") == "1.50|   1.5\n");
}

TEST_CASE("assertions hold or say what differs") {
  CHECK(run("assert(1 < 2)\nassert_close([1.0, 2.0], array([1.0, 2.000001]))\nassert_close({a: 1.0}, {a: "
            "1})\nassert_close(nan, nan)") == "");
  CHECK_THAT(error("assert(1 > 2, \"one is {1}\")"), Contains("assertion failed: one is 1"));
  CHECK_THAT(error("assert_close(array([1.0, 2.0]), array([1.0, 2.5]))"),
             Contains("2.0 and 2.5 at [1]") && Contains("1 of 2"));
  CHECK_THAT(error("assert_close(zeros([2]), zeros([3]))"), Contains("f32[2]") && Contains("f32[3]"));
  CHECK_THAT(error("assert_close({a: 1.0}, {b: 1.0})"), Contains("structure"));
  CHECK_THAT(error("jit fn f(x) {\n  assert(x > 0, \"x is {x}\")\n  x\n}\nf(1.0)\nf(-1.0)"),
             Contains("x is -1.0") && Contains("test.shard:2:3"));
  CHECK(run("assert_error(fn() = [1][4], \"4\")") == "");
  CHECK_THAT(error("assert_error(fn() = 1)"), Contains("no error"));
  CHECK_THAT(error("assert_error(fn() = error(\"abc\"), \"xyz\")"), Contains("abc"));
  CHECK_THAT(error("error(\"stop {1 + 1}\")"), Contains("error: stop 2"));
}

TEST_CASE("help tells signatures and documentation") {
  CHECK_THAT(run("help(len)"), Contains("len(x)"));
  CHECK_THAT(run("## Doubles.\nfn twice(x, n = 2) = x * n\nhelp(twice)"),
             Contains("fn twice(x, n = 2)") && Contains("Doubles."));
  CHECK_THAT(run("help(sum)"), Contains("axis"));
}
