// The language on the host: numbers, strings, containers, functions, loops. Expectations follow the language reference;
// arithmetic is Python's (checked with CPython 3.11).
#include <catch2/catch.hpp>

#include "interpreter/lang/values/closure.h"
#include "tests/stdlib/script.h"

using Catch::Contains;
using shard::lang::Value;
using shard::test::error;
using shard::test::run;
using shard::test::Script;

TEST_CASE("integers and floats are Python's") {
  CHECK(run("print(7 // 2, -7 // 2, 7 // -2, 7 % -3, -7 % 3, 7 / 2, 2 ** 10, 2 ** -1, -2 ** 2)") ==
        "3 -4 -4 -2 2 3.5 1024 0.5 -4\n");
  CHECK(run("print(7.5 // 2, -7.5 // 2, -7.5 % 2, 7.5 % -2, 1e16 + 1, 0.1 + 0.2)") ==
        "3.0 -4.0 0.5 -0.5 1e+16 0.30000000000000004\n");
  CHECK(run("print(5 & 3, 5 | 3, ~5, 1 << 62, -9 >> 1, 1 >> 100)") == "1 7 -6 4611686018427387904 -5 0\n");
  CHECK(run("print(1 == 1.0, 1 < 1.5, 9007199254740993 == 9007199254740992.0, 9007199254740993 > 9007199254740992.0, "
            "true == 1)") == "true true false true false\n");
  CHECK_THAT(error("print(9223372036854775807 + 1)"), Contains("64 bits"));
  CHECK_THAT(error("print(-9223372036854775807 - 2)"), Contains("64 bits"));
  CHECK_THAT(error("print(4611686018427387904 * 2)"), Contains("64 bits"));
  CHECK_THAT(error("print(3 ** 50)"), Contains("64 bits"));
  CHECK_THAT(error("print(1 << 63)"), Contains("64 bits"));
  CHECK_THAT(error("print((-9223372036854775807 - 1) // -1)"), Contains("64 bits"));
  CHECK_THAT(error("print(1 // 0)"), Contains("by zero"));
  CHECK_THAT(error("print(1.0 % 0)"), Contains("by zero"));
}

TEST_CASE("equality is structural, and not between kinds") {
  CHECK(run("print([1, (2, none)] == [1, (2, none)], [1] == (1,), {a: 1, b: 2} == {b: 2, a: 1}, P(@X) == P(@X, _), @X "
            "== @Y, none == 0)") == "true false true true false false\n");
  CHECK(run("print(f32[2,3] == typeof(zeros([2, 3])), f32 == f16, 0..3 == 0..3)") == "true false true\n");
  CHECK_THAT(error("print([1] + [2])"), Contains("[...xs, ...ys]"));
  CHECK_THAT(error("print(\"a\" + 1)"), Contains("{x}"));
  CHECK_THAT(error("print([1, 2] * 2)"), Contains("array("));
}

TEST_CASE("conditions take truth values only") {
  CHECK_THAT(error("if 1 { print(1) }"), Contains("int"));
  CHECK_THAT(error("print([] and true)"), Contains("list"));
  CHECK_THAT(error("print(not none)"), Contains("none"));
  CHECK_THAT(error("if array([true]) { print(1) }"), Contains("bool[1]") && Contains("any()"));
  CHECK(run("print(array(1) == 1 and true, false and error(\"no\"), true or error(\"no\"))") == "true false true\n");
}

TEST_CASE("strings, lists, tuples, ranges, records") {
  CHECK(run("let s = \"h\u00e9llo\"\nprint(s[1], s[-1], s[1:3], s[::-1], s + \"!\", \"a\" < \"b\")") ==
        "\u00e9 o \u00e9l oll\u00e9h h\u00e9llo! true\n");
  CHECK(run("let x = [0, 1, 2, 3, 4]\nprint(x[::-1], x[1:4:2], x[-2:], x[9:], (1, 2, 3)[1:], x[-1])") ==
        "[4, 3, 2, 1, 0] [1, 3] [3, 4] [] (2, 3) 4\n");
  CHECK(run("let r = 0..1_000_000_000_000\nprint(r[7], r[-1], len(r))\nfor i in r { if i == 2 { break } }") ==
        "7 999999999999 1000000000000\n");
  CHECK(run("let p = {w: 1, b: {c: 2}}\nprint(p.w, p[\"b\"].c, {...p, w: 5}, {...p, d: none})") ==
        "1 2 {w: 5, b: {c: 2}} {w: 1, b: {c: 2}, d: none}\n");
  CHECK_THAT(error("[1, 2, 3][5]"), Contains("index 5") && Contains("list of 3"));
  CHECK_THAT(error("let p = {weight: 1}\nprint(p.weigth)"), Contains("weigth") && Contains("did you mean `weight`"));
  CHECK_THAT(error("[1, 2][1.0]"), Contains("float"));
}

TEST_CASE("values never change under somebody else's feet") {
  CHECK(run("let a = [[1], [2]]\nlet b = a\nb[0][0] = 9\nb[1] = 7\nprint(a, b)") == "[[1], [2]] [[9], 7]\n");
  CHECK(run("fn f(p) { p.w = 5; p }\nlet p = {w: 1}\nprint(f(p), p)") == "{w: 5} {w: 1}\n");
  CHECK(run("let p = {xs: [{y: 1}, {y: 2}]}\np.xs[1].y += 10\np.xs[0].y *= 3\nprint(p)") ==
        "{xs: [{y: 3}, {y: 12}]}\n");
  CHECK_THAT(error("let p = {w: 1}\np.b = 2"), Contains("`b`") && Contains("w"));
}

TEST_CASE("patterns take values apart") {
  CHECK(run("let (a, [b, c], {d, e: (f, g)}) = (1, [2, 3], {d: 4, e: (5, 6)})\nprint(a, b, c, d, f, g)") ==
        "1 2 3 4 5 6\n");
  CHECK(run("let (a, b) = array([[1, 2], [3, 4]])\nprint(a, b)") == "[1 2] [3 4]\n");
  CHECK(run("let a = 1; let b = 2\n(a, b) = (b, a)\nprint(a, b)") == "2 1\n");
  CHECK_THAT(error("let (a, b) = (1, 2, 3)"), Contains("2 values") && Contains("3"));
  CHECK_THAT(error("let {w} = {b: 1}"), Contains("`w`") && Contains("b"));
}

TEST_CASE("calls") {
  CHECK(run("let k = 1\nfn f(a, b = a + k, c = b * 2) = (a, b, c)\nprint(f(1))\nk = 10\nprint(f(1), f(1, 2), f(c: 0, "
            "a: 1))") == "(1, 2, 4)\n(1, 11, 22) (1, 2, 4) (1, 11, 0)\n");
  CHECK(run("fn f(a, b, c) = [a, b, c]\nprint(f(...[1, 2], 3), f(...{c: 1, b: 2, a: 3}), 5 |> f(6, 7))") ==
        "[1, 2, 3] [3, 2, 1] [5, 6, 7]\n");
  CHECK(run("let sum = 3\nlet x = array([1, 2])\nprint(x.sum() + sum, {f: fn(x) = x * 2}.f(4))") == "6 8\n");
  CHECK(run("fn f((i, x), c) = i + x + c\nprint(f((1, 2), 3))") == "6\n");
  CHECK_THAT(error("fn combine(a, b) = a + b\ncombine(1, 2, 3)"),
             Contains("`combine` takes 2 arguments, and 3 were given") && Contains("fn combine(a, b)"));
  CHECK_THAT(error("fn f(a, b) = a\nf(1)"), Contains("takes 2") && Contains("1 was given") && Contains("`b` is"));
  CHECK_THAT(error("fn f(alpha) = alpha\nf(alhpa: 1)"),
             Contains("no parameter `alhpa`") && Contains("did you mean `alpha:`"));
  CHECK_THAT(error("fn f(a) = a\nf(1, a: 2)"), Contains("given twice"));
  CHECK_THAT(error("let x = zeros([2])\nx.summ()"), Contains("`summ`") && Contains("did you mean `sum`"));
  CHECK_THAT(error("3(4)"), Contains("int is no function"));
}

TEST_CASE("functions see the variables around them as they are at the call") {
  CHECK(run("fn f() = y\nlet y = 1\nprint(f())\ny = 5\nprint(f())") == "1\n5\n");
  CHECK(run("fn counter() { let n = 0; fn() { n += 1; n } }\nlet a = counter(); let b = counter()\nprint(a(), a(), "
            "b())") == "1 2 1\n");
  CHECK(run("let fs = []\nfor i in 0..3 { fs = append(fs, fn() = i * 10) }\nprint(fs.map(fn(f) = f()))") ==
        "[0, 10, 20]\n");
  CHECK(run("fn even(n) = if n == 0 { true } else { odd(n - 1) }\nfn odd(n) = if n == 0 { false } else { even(n - 1) "
            "}\nprint(even(11))") == "false\n");
  CHECK(run("fn f() { fn g(n) = if n == 0 { 0 } else { h(n - 1) }\n  fn h(n) = if n == 0 { 1 } else { g(n - 1) }\n  "
            "g(5) }\nprint(f())") == "1\n");
  CHECK(run("let f = fn(n) = if n == 0 { 1 } else { n * f(n - 1) }\nprint(f(10))") == "3628800\n");
  CHECK_THAT(error("fn f() = y\nf()\nlet y = 1"), Contains("`y` is used before its declaration"));
}

TEST_CASE("break, continue and return travel, out of operands too") {
  CHECK(run("fn f(x) { let y = 1 + if x > 2 { return \"early\" } else { x }; y }\nprint(f(1), f(3))") == "2 early\n");
  CHECK(
      run("fn f() { for i in 0..9 { let z = [i, if i == 2 { break } else { i }]; print(z) }; \"done\" }\nprint(f())") ==
      "[0, 0]\n[1, 1]\ndone\n");
  CHECK(run("fn f(c) { if c { return }; 5 }\nprint(f(true), f(false))") == "none 5\n");
  CHECK(run("fn f(xs, t) { for x in xs { while true { if x > t { return x }; break } }; none }\nprint(f([1, 5, 9], 4), "
            "f([1], 4))") == "5 none\n");
  CHECK(run("let n = 0\nwhile true { n += 1; if n % 2 == 0 { continue }; if n > 6 { break } }\nprint(n)") == "7\n");
}

TEST_CASE("calls nest 1,000 deep and no further") {
#ifdef __SANITIZE_ADDRESS__
  const std::string most = "400", limit = "nest";  // its frames are several times as large, and the stack is not
#else
  const std::string most = "999", limit = "1,000";
#endif
  CHECK(run("fn f(n) = if n == 0 { 0 } else { 1 + f(n - 1) }\nprint(f(" + most + "))") == most + "\n");
  CHECK_THAT(error("fn f(n) = f(n + 1)\nf(0)"), Contains(limit));
  // 190 brackets in each of the calls: an error at the latest, never a crash.
  std::string open, close;
  for (int i = 0; i < 190; ++i) open += "1 + (", close += ")";
  CHECK_THAT(error("fn f(n) = " + open + "f(n + 1)" + close + "\nf(0)"), Contains("nest"));
}

TEST_CASE("the error carries the calls that led to it, innermost first") {
  Script s;
  try {
    s.in().run("a.shard", "fn inner(x) = x + none\nfn outer(x) = inner(x)\nouter(1)");
    FAIL("no error");
  } catch (const shard::grammar::Error& e) {
    REQUIRE(e.diagnostic.calls.size() == 2);
    CHECK(e.diagnostic.calls[0].function == "inner");
    CHECK(e.diagnostic.calls[1].function == "outer");
  }
}

TEST_CASE("an argument that the statement assigns anew is handed over") {
  Script s;
  long uses = 0;
  auto count = [&uses](shard::lang::Interpreter&, shard::lang::BoundArgs& a) {
    uses = a[0].get<std::shared_ptr<shard::lang::List>>()->use_count();
    return a[0];
  };
  s.in().define({"held", "held(x, y = none)", "", count});
  s.in().define({"refuse", "refuse(x)", "", [](shard::lang::Interpreter& in, shard::lang::BoundArgs& a) -> Value {
                   in.fail("test", a.span, "no");
                 }});
  auto holders = [&](const std::string& text) {
    s.in().run("a.shard", text);
    return uses;
  };
  CHECK(holders("let xs = [1]\nxs = held(xs)") == 1);
  CHECK(holders("let xs = [1]\nlet n = 0\n(xs, n) = (held(xs), 1)") == 1);
  CHECK(holders("let xs = [1]\nxs = xs.held()") == 1);
  CHECK(holders("fn f(xs) { xs = held(xs); xs }\nf([1])") == 1);
  CHECK(holders("let xs = [1]\nlet ys = held(xs)") == 2);
  CHECK(holders("let xs = [1]\nxs = held(xs, xs)") > 1);
  CHECK(holders("let xs = [1]\nfn f() = xs\nxs = held(xs)") == 2);  // a function may read it during the call
  s.in().run("a.shard", "let xs = [1, 2]\nassert_error(fn() = 1 // 0, \"zero\")\nlet ys = xs");
  CHECK_THROWS(s.in().run("a.shard", "let xs = [1, 2]\nxs = refuse(xs)"));
  CHECK(s.in().repr(*s.in().global("xs")) == "[1, 2]");  // the call failed before using it
}

TEST_CASE("local functions that refer to themselves are let go") {
  Script s;
  std::weak_ptr<const shard::lang::Closure> last;
  s.in().define({"watch", "watch(f)", "", [&last](shard::lang::Interpreter&, shard::lang::BoundArgs& a) {
                   last = *a[0].get<std::shared_ptr<const shard::lang::Closure>>();
                   return Value();
                 }});
  s.in().run("a.shard",
             "fn outer(n) { fn even(n) = if n == 0 { true } else { odd(n - 1) }\n  fn odd(n) = if n == 0 { false } "
             "else { even(n - 1) }\n"
             "  watch(even); even(n) }\nprint(outer(4))");
  CHECK(last.expired());
  s.in().run("a.shard",
             "fn outer(p) { fn init(k) = p.init(k)\n  watch(init); init(1) }\nprint(outer({init: fn(k) = k}))");
  CHECK(last.expired());  // p.init may be its own `init`
  s.in().run("a.shard",
             "fn outer() { fn again(n) = if n == 0 { 0 } else { again(n - 1) }\n  watch(again); again }\nlet f = "
             "outer()\nprint(f(3))");
  CHECK(!last.expired());  // it was returned
}

TEST_CASE("values nested without end are held and let go, and refused where they would be walked") {
  CHECK(run("let xs = []\nfor i in 0..300_000 { xs = [xs] }\nlet n = {a: 1}\nfor i in 0..100_000 { n = {a: n} "
            "}\nprint(len(xs))\nxs = none\nprint(1)") == "1\n1\n");
  const std::string deep = "let xs = []; let ys = []\nfor i in 0..100_000 { xs = [xs]; ys = [ys] }\n";
  CHECK_THAT(error(deep + "print(xs)"), Contains("nests deeper"));
  CHECK_THAT(error(deep + "print(\"{xs}\")"), Contains("nests deeper"));
  CHECK_THAT(error(deep + "print(xs == ys)"), Contains("nests deeper"));
  CHECK_THAT(error(deep + "tree_map(fn(x) = x, xs)"), Contains("nests deeper"));
}
