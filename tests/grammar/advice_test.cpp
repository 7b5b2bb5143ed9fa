// Forms of other languages: each gets the form to write instead, and where the text can be fixed mechanically, the
// fixed text parses.
#include <catch2/catch.hpp>

#include "tests/grammar/tree.h"

using namespace shard::grammar;
using namespace shard::grammar::testing;

namespace {

void advises(const std::string& text, const std::string& what, const std::string& fixed = "") {
  INFO(text);
  const Parsed p(text);
  CHECK(p.message() == what);
  CHECK_FALSE(p.result.module);
  if (fixed.empty() || p.result.diagnostics.empty()) return;
  REQUIRE_FALSE(p.result.diagnostics[0].fixes.empty());
  CHECK(p.fixed() == fixed);
  CHECK(message(fixed) == "");
}

}  // namespace

TEST_CASE("advice: arguments, strings, numbers") {
  advises("sum(x, axis=0)", "an argument is named with a colon: `axis: 0`", "sum(x, axis: 0)");
  advises("f(a=g(1, 2), b)", "an argument is named with a colon: `a: g(1, 2)`");
  advises("let s = 'abc'", "a string stands in double quotes: \"abc\"", "let s = \"abc\"");
  advises("f('say \"hi\"', 1)", "a string stands in double quotes: \"say \\\"hi\\\"\"", "f(\"say \\\"hi\\\"\", 1)");
  advises("let s = f\"x {x}\"", "a string has no prefix: `\"loss {loss:.4f}\"` interpolates as it is",
          "let s = \"x {x}\"");
  advises("let f = 1.", "a float has a digit on both sides of the dot: `1.0`", "let f = 1.0");
  advises("let f = .5 + x", "a float has a digit on both sides of the dot: `0.5`", "let f = 0.5 + x");
  advises("f(1., 2)", "a float has a digit on both sides of the dot: `1.0`", "f(1.0, 2)");
  advises("let a = 3px", "`3px` is neither a number nor a name");
}

TEST_CASE("advice: functions and words") {
  advises("let f = lambda x: x + 1", "a function is written `fn(x) = x + 1`", "let f = fn(x) = x + 1");
  advises("map(lambda a, b: a * b, xs)", "a function is written `fn(a, b) = a * b`", "map(fn(a, b) = a * b, xs)");
  advises("def f(x) { x }", "`def` is written `fn` here", "fn f(x) { x }");
  advises("function f(x) { x }", "`function` is written `fn` here", "fn f(x) { x }");
  advises("var x = 1", "`var` is written `let` here", "let x = 1");
  advises("if a { 1 }\nelif b { 2 }", "`elif` is written `else if` here", "if a { 1 }\nelse if b { 2 }");
  advises("if a { 1 } elif b { 2 }", "`elif` is written `else if` here", "if a { 1 } else if b { 2 }");
  advises("print x", "a call has parentheses: `print(x)`", "print(x)");
  advises("let t = x is none", "`is` is written `==` here", "let t = x == none");
  advises("let g = fn f(x) = x",
          "a function within an expression has no name: write `fn(...)`, and name it with `let` or in a statement");
  advises("let f = x => x + 1", "a function is written `fn(x) = ...`");
}

TEST_CASE("advice: None, True, False") {
  advises("let a = None", "`None` is written `none` here", "let a = none");
  advises("f(x, keepdims: True)", "`True` is written `true` here", "f(x, keepdims: true)");
  advises("while False {}", "`False` is written `false` here", "while false {}");
  CHECK(tree("let None = 1\nlet b = None") ==
        "(let None 1)\n(let b None)");  // a name like any other where it is declared
}

TEST_CASE("advice: conditions, loops, comprehensions") {
  advises("let x = 1 if c else 2", "a condition comes first: `if c { 1 } else { 2 }`", "let x = if c { 1 } else { 2 }");
  advises("f(a, b + 1 if x > 0 else g(y), z)", "a condition comes first: `if x > 0 { b + 1 } else { g(y) }`",
          "f(a, if x > 0 { b + 1 } else { g(y) }, z)");
  advises("let x = c ? 1 : 2", "a condition comes first: `if c { 1 } else { 2 }`", "let x = if c { 1 } else { 2 }");
  advises("let sq = [i * i for i in xs]", "a list made of another is written with map: `map(fn(i) = i * i, xs)`",
          "let sq = map(fn(i) = i * i, xs)");
  advises(
      "[a + b for a, b in zip(x, y) if a > 0]",
      "a list made of another is written with map: `map(fn((a, b)) = a + b, filter(fn((a, b)) = a > 0, zip(x, y)))`",
      "map(fn((a, b)) = a + b, filter(fn((a, b)) = a > 0, zip(x, y)))");
  advises("sum(x for x in xs)", "a list made of another is written with map: `map(fn(x) = x, xs)`",
          "sum(map(fn(x) = x, xs))");
  advises("for (i = 0; i < n; i++) { f(i) }", "a loop goes over a range: `for i in 0..n { ... }`",
          "for i in 0..n { f(i) }");
  advises("for (let i = 1; i <= n; i += 1) { f(i) }", "a loop goes over a range: `for i in 1..n + 1 { ... }`",
          "for i in 1..n + 1 { f(i) }");
  advises("for (int i = 0; i < 4; ++i) { f(i) }", "a loop goes over a range: `for i in 0..4 { ... }`",
          "for i in 0..4 { f(i) }");
  advises("let t = a < b < c", "comparisons do not chain: write `a < b and b < c`", "let t = a < b and b < c");
  advises("f(0 <= x + 1 < n - 1, 2)", "comparisons do not chain: write `0 <= x + 1 and x + 1 < n - 1`",
          "f(0 <= x + 1 and x + 1 < n - 1, 2)");
  advises("a == b == c and d", "comparisons do not chain: write `a == b and b == c`", "a == b and b == c and d");
  advises("let r = 0..1..2", "a range has two ends: `0..1` cannot go on with `..`");
  advises("a == not b", "`not` binds loosest here, so it needs parentheses: `(not b)`", "a == (not b)");
}

TEST_CASE("advice: operators") {
  advises("let c = a && b", "`&&` is written `and`; on arrays, `&`", "let c = a and b");
  advises("let c = a || b", "`||` is written `or`; on arrays, `|`", "let c = a or b");
  advises("if !a {}", "`!` is written `not`; on arrays, `~`", "if not a {}");
  advises("i++", "`i++` is written `i += 1`", "i += 1");
  advises("for j in xs {\n  i--\n  f(i)\n}", "`i--` is written `i -= 1`", "for j in xs {\n  i -= 1\n  f(i)\n}");
  advises("while c { i++ }", "`i++` is written `i += 1`", "while c { i += 1 }");
  advises("x **= 2", "only `+=` `-=` `*=` `/=` assign and compute: write `x = x ** ...`");
  advises("let a = b === c", "`===` is written `==`", "let a = b == c");
  advises("let a = b ^ c", "`^` is no operator: a power is `x ** y`, and the exclusive or of bits `bit_xor(x, y)`");
  advises("if a = b { f() }", "a condition compares with `==`", "if a == b { f() }");
  advises("f(a, *xs)", "`*` before a value is written `...`", "f(a, ...xs)");
  advises("let f(x) = x + 1", "a function is declared with `fn`", "fn f(x) = x + 1");
  advises("// a comment", "a comment starts with `#`");
}

TEST_CASE("advice: blocks and records") {
  advises("if c:\n  f()", "a block stands in braces: `if c { ... }`");
  advises("for i in xs:\n  f(i)", "a block stands in braces: `for i in xs { ... }`");
  advises("while a and b: f()", "a block stands in braces: `while a and b { ... }`");
  advises("fn f(x):\n  x", "a block stands in braces: `fn f(x) { ... }`");
  advises("if c { 1 } else:\n  2", "a block stands in braces: `else { ... }`");
  advises("if (c) f()", "a block stands in braces: `if (c) { ... }`");
  advises("fn f(x)\n{\n  x\n}", "a block's `{` stands on the line of its header", "fn f(x) {\n  x\n}");
  advises("if c  # why\n\n{ f() }", "a block's `{` stands on the line of its header");
  advises("let p = {w, b}", "a record names each of its fields: `{w: w, b: b}`", "let p = {w: w, b: b}");
  advises("f({a = 1, b = g(2, 3)})", "a record names each of its fields: `{a: 1, b: g(2, 3)}`",
          "f({a: 1, b: g(2, 3)})");
  advises("let s = {1, 2}", "braces hold a record or a block; a list is `[1, 2]`", "let s = [1, 2]");
  advises("fn f() { a, b }", "several values make a tuple: `(a, b)`");
  advises("let x = 1\nelse { 2 }", "this `else` belongs to no `if`: it follows the `}` of the `if`'s block");
  advises("let x: f32[] = 1", "a `let` has no annotation: a variable takes its type from its value");
}

TEST_CASE("advice: meshes, specs, shard") {
  advises("mesh m = (X: 8)", "an axis is written with `@`: `@X`", "mesh m = (@X: 8)");
  advises("mesh m = (@X: 8, Y: 2)", "an axis is written with `@`: `@Y`", "mesh m = (@X: 8, @Y: 2)");
  advises("mesh m = (\"X\": 8)", "an axis is written with `@`: `@X`", "mesh m = (@X: 8)");
  advises("manual(data) fn f(x) = x", "an axis is written with `@`: `@data`", "manual(@data) fn f(x) = x");
  advises("let s = @ X", "an axis has no blank after its `@`");
  advises("let s = P(\"X\", none)", "an axis is written with `@`: `@X`", "");
  advises("let s = P(@X, None)", "a dimension that is not split is written `_` in a spec", "let s = P(@X, _)");
  advises("let s = P(@X, none)", "a dimension that is not split is written `_` in a spec", "let s = P(@X, _)");
  advises("let s = P", "a spec is written with parentheses: `P(@X, _)`, or `P()` for whole copies");
  const std::string only = "only `|>` may follow `shard ... as ...`: put it in parentheses: ";
  advises("let y = shard x as P(@X) @ w", only + "`(shard x as P(@X))`", "let y = (shard x as P(@X)) @ w");
  advises("let y = shard x as P(@X).sum()", only + "`(shard x as P(@X))`", "let y = (shard x as P(@X)).sum()");
  advises("f(shard (x) as P(@X) on m + 1)", only + "`(shard (x) as P(@X) on m)`", "f((shard (x) as P(@X) on m) + 1)");
  advises("let y = shard x as s and t", only + "`(shard x as s)`", "let y = (shard x as s) and t");
  advises("let y = w @ shard x as P()", "as an operand, `shard` needs parentheses: `(shard ... as ...)`");
  advises("let y = 1 + fn(x) = x", "as an operand, `fn` needs parentheses: `(fn(x) = ...)`");
}

TEST_CASE("advice: statements of other languages") {
  advises("from nn import linear", "a module comes in whole: `import nn`, then `nn.linear`");
  advises("class A { }", "there are no classes: a record holds fields, `{w: 1, b: 2}`, and `p.f()` is `f(p)`");
  advises("match x { }", "there is no `match`: write `if a { ... } else if b { ... }`");
  advises("raise E(1)", "an error is raised by a call: `error(\"words\")`");
  advises("assert a == b", "a call has parentheses: `assert(a == b)`", "assert(a == b)");
  advises("jit f(x) = x", "a function is declared with `fn`: `jit fn f(x) = x`", "jit fn f(x) = x");
  advises("@jit\nfn f(x) = x", "nothing decorates a function: `jit` stands before `fn`: `jit fn f(x)`",
          "jit fn f(x) = x");
  advises("let a, b = f()", "several names stand in parentheses: `let (a, b) = ...`", "let (a, b) = f()");
  advises("let a = 1, 2", "several values make a tuple: `(1, 2)`", "let a = (1, 2)");
  advises("let mut a = 1", "every variable can be assigned: drop the `mut`", "let a = 1");
  advises("let a[0] = 1", "an element or a field of a variable is assigned without `let`", "a[0] = 1");
  advises("let a = b = 1", "one `let` declares one value: assign to each variable by itself");
  advises("let a == 1", "`let` gives a value with one `=`", "let a = 1");
  advises("let p = {w = 1}", "a record names its fields with a colon: `{w: 1}`", "let p = {w: 1}");
  advises("f({w = g(1)})", "a record names its fields with a colon: `{w: g(1)}`", "f({w: g(1)})");
  advises("a := 1", "`:=` is written `=`, with a `let` in front where the variable is new", "a = 1");
  advises("for i, x in e(xs) { }", "several names stand in parentheses: `for (i, x) in ...`",
          "for (i, x) in e(xs) { }");
  advises("for i in 0...n { }", "a range has two dots, and ends before its last number: `0..10`", "for i in 0..n { }");
  advises("f(x in xs)",
          "`in` belongs to `for`; what a list holds is looked up with `len(filter(fn(y) = y == x, xs)) > 0`");
  advises("let t = x is not none", "`is not` is written `!=` here", "let t = x != none");
  advises("fn f(*xs) = 1", "a function takes a fixed number of arguments: take a list, or a record, as one of them");
  advises("let (a, *rest) = xs", "what a pattern leaves is taken by `...`: `(first, ...others)`, `{w, ...others}`");
  advises("fn f(x, ...xs) = 1",
          "a function takes a fixed number of arguments: take a list, or a record, as one of them");
  advises("fn f x = x", "parameters stand in parentheses: `fn f(x, y) = ...`, `fn(x) = ...`");
  advises("fn f(x): f32[3] = x", "what a function returns is annotated with `->`: `-> f32[3]`",
          "fn f(x) -> f32[3] = x");
  advises("mesh m = (@X = 8)", "the size of an axis follows a colon: `@X: 8`", "mesh m = (@X :  8)");
  advises("mesh m = [@X: 8]", "the axes of a mesh stand in parentheses: `mesh m = (@X: 8)`");
  advises("use mesh m", "`use` takes the mesh alone: `use m`", "use m");
  advises("let y = shard x P(@X)", "a layout follows `as`: `shard x as P(@X)`", "let y = shard x as P(@X)");
  advises("import nn, optim", "one `import` brings in one module: write another one");
  advises("test { }", "a test has a title: `test \"what holds\" { ... }`");
  advises("f([1, 2; 3, 4])", "the rows of a matrix are lists: `array([[1, 2], [3, 4]])`");
  advises("let s = \"{}\"", "braces in a string hold what is shown, such as `{loss:.4f}`; a brace itself is `{{`");
}

TEST_CASE("advice: functions with arrows and without a sign") {
  advises("let f = x -> x + 1", "a function is written `fn(x) = ...`", "let f = fn(x) = x + 1");
  advises("map((x, y) -> x * y, xs)", "a function is written `fn(x, y) = ...`", "map(fn(x, y) = x * y, xs)");
  advises("let f = \\x -> x + 1", "a function is written `fn(x) = ...`", "let f = fn(x) = x + 1");
  advises("fn f(x) x", "what a function returns follows `=`: `fn(x) = x + 1`", "fn f(x) = x");
  advises("let f = fn(x) -x", "what a function returns follows `=`: `fn(x) = x + 1`", "let f = fn(x) = -x");
}

TEST_CASE("advice: named arguments within a let") {
  advises("let m = x.mean(axis=0)", "an argument is named with a colon: `axis: 0`", "let m = x.mean(axis: 0)");
  advises("let a = 1 + f(g(b=2))", "an argument is named with a colon: `b: 2`", "let a = 1 + f(g(b: 2))");
  advises("let a = b = 1", "one `let` declares one value: assign to each variable by itself");
}

TEST_CASE("advice: declarations and comments of other languages") {
  advises("local x = 3", "a variable is declared with `let`, and takes its type from its value", "let x = 3");
  advises("int x = 3;", "a variable is declared with `let`, and takes its type from its value", "let x = 3;");
  advises("local function f(x) { x }", "a function is declared with `fn`", "fn f(x) { x }");
  advises("echo \"a\"", "`echo` is a call here: `print(\"a\")`", "print(\"a\")");
  advises("let n = 1 // the size of it", "a comment starts with `#`", "let n = 1 # the size of it");
  advises("let n = 1 -- the size of it", "a comment starts with `#`", "let n = 1 # the size of it");
  advises("f(x)\n// the size of it\ng(x)", "a comment starts with `#`", "f(x)\n# the size of it\ng(x)");
}

TEST_CASE("advice: ranges, statements, layouts, imports") {
  advises("for i in 0..10 step 2 { f(i) }", "numbers with a step between them are `range(0, 10, 2)`",
          "for i in range(0, 10, 2) { f(i) }");
  advises("for i in 0 to n - 1 { f(i) }",
          "a range is written with two dots, and ends before its last number: `0..n - 1`",
          "for i in 0..n - 1 { f(i) }");
  advises("let a = 1 let b = 2", "a newline or `;` stands between two statements", "let a = 1; let b = 2");
  advises("for i in xs { f(i) } g(x)", "a newline or `;` stands between two statements", "for i in xs { f(i) }; g(x)");
  advises("fn f(x) { if x > 0 { g(x) } x }", "a newline or `;` stands between two statements",
          "fn f(x) { if x > 0 { g(x) }; x }");
  advises("let y = ones([8]) as P(@X)", "a layout is given by `shard ... as ...`", "let y = shard ones([8]) as P(@X)");
  advises("mesh (@X: 8)", "a mesh has a name: `mesh m = (@X: 8)`", "mesh m = (@X: 8)");
  const std::string prefix =
      "arrays and their functions need no import and no prefix: `zeros([3])`, `grad(f)`, `normal(key(0), [3])`";
  advises("import jax.numpy as jnp", prefix);
  advises("from jax import grad", prefix);
  advises("import flax.linen as nn", "layers are the module nn: `import nn`, then `nn.linear(784, 10)`");
}

TEST_CASE("advice: numbers and signs") {
  advises("let m = 0b1010_0001", "numbers are written in tens or in hexadecimal: `0xa1`", "let m = 0xa1");
  advises("let m = 0o17", "numbers are written in tens or in hexadecimal: `0xf`", "let m = 0xf");
  advises("let m = 0b12", "`0b12` is neither a number nor a name");
  advises("let a = 3 \u2212 1", "`\u2212` is written `-`", "let a = 3 - 1");
  advises("let a = x \u2264 1", "`\u2264` is written `<=`", "let a = x <= 1");
  advises("let\u00A0a = 1", "this blank is U+00A0, not the one of the space bar", "let a = 1");
  advises("let gr\u00F6sse = 1", "`\u00F6` cannot be part of a name: names are made of `A-Z a-z 0-9 _`");
  advises("f(1)\u200B", "the character U+200B has no meaning here", "f(1)");
  advises("f(1)\rg(1)", "a line ends in a carriage return alone: save the file with line feeds");
  advises("f(\"{x!r}\")", "a value in a string is shown as `print` shows it: drop the `!r`", "f(\"{x}\")");
  advises("f(\"a {x\")", "`{` in a string begins a value, and no `}` ends it");
}

TEST_CASE("advice: lines that begin with an operator") {
  for (const char* sign : {"*", "/", "==", "and"}) {
    const std::string s(sign);
    advises("let y = (1 + 2)\n  " + s + " 3",
            "a line that begins with `" + s + "` does not go on from the line above: put it at the end of that line");
  }
  for (const char* sign : {"+", "-"}) {
    const std::string said = std::string("a line that begins with `") + sign + "` does not go on from the line above";
    advises(std::string("let y = a\n  ") + sign + " b\nf(y)", said);
    advises(std::string("let y = a\n") + sign + " b\nf(y)", said);
    advises(std::string("let y = a\n  ") + sign + " b", said);
    advises(std::string("fn f(a) {\n  let y = a\n    ") + sign + " b\n}", said);
    CHECK(message(std::string("let y = a\n") + sign + "y") == "");  // the value of the text
    CHECK(message(std::string("fn f(a) {\n  let y = a\n  ") + sign + "y\n}") == "");
    CHECK(message(std::string("let y = a ") + sign + "\n  b") == "");
    CHECK(message(std::string("let y = (a\n  ") + sign + " b)") == "");
  }
}
