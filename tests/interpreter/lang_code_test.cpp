// Bodies that run as code (eval/code.h): what they give is what the language says, on straight paths and off them. The
// expected texts are worked out by hand, or are those of Python for the same program.
#include <catch2/catch.hpp>

#include "tests/stdlib/script.h"

using Catch::Contains;
using shard::test::error;
using shard::test::run;
using shard::test::Script;

TEST_CASE("loops in functions and at the top level count, break and go on") {
  CHECK(run("fn fib(n) { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }\nprint(fib(20))") == "6765\n");
  CHECK(run("fn collatz(n) { let k = 0\n while n != 1 { n = if n % 2 == 0 { n // 2 } else { 3 * n + 1 }\n k += 1 }\n k "
            "}\n"
            "print(collatz(27), collatz(1))") == "111 0\n");
  CHECK(run("let s = 0\nfor i in 0..10 { if i == 3 { continue }\n if i == 7 { break }\n s += i }\nprint(s)") == "18\n");
  CHECK(run("fn f(n) { let s = 0\n for i in 0..n { for j in 0..n { if j > i { break }\n if j == 1 { continue }\n"
            "   s += 10 * i + j } }\n s }\nprint(f(4))") == "147\n");
  CHECK(run("fn first(xs, x) { for i in 0..len(xs) { if xs[i] == x { return i } }\n none }\n"
            "print(first([5, 6, 7], 7), first([5], 7))") == "2 none\n");
  CHECK(
      run("let i = 0\nlet k = 0\nwhile true { i += 1\n if i > 5 and i % 2 == 1 { break }\n k = k + i }\nprint(i, k)") ==
      "7 21\n");
  CHECK(run("for i in 3..3 { print(i) }\nfor i in 3..1 { print(i) }\nlet n = 3\nfor i in 0..n { n = 1\n print(i) }") ==
        "0\n1\n2\n");
}

TEST_CASE("conditions that compare decide by whatever the two sides are") {
  CHECK(run("fn f(a, b) { if a < b { 1 } else if a >= b and a != 7 { 2 } else { 3 } }\n"
            "print(f(1, 2), f(2.5, 1.0), f(7, 1), f(1, 2.5), f(array(1.0), 2.0), f(\"a\", \"b\"))") == "1 2 3 1 1 1\n");
  CHECK(run("fn f(n) { let i = 0\n while i * i <= n { i += 1 }\n i }\nprint(f(8), f(9), f(9.5))") == "3 4 4\n");
  CHECK(run("jit fn f(n) { let (s, i) = (0, 0)\n while i < n { s = s + i\n i = i + 1 }\n if s > 3 { s } else { -s } }\n"
            "print(f(5), f(2))") == "10 -1\n");
  CHECK_THAT(error("fn f(a) { if a < 1 { 2 } else { 3 } }\nf([1])"), Contains("`<` is not defined for list"));
  CHECK_THAT(error("fn f(a) { if a + 1 { 2 } else { 3 } }\nf(1)"), Contains("truth value") || Contains("condition"));
}

TEST_CASE("a result goes to the variable that was an argument") {
  CHECK(run("fn next(x) { if x > 2 { return x * 10 }\n x + 1 }\n"
            "fn f() { let z = 1\n for i in 0..5 { z = next(z) }\n z }\nprint(f())") == "3000\n");
  CHECK(run("fn nothing(x) { while x > 0 { x -= 1 } }\nfn f() { let z = 3\n z = nothing(z)\n z }\nprint(f())") ==
        "none\n");
  CHECK(run("fn bad(x) { if x == 3 { assert(false) }\n x + 1 }\n"
            "fn f() { let v = 3\n assert_error(fn() = bad(v))\n v = bad(4)\n v }\nprint(f())") == "5\n");
}

TEST_CASE("break, continue and return leave from within operands") {
  CHECK(run("fn f(n) { let s = 0\n while true { s = s + (if s > n { return s * 100 } else { 7 }) }\n 0 "
            "}\nprint(f(20))") == "2100\n");
  CHECK(run("let s = 0\nfor i in 0..6 { s = s + (if i % 2 == 0 { continue } else { i }) }\nprint(s)") == "9\n");
  CHECK(run("fn f() { let s = 0\n let i = 0\n while i < 9 { i += 1\n let j = 0\n"
            "  while true { j += 1\n s = 1 + (if j > i { break } else { s }) } }\n s }\nprint(f())") == "45\n");
}

TEST_CASE("what a body declares is its own in each turn") {
  CHECK(run("let fs = []\nfor i in 0..3 { let j = i * i\n fs = [...fs, fn() = j + i] }\nprint(map(fn(f) = f(), fs))") ==
        "[0, 2, 6]\n");
  CHECK(run("fn f() { let out = []\n for i in 0..3 { let x = if i > 0 { out[i - 1] + 1 } else { 5 }\n out = [...out, "
            "x] }\n"
            "  out }\nprint(f())") == "[5, 6, 7]\n");
  // A variable is let go where its block ends, so that nothing else holds the array when it is changed.
  CHECK(run("let x = zeros([3])\nfor i in 0..3 { let y = x[i]\n x[i] = y + 1.0 + f32(i) }\nprint(x)") ==
        "[1. 2. 3.]\n");
}

TEST_CASE("numbers are Python's in code too") {
  CHECK(
      run("fn f(a, b) = (a + b, a - b, a * b, a / b, a // b, a % b, -a, a < b, a <= b, a > b, a >= b, a == b, a != b)\n"
          "print(f(7, -2))\nprint(f(7.5, -2.0))\nprint(f(3, 3.0))\nprint(f(2.0, 3))") ==
      "(5, 9, -14, -3.5, -4, -1, -7, false, false, true, true, false, true)\n"
      "(5.5, 9.5, -15.0, -3.75, -4.0, -0.5, -7.5, false, false, true, true, false, true)\n"
      "(6.0, 0.0, 9.0, 1.0, 1.0, 0.0, -3, false, true, false, true, true, false)\n"
      "(5.0, -1.0, 6.0, 0.6666666666666666, 0.0, 2.0, -2.0, true, true, false, false, false, true)\n");
  CHECK(run("fn f(a, b, c) = a and b or not c\nprint(f(true, false, true), f(true, true, true), f(false, true, "
            "false))") == "false true true\n");
  CHECK(run("fn f(n) { let big = 9007199254740993\n (big == 9007199254740992.0, big > 9007199254740992.0, n / 4) }\n"
            "print(f(1))") == "(false, true, 0.25)\n");
}

TEST_CASE("errors in code stand where the walk puts them") {
  const std::string overflow = error("fn f(n) { let s = 1\n while true { s = s * n }\n s }\nf(10)");
  CHECK_THAT(overflow, Contains("1000000000000000000 * 10 does not fit 64 bits") && Contains(":2:19"));
  CHECK_THAT(error("let s = 9223372036854775807\nfor i in 0..3 {\n  s += i\n}"),
             Contains("does not fit 64 bits") && Contains(":3:3"));
  CHECK_THAT(error("fn f(x) { let y = 1 / x\n y }\nf(0)"), Contains("division by zero") && Contains(":1:19"));
  CHECK_THAT(error("fn f(x) { if x { 1 } else { 2 } }\nf(3)"), Contains("a condition takes a bool, and this is int"));
  CHECK_THAT(error("fn f(x) = true and x\nf(3)"), Contains("a condition takes a bool, and this is int"));
  CHECK_THAT(error("fn f(x) = x + \"a\"\nf(3)"), Contains("`+` is not defined for int and string"));
  CHECK_THAT(error("fn f(n) = f(n + 1)\nf(0)"), Contains("calls nest deeper than 1,000"));
  CHECK_THAT(error("fn f(a) = a\nfn g() = f(1, 2)\ng()"), Contains("`f` takes 1 argument, and 2 were given"));
  Script limited;
  CHECK(limited.in().repr(limited.in().enter("fn f(n) { let s = 0\n for i in 0..n { s += i }\n s }\nf(5)")) == "10");
}

TEST_CASE("calls that one loop runs are calls of their own") {
  const std::string mutual =
      "fn even(n) { if n == 0 { return true }\n odd(n - 1) }\nfn odd(n) { if n == 0 { return false }\n even(n - 1) }\n";
  CHECK(run(mutual + "print(even(900), odd(900), even(7))") == "true false false\n");
  // Variables that functions share, functions as arguments, and results that are let go.
  CHECK(run("fn twice(f, x) = f(f(x))\nfn adder(n) = fn(x) = x + n\n"
            "fn g(k) { if k == 0 { return 0 }\n twice(adder(k), 1) + g(k - 1) }\nprint(g(40), g(1))") == "1680 3\n");
  CHECK(run("fn f(n) { let s = 0\n for i in 0..n { s = s + (if i > 2 { return s } else { i }) }\n s }\n"
            "fn g(n) = if n == 0 { 0 } else { 100 * f(n) + g(n - 1) }\nprint(g(5))") == "1000\n");
  CHECK(run("fn f(n) { if n > 0 { return [n, ...f(n - 1)] }\n [] }\nprint(f(3), len(f(200)))") == "[3, 2, 1] 200\n");
  CHECK(run("fn f(n) { let unused = ones([2])\n if n > 0 { f(n - 1) } }\nprint(f(50))") == "none\n");
  // An error goes through all of them, and what comes after it finds them left.
  const std::string deep = "fn f(n) {\n  if n == 0 { return 1 / n }\n  f(n - 1)\n}\n";
  const std::string report = error(deep + "f(2)");
  CHECK_THAT(report, Contains(":2:22") && Contains("division by zero") && Contains(":3:3 (2 times)") &&
                         Contains("in f, called at"));
  CHECK(run(deep + "fn g(n) { assert_error(fn() = f(n))\n n + 1 }\nprint(g(3), g(70))") == "4 71\n");
  shard::lang::Options options;
  options.steps = 60;
  Script limited(options);
  CHECK_NOTHROW(limited.in().enter("fn f(n) { if n > 0 { f(n - 1) } else { 0 } }\nf(15)"));
  CHECK_THROWS(limited.in().enter("f(25)"));
}

TEST_CASE("arrays and conditions of a trace go through code") {
  CHECK(run("jit fn f(x, n) { let s = x\n for i in 0..n { s = if sum(s) > 3.0 { s * 0.5 } else { s + 1.0 } }\n s }\n"
            "print(f(ones([2]), 3), f(ones([2]), 2))") == "[2. 2.] [1. 1.]\n");
  CHECK(run("jit fn f(x) { let n = 0\n while sum(x) < 100.0 { x = x * 2.0\n n = n + 1 }\n (x, n) }\n"
            "for k in 0..2 { print(f(ones([2]) * f32(k + 1))) }") == "([64. 64.], 6)\n([64. 64.], 5)\n");
  CHECK(run("let w = 2.0\njit fn f(x) { let y = x\n for i in 0..2 { y = y * w }\n y }\nprint(f(3.0))\nw = "
            "3.0\nprint(f(3.0))") == "12.0\n27.0\n");
}

TEST_CASE("an expression with more parts between than code keeps is walked") {
  std::string nested = "x", sum = "1";
  for (int i = 0; i < 40; ++i) nested = "(x * 2 - f0(" + nested + "))", sum += " + " + std::to_string(i);
  std::string deep = "x";
  for (int i = 0; i < 40; ++i) deep = "(f0(x) + " + deep + ")";
  CHECK(run("fn f0(x) = x\nfn f(x) = " + nested + "\nfn g(x) = " + deep + "\nfn h(x) { let s = 0\n s += " + sum +
            "\n s + x }\nprint(f(3), g(1), h(0))") == "3 41 781\n");
}
