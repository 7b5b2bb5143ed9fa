// Calls: which argument goes to which parameter (eval/bind.h), the same for every kind of callee; functions made of
// functions (values/wrapped.h); what a failing call leaves behind.
#include <catch2/catch.hpp>

#include "tests/stdlib/script.h"

using Catch::Contains;
using shard::test::error;
using shard::test::run;
using shard::test::Script;

TEST_CASE("one set of messages for functions of scripts, natives, rows, casts and per-device code") {
  const std::string mesh = "mesh m = (@X: 2)\n";
  struct Callee {
    std::string before, call, name, signature;  // `call` with one argument too many, and with none
    std::string counts;
  };
  const Callee callees[] = {{"fn f(a) = a\n", "f", "f", "fn f(a)", "1 argument"},
                            {"jit fn f(a) = a\n", "f", "f", "jit fn f(a)", "1 argument"},
                            {mesh + "manual fn f(a: P()) -> P() = a\n", "f", "f", "manual fn f(a)", "1 argument"},
                            {"", "exp", "exp", "exp(x)", "1 argument"},
                            {"", "typeof", "typeof", "typeof(x)", "1 argument"},
                            {"", "f32", "f32", "f32(x)", "1 argument"}};
  for (const Callee& c : callees) {
    CAPTURE(c.before, c.call);
    const std::string many = error(c.before + c.call + "(1.0, 2.0)"), none = error(c.before + c.call + "()");
    CHECK_THAT(many, Contains("`" + c.name + "` takes " + c.counts + ", and 2 were given") && Contains(c.signature));
    CHECK_THAT(none, Contains("`" + c.name + "` takes " + c.counts + ", and 0 were given: `") &&
                         Contains("is missing") && Contains(c.signature));
    const std::string wrong = error(c.before + c.call + "(1.0, nothing: 2)");
    CHECK_THAT(wrong, Contains("`" + c.name + "` has no parameter `nothing`") && Contains(c.signature));
    const std::string a = c.before.empty() ? "x" : "a";
    const std::string twice = error(c.before + c.call + "(1.0, ..." + "{" + a + ": 2.0})");
    CHECK_THAT(twice, Contains("the argument `" + a + "` of `" + c.name + "` is given twice"));
    CHECK_THAT(error(c.before + c.call + "(...{" + a + ": 2.0}, 1.0)"), Contains("is given twice"));
  }
  CHECK_THAT(error("fn f((a, b), c = 1) = a\nf(c: 2)"),
             Contains("takes 1 to 2 arguments, and 1 was given: argument 1 is"));
  CHECK_THAT(error("fn f(a, b, c) = a\nf(b: 2)"), Contains("takes 3 arguments, and 1 was given: `a`, `c` are missing"));
  CHECK_THAT(error("fn f() = 1\nf(2)"), Contains("takes no arguments, and 1 was given"));
  CHECK_THAT(error("max()"), Contains("takes at least 1 argument, and 0 were given: `x` is missing"));
}

TEST_CASE("a function made of a function is a value that tells what it was made of") {
  CHECK(run("fn f(x, y = 2.0) = x * y\njit fn g(x) = x\nmesh m = (@X: 2)\nmanual fn h(x: P(@X)) -> P(@X) = x\n"
            "auto fn a(x) -> P(@X) = x\n"
            "print(g, h, a)\nprint(jit(f), jit(sin), jit(fn(x) = x), shard_map(f, in: P(@X), out: P(@X)))\n"
            "print(grad(f), vmap(grad(g)), jit(hessian(f)))") ==
        "jit fn g(x) manual fn h(x) auto fn a(x)\njit(f) jit(sin) jit(fn) shard_map(f)\ngrad(f) vmap(grad(g)) "
        "jit(hessian(f))\n");
  CHECK(run("jit fn g(x) = x\nlet h = g\nprint(g == h, g == jit(g), is_function(g), typeof(g))") ==
        "true false true function\n");
  CHECK_THAT(run("## Twice x.\njit fn g(x) = 2 * x\nhelp(g)\nhelp(jit(sin))\nhelp(grad(g))"),
             Contains("jit fn g(x)\n  Twice x.\n") && Contains("Sine") && Contains("grad(g)\n  The gradient"));
  CHECK(run("jit fn f(x, k, s = 1.0) = x * k + s\nprint(f(2.0, k: 3.0), f(s: 0.5, k: 1.0, x: 2.0))") == "7.0 2.5\n");
}

TEST_CASE("a call that fails leaves the variable that it was given") {
  for (const char* f : {"jit fn f(p, x) = p + x @ p", "let f = grad(fn(p, x) = sum(x @ p))",
                        "mesh m = (@X: 2)\nexplicit fn f(p, x) = x @ p", "let f = jit(vmap(fn(p, x) = x @ p))"}) {
    CAPTURE(f);
    Script s;
    s.in().enter(f);
    s.in().enter("let p = ones([2])");
    CHECK_THROWS(s.in().enter("p = f(p, ones([3, 3]))"));
    CHECK(s.in().repr(s.in().enter("p")) == "[1. 1.]");
  }
}

TEST_CASE("a compiled function keeps many kinds of calls, and lets the oldest go") {
  CHECK(run("jit fn f(x, k) = sum(x) * k\nfor i in 1..300 { f(ones([i]), 2) }\n"
            "print(f(ones([3]), 2), f(ones([299]), 3), f(ones([3], i32), 2), f({a: 1.0}.a, 5))") ==
        "6.0 897.0 6 5.0\n");
  // The same kinds of arguments under another mesh and other values from outside.
  CHECK(run("let w = 2.0\njit fn f(x) = x * w\nprint(f(3.0))\nw = \"no number\"\nw = 4\nprint(f(3.0))\nw = ones([2])\n"
            "print(f(3.0), f(3))") == "6.0\n12.0\n[3. 3.] [3. 3.]\n");
}
