// Control flow on conditions that only a run knows, host numbers under trace, strings made when the program runs, and
// layouts: meshes, specs, rules, annotations. Values: by hand, and as jax.lax.cond and while_loop give them.
#include <catch2/catch.hpp>

#include "tests/stdlib/script.h"

using Catch::Contains;
using shard::test::error;
using shard::test::run;

TEST_CASE("if on a traced condition") {
  CHECK(run("jit fn f(x) = if x > 0 { x * 2 } else { -x }\nprint(f(array(3.0)), f(array(-4.0)))") == "6.0 4.0\n");
  CHECK(run("jit fn f(x) { let y = 0; let s = \"a\"; if x > 0 { y = x; s = \"a\" }; if x > 2 { y += 1 }; (y, s) }\n"
            "print(f(array(1.5)), f(array(-1.0)), f(array(3.0)))") == "(1.5, a) (0.0, a) (4.0, a)\n");
  CHECK(
      run("jit fn f(x) { let p = {a: 1, b: [x, 2]}; if x > 0 { p.a = 5; p.b[1] = x } else if x < -5 { p.a = 7 }; p }\n"
          "print(f(array(1.0)), f(array(-1.0)), f(array(-9.0)))") ==
      "{a: 5, b: [1.0, 1.0]} {a: 1, b: [-1.0, 2.0]} {a: 7, b: [-9.0, 2.0]}\n");
  CHECK(run("let w = array([1.0, 2.0])\njit fn f(x) = if x.sum() > 0 { if x[0] > 1 { x * w } else { w } } else { "
            "zeros([2]) }\n"
            "print(f(array([2.0, 0.0])), f(array([1.0, 0.0])), f(array([-1.0, 0.0])))") == "[2. 0.] [1. 2.] [0. 0.]\n");
  CHECK(run("jit fn f(x) = if x > 0 { 1 } else { 2.5 }\nprint(f(array(1)), f(array(-1)), typeof(f(array(1))))") ==
        "1.0 2.5 f32[]\n");
  CHECK(run("jit fn f(x) = if x > 0 and not (x > 5) or x == -1 { 1 } else { 0 }\nprint(f(array(3)), f(array(7)), "
            "f(array(-1)))") == "1 0 1\n");
  CHECK(run("print(grad(fn(x) = if x > 0 { x * x } else { 3 * x })(array(2.0)), grad(fn(x) = if x > 0 { x * x } else { "
            "3 * x })(array(-2.0)))") == "4.0 3.0\n");
}

TEST_CASE("branches that disagree") {
  CHECK_THAT(error("jit fn f(x) = if x > 0 { [x, x] } else { [x] }\nf(array(1.0))"),
             Contains("[*, *]") && Contains("[*]"));
  CHECK_THAT(error("jit fn f(x) = if x > 0 { x } else { zeros([2]) }\nf(array(1.0))"),
             Contains("f32[]") && Contains("f32[2]"));
  CHECK_THAT(error("jit fn f(x) { let s = \"\"; if x > 0 { s = \"a\" } else { s = \"b\" }; s }\nf(array(1.0))"),
             Contains("`s`"));
  CHECK_THAT(error("jit fn f(x) { if x > 0 { x } }\nf(array(1.0))"), Contains("else"));
  CHECK_THAT(error("jit fn f(x) { if x > 0 { return x }; x + 1 }\nf(array(1.0))"),
             Contains("return") && Contains("where"));
  CHECK_THAT(error("jit fn f(x) { for i in 0..3 { if x > i { break } }; x }\nf(array(1.0))"), Contains("break"));
  CHECK_THAT(error("jit fn f(x) { let n = 0; let inc = fn() { n += 1 }; if x > 0 { inc() }; n }\nf(array(1.0))"),
             Contains("return the value"));
}

TEST_CASE("while on a traced condition") {
  CHECK(run("jit fn f(x) { let s = {n: 0, y: x}; while s.y < 100.0 and s.n < 50 { s.y = s.y * 2; s.n += 1 }; s "
            "}\nprint(f(array(1.0)), f(array(0.0)))") == "{n: 7, y: 128.0} {n: 50, y: 0.0}\n");
  // a host number takes the type that the body gives it
  CHECK(run("jit fn f(x) { let total = 0; let i = 0; while i < x { total += i * 0.5; i += 1 }; total }\nlet r = "
            "f(array(4))\nprint(r, typeof(r))") == "3.0 f32[]\n");
  CHECK(run("jit fn f(x) { let done = false; let n = x; while not done { n = n - 3; done = n < 0 }; n "
            "}\nprint(f(array(10)))") == "-2\n");
  CHECK(run("jit fn f(x) { let y = x; let k = 0; while y.sum() < 100 { let j = 0; while j < 2 { y = y + 1; j += 1 }; k "
            "+= 1 }; (y, k) }\nprint(f(arange(4)))") == "([24 25 26 27], 12)\n");
  CHECK_THAT(error("jit fn f(x) { let y = x; while y.sum() < 10 { y = concat([y, y]) }; y }\nf(zeros([2]))"),
             Contains("f32[2]") && Contains("f32[4]"));
}

TEST_CASE("long loops of few elements, whose turns are run together") {
  // Carried: c' = c + x, d' = c. d in turn t is the sum of all x before the turn before.
  for (const char* turns : {"20001", "20033", "20064", "20065"})  // 20033: one more than a multiple of 64
    for (const char* reverse : {"false", "true"})
      CHECK(
          run(std::string("let n = ") + turns + "\nlet r = " + reverse +
              "\njit fn f(x) = scan(fn((c, d), x) = ((c + x, c), d * 3 + x), (zeros([4], i32), zeros([4], i32)), x, "
              "reverse: r)\n"
              "let t = arange(n)\nlet x = t.reshape([n, 1]) + zeros([4], i32)\nlet ((c, d), y) = f(x)\n"
              "let before = if r { where(t == n - 1, 0, (n + t + 1) * (n - 2 - t) // 2) } else { where(t == 0, 0, (t - "
              "1) * (t - 2) // 2) }\n"
              "let last = if r { 0 } else { n - 1 }\n"
              "print(all(c == sum(t)), all(d == sum(t) - last), all(y[:, 2] == before * 3 + t))") ==
          "true true true\n");
}

TEST_CASE("turns that are done several at once") {
  // Values that change places, that are kept as they were, truth values, f64, and a value that is thrown away; each
  // beside the same loop on the host.
  const std::string body =
      "fn turn((p, q, k, s), x) = ((q, where(s, p * 0.5 + x, q - p), cast(p, f64) + k * 0.25, p > q), p * "
      "q)\n";
  for (const std::string size : {"", "8", "3", "16"})
    for (const char* n : {"65", "66", "81", "300"})
      CHECK(run(body + "let n = " + n + "\nlet x = normal(key(0), [n])\nlet start = (normal(key(1), [" + size +
                "]), zeros([" + size + "]), ones([" + size + "], f64), zeros([" + size +
                "], bool))\njit fn f(c, x) = scan(turn, c, x)\n"
                "let of = none\nfor _ in 0..40 { of = f(start, x) }\n"  // until there is code
                "let c = start\nlet rows = []\nfor i in 0..n { let (next, y) = turn(c, x[i]); c = next; rows = "
                "rows.append(y) }\n"
                "let same = fn(a, b) = float(max(abs(a - b))) < 1e-4\n"
                "print(same(of[0][0], c[0]), same(of[0][1], c[1]), same(of[0][2], c[2]), all(of[0][3] == c[3]), "
                "same(of[1], stack(rows)))") == "true true true true true\n");
}

TEST_CASE("what a turn passes on as it took it") {
  // Fibonacci's numbers modulo 1,000, whose last three digits repeat after 1,500; of numbers and of vectors, with the
  // one before as a row, twice, and from one to the next in a ring.
  for (const char* shape : {"[]", "[3]", "[17]"})
    CHECK(run(std::string("let x = ones(") + shape +
              ", i32)\njit fn f(x) = scan(fn((a, b, r, s), _) = ((b, (a + b) % 1000, s, r), (a, a, r)), (x - 1, x, x * "
              "7, x "
              "* 8), none, length: 6001)\n"
              "let ((a, b, r, s), (y, z, w)) = f(x)\n"
              "print(all(a == 1), all(b == 1), all(r == 8), all(s == 7), all(y == z), all(y[1500:] == y[:-1500]), "
              "all(y[15] "
              "== 610), all(w[::2] == 7), all(w[1::2] == 8))") == "true true true true true true true true true\n");
}

TEST_CASE("turns that read a part of what is carried are done one by one") {
  // The same operations as on the host, so the same bits.
  for (const char* n : {"12", "65", "200"})
    CHECK(run(std::string("let n = ") + n +
              "\njit fn f(c) = scan(fn(c, _) = (c * 0.5 + c[3], none), c, length: n)[0]\n"
              "jit fn g(c) = scan(fn(c, _) = (c * 1.25 - c[0], none), c, length: n)[0]\n"
              "let c = normal(key(0), [8])\nlet d = c\nlet e = c\n"
              "for _ in 0..200 { let _code = (f(c), g(c)) }\n"
              "for _ in 0..n { d = d * 0.5 + d[3]; e = e * 1.25 - e[0] }\n"
              "print(all(f(c) == d), all(g(c) == e))") == "true true\n");
}

TEST_CASE("loops over arrays of a few numbers that are joined and taken apart") {
  // Fibonacci's numbers, in a vector and in a matrix; a loop by hand, whose result for (a, b) near (1, 2) is (8 a - 8,
  // 4 a - 5).
  CHECK(run("jit fn f(c) = scan(fn(c, _) { let d = stack([c[1], c[0] + c[1]]); (d, d * 2) }, c, arange(30))\n"
            "let (c, y) = f(array([0, 1]))\nprint(c, y[-1], y.shape)") ==
        "[ 832040 1346269] [1664080 2692538] (30, 2)\n");
  CHECK(run("jit fn g(m) = scan(fn(m, _) { let n = stack([m[0, 0] + m[0, 1], m[0, 0], m[1, 0] + m[1, 1], m[1, "
            "0]]).reshape([2, 2]); (n.T.T, sum(n, axis: 0)) }, m, arange(20))\n"
            "let (m, s) = g(eye(2, dtype: i32))\nprint(m.reshape([4]), s[-1])") ==
        "[10946  6765  6765  4181] [17711 10946]\n");
  CHECK(
      run("jit fn h(x) { let s = stack([x[0], x[1]]); let i = 0; while i < 5 { s = where(s > 3, stack([s[1], s[0]]) - "
          "1, s * stack([2.0, 3.0])); i = i + 1 }; s }\n"
          "print(h(array([1.0, 2.0])), grad(fn(x) = sum(h(x)))(array([1.0, 2.0])))") == "[ 0. -1.] [12.  0.]\n");
}

TEST_CASE("loops over products of a few numbers") {
  // Fibonacci's numbers by a matrix: times a vector from both sides, and its powers. All are whole, so exact.
  CHECK(run("let q = array([[1.0, 1.0], [1.0, 0.0]])\n"
            "jit fn f(q, c, n) = scan(fn((c, d, m), _) = ((q @ c, d @ q, m @ q), sum(m)), (c, c, q), none, length: "
            "30)\nlet ((c, d, m), s) = f(q, array([1.0, 0.0]), 30)\n"
            "print(cast(c, i32), all(c == d), cast(m, i32).reshape([4]), cast(s[:5], i32))") ==
        "[1346269  832040] true [2178309 1346269 1346269  832040] [ 3  5  8 13 21]\n");
  // Three cyclic steps of a permutation are none; the sums of rows and the largest element go along.
  CHECK(run("let p = array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])\n"
            "jit fn f(p, m) = scan(fn(m, _) { let n = p @ m; (n, (max(n), min(n), einsum(\"ij,j->i\", n, m[0]))) }, m, "
            "none, length: 3000)\nlet m = arange(9).reshape([3, 3]) * 1.0\nlet (n, (most, least, e)) = f(p, m)\n"
            "print(all(n == m), all(most == 8.0), all(least == 0.0), e[-1], (m @ array([6.0, 7.0, 8.0])))") ==
        "true true true [ 23.  86. 149.] [ 23.  86. 149.]\n");
  // A dot product is a sum of a row. With c = x - (x y) y the gradient of c c by y is -2 (x y) c where c y = 0.
  CHECK(run("jit fn f(x, y) = scan(fn(c, _) = (c - (c @ y) * y, c @ c), x, none, length: 3)\n"
            "let x = arange(8) * 1.0\nlet y = where(arange(8) == 2, 1.0, 0.0)\nlet (c, s) = f(x, y)\n"
            "print(c, s, grad(fn(y) = f(x, y)[1][1])(y)[:3])") ==
        "[0. 1. 0. 3. 4. 5. 6. 7.] [140. 136. 136.] [ 0. -4.  0.]\n");
}

TEST_CASE("host numbers stay known under trace, and are guarded where their value is needed") {
  CHECK(run("jit fn f(n, x) { let m = n * 2 + 1; let t = 0; for i in 0..m { t += i }; if n > 2 { x[:m] } else { x } + "
            "t }\n"
            "print(f(2, arange(3)), f(3, arange(9)), f(2, arange(3)))") ==
        "[10 11 12] [21 22 23 24 25 26 27] [10 11 12]\n");
  CHECK(run("jit fn f(xs, i) = xs[i]\nprint(f([1, 2, 3], 1), f([1, 2, 3], -1))") == "2 3\n");
  CHECK(run("jit fn f(n) = 2 ** n\nprint(f(3), f(-1))") == "8 0.5\n");
  CHECK(run("let lr = 1.0\njit fn f(x) = x * lr\nprint(f(array(2.0)))\nlr = 3.0\nprint(f(array(2.0)))") ==
        "2.0\n6.0\n");
}

TEST_CASE("assignments to variables outside of a trace") {
  CHECK_THAT(error("let n = 0\njit fn f(x) { n = n + 1; x }\nf(1)"), Contains("return the value"));
  CHECK_THAT(error("let n = 0.0\ngrad(fn(x) { n += 1.0; x * x })(2.0)"), Contains("return the value"));
  CHECK_THAT(error("jit fn f(x) { let c = 0; grad(fn(p) { c += 1; p * x })(x) }\nf(2.0)"),
             Contains("return the value"));
  CHECK(run("jit fn f(x) { let n = x * 2; let c = 0; let inc = fn() { c += 1; c }; inc(); (grad(fn(p) = p * n)(x), c) "
            "}\nprint(f(3.0))") == "(6.0, 1)\n");
}

TEST_CASE("strings with traced parts are made when the program runs") {
  CHECK(run("jit fn f(x) { print(\"x is {x:.2f}, {[x, 1]}\"); let s = \"v{x}\" + \"!\"; print(\"<{s}>\"); x "
            "}\nf(array(1.5))\nf(array(2.5))") == "x is 1.50, [1.5, 1]\n<v1.5!>\nx is 2.50, [2.5, 1]\n<v2.5!>\n");
}

TEST_CASE("meshes") {
  CHECK(run("mesh m = (@X: 4, @Y: _)\nprint(m, m.shape, m.axes, len(m.devices), m.devices[0].id)") ==
        "(@X: 4, @Y: 2) {X: 4, Y: 2} (@X, @Y) 8 0\n");
  CHECK(run("mesh m = (@X: 2) on devices()[4:6]\nprint(m.devices)") == "[cpu:4, cpu:5]\n");
  CHECK_THAT(error("mesh m = (@X: 4, @Y: 4)"), Contains("16") && Contains("8"));
  CHECK_THAT(error("mesh m = (@X: 3, @Y: _)"), Contains("@Y") && Contains("3") && Contains("8"));
  CHECK_THAT(error("mesh m = (@X: 0)"), Contains("at least 1"));
  CHECK_THAT(error("mesh m = (@X: 2, @X: 2)"), Contains("two axes called @X"));
  CHECK(run("mesh a = (@X: 2)\nmesh b = (@Y: 4)\nuse a { print(sharding(shard zeros([4]) as P(@X))) "
            "}\nprint(sharding(shard zeros([4]) as P(@Y)))\n"
            "fn f() { use a; sharding(shard zeros([4]) as P(@X)) }\nprint(f(), sharding(shard zeros([4]) as P(@Y)))\n"
            "for m in [a, b] { use m; print(axis_size(m.axes[0])) }") == "P(@X)\nP(@Y)\nP(@X) P(@Y)\n2\n4\n");
  // a function runs under its caller's mesh, and a spec keeps its names until it is used
  CHECK(run("fn lay(x) = shard x as P(@X)\nlet s = P(@X)\nmesh a = (@X: 2)\nprint(len(shards(lay(zeros([4])))))\nmesh "
            "b = (@X: 4)\nprint(len(shards(lay(zeros([4])))), len(shards(shard zeros([4]) as s)))") == "2\n4 4\n");
}

TEST_CASE("specs and rules") {
  CHECK(run("mesh m = (@X: 2, @Y: 2)\nlet ax = @X\nprint(P(ax, _), P(@(X, Y)), P(?, @X), P(...[@X, @Y]), P(unreduced: "
            "@X))") == "P(@X) P(@(X, Y)) P(?, @X) P(@X, @Y) P(unreduced: @X)\n");
  CHECK(run("mesh m = (@X: 2, @Y: 2)\nlet r = {batch: @X, both: [@X, @Y], embed: _}\nrules r\nprint(sharding(shard "
            "zeros([4, 4]) as P(@embed, @batch)), sharding(shard zeros([4]) as P(@both)))") == "P(_, @X) P(@(X, Y))\n");
  const std::string mesh = "mesh m = (@data: 4, @model: 2)\nrules { batch: @data }\n";
  CHECK_THAT(error(mesh + "shard zeros([4]) as P(@embed)"),
             Contains("embed") && Contains("@data") && Contains("@model") && Contains("batch"));
  CHECK_THAT(error(mesh + "shard zeros([4, 4]) as P(@data, @data)"), Contains("twice"));
  CHECK_THAT(error(mesh + "shard zeros([4, 4]) as P(@data, @batch)"), Contains("twice"));
  CHECK_THAT(error(mesh + "shard zeros([4]) as P(@data, @model)"), Contains("2 entries") && Contains("f32[4]"));
  CHECK_THAT(error(mesh + "shard zeros([8, 7]) as P(@data, @model)"),
             Contains("dimension 1") && Contains("@model") && Contains("7") && Contains("2"));
  CHECK_THAT(error(mesh + "shard zeros([8]) as P(unreduced: @data)"), Contains("explicit"));
  CHECK_THAT(error("shard zeros([8]) as P(@X)"), Contains("mesh"));
  CHECK_THAT(error("mesh e = (@X: 8) explicit\nshard zeros([8]) as P(?)"), Contains("auto"));
  CHECK_THAT(error(mesh + "rules { hidden: @nothing }\nshard zeros([8]) as P(@hidden)"),
             Contains("hidden") && Contains("nothing"));
  CHECK_THAT(error(mesh + "shard {w: zeros([8]), b: 1} as {w: P()}"), Contains("{w: *, b: *}") && Contains("{w: *}"));
  CHECK(run(mesh + "let s = shard {p: [zeros([8]), zeros([4])], n: 3, t: \"x\"} as {p: P(@data), n: P(), t: "
                   "P()}\nprint(sharding(s.p[1]), s.n, s.t)") == "P(@data) 3 x\n");
}

TEST_CASE("annotations bind sizes and check types") {
  CHECK(
      run("fn f(x: f32[B, D], y: f32[D]) -> f32[B] { print(B * 10 + D); x @ y }\nprint(f(ones([2, 3]), ones([3])))") ==
      "23\n[3. 3.]\n");
  CHECK(run("fn f(x: f32[..., D], y: i32[_, 2]) = D + y.size\nprint(f(zeros([4, 5, 6]), arange(4).reshape([2, 2])))") ==
        "10\n");
  CHECK(run("fn f(x: f32[B]) = fn() = B\nprint(f(zeros([7]))())") == "7\n");
  CHECK(run("fn f(p: {w: f32[D, _], b: f32[D]}) = D\nprint(f({w: zeros([3, 2]), b: zeros([3]), other: 1}))") == "3\n");
  CHECK(run("fn f(n, x: f32[n]) = n\nprint(f(3, zeros([3])))") == "3\n");
  CHECK_THAT(error("fn f(n, x: f32[n]) = n\nf(3, zeros([4]))"), Contains("n is 3"));
  CHECK_THAT(error("fn f(x: f32[B, D], y: f32[D]) = B\nf(zeros([2, 3]), zeros([4]))"),
             Contains("`y` of `f`") && Contains("f32[D]") && Contains("f32[4]") && Contains("D is 3"));
  CHECK_THAT(error("fn f(x: i32[_]) = x\nf(zeros([2]))"), Contains("i32[_]") && Contains("f32[2]"));
  CHECK_THAT(error("fn f(x) -> f32[3] = x\nf(zeros([2]))"), Contains("the result of `f`"));
  CHECK_THAT(error("fn f(x: f32[2]) = x\nf(\"a\")"), Contains("string"));
  CHECK(run("mesh m = (@X: 4)\nlet specs = {w: P(@X), b: P()}\nfn f(p: specs) = tree_map(sharding, p)\nprint(f({w: "
            "zeros([4]), b: zeros([3])}))") == "{w: P(@X), b: P()}\n");
}
