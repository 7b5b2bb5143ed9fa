// Expressions: every form, how operators bind, and the spans of nodes.
#include <catch2/catch.hpp>

#include "tests/grammar/tree.h"

using namespace shard::grammar;
using namespace shard::grammar::testing;

TEST_CASE("literals") {
  CHECK(tree("42") == "42");
  CHECK(tree("1_000_000") == "1000000");
  CHECK(tree("0xff") == "255");
  CHECK(tree("0x7FFF_ffff_ffff_ffff") == "9223372036854775807");
  CHECK(tree("1.5") == "0x1.8p+0");
  CHECK(tree("1e-3") == tree("0.001"));
  CHECK(tree("2E+2") == tree("200.0"));
  CHECK(tree("0.1") == "0x1.999999999999ap-4");        // correctly rounded: 0.1 is 0x1.999999999999ap-4 in IEEE 754
  CHECK(tree("5e-324") == "0x0.0000000000001p-1022");  // the smallest denormal
  CHECK(tree("true") == "true");
  CHECK(tree("false") == "false");
  CHECK(tree("none") == "none");
  CHECK(tree("f32") == "dtype:f32");
  CHECK(tree("jit") == "jit");
  CHECK(tree("psum") == "psum");
  CHECK(tree("@X") == "@X");
  CHECK(tree("@(X, Y)") == "@(X Y)");
  CHECK(tree("@(@X, @Y,)") == "@(X Y)");
  CHECK(tree("_") == "_");
}

TEST_CASE("strings") {
  CHECK(tree("\"\"") == "(str)");
  CHECK(tree("\"abc\"") == "(str \"abc\")");
  CHECK(tree(R"("a\tb\\\"\x41\u00e9\U0001F600")") == "(str \"a\tb\\\"A\xC3\xA9\xF0\x9F\x98\x80\")");
  CHECK(tree("\"loss {loss:.4f} at {i}\"") == "(str \"loss \" loss:.4f \" at \" i)");
  CHECK(tree("\"{{x}}\"") == "(str \"{x}\")");
  CHECK(tree("\"{f(x, axis: 0)[1:2]}\"") == "(str (index (call f x axis:0) [1:2:-]))");
  CHECK(tree("\"{ {a: 1}.a }\"") == "(str (field (record a:1) a))");
  CHECK(tree("\"{\"in {x}\"} out\"") == "(str (str \"in \" x) \" out\")");
  CHECK(tree("\"# {x} '\"") == "(str \"# \" x \" '\")");
  CHECK(tree("\"{x:#x}\"") == "(str x:#x)");
  CHECK(tree("\"{fn(a) { let b = a; b }}\"") == "(str (fn (a) (block (let b a) b)))");
}

TEST_CASE("operators bind as the table says") {
  CHECK(tree("a or b and c") == "(or a (and b c))");
  CHECK(tree("not a and b") == "(and (not a) b)");
  CHECK(tree("not a == b") == "(not (== a b))");
  CHECK(tree("not not a") == "(not (not a))");
  CHECK(tree("a < b + 1") == "(< a (+ b 1))");
  CHECK(tree("a == b..c") == "(== a (.. b c))");
  CHECK(tree("0..n - 1") == "(.. 0 (- n 1))");
  CHECK(tree("a | b & c << 1 + 2 * 3") == "(| a (& b (<< c (+ 1 (* 2 3)))))");
  CHECK(tree("a - b - c") == "(- (- a b) c)");
  CHECK(tree("a / b // c % d @ e * f") == "(* (@ (% (// (/ a b) c) d) e) f)");
  CHECK(tree("x @ w + b") == "(+ (@ x w) b)");
  CHECK(tree("-x ** 2") == "(neg (** x 2))");
  CHECK(tree("2 ** -x") == "(** 2 (neg x))");
  CHECK(tree("2 ** 3 ** 4") == "(** 2 (** 3 4))");
  CHECK(tree("2 ** -x * y") == "(* (** 2 (neg x)) y)");
  CHECK(tree("2 ** -x ** 3") == "(** 2 (neg (** x 3)))");
  CHECK(tree("-a * b") == "(* (neg a) b)");
  CHECK(tree("a * -b") == "(* a (neg b))");
  CHECK(tree("a - -b") == "(- a (neg b))");
  CHECK(tree("~a & ~b") == "(& (~ a) (~ b))");
  CHECK(tree("+a") == "(pos a)");
  CHECK(tree("-f(x).y[0]") == "(neg (index (field (call f x) y) [0]))");
  CHECK(tree("(a + b) * c") == "(* (+ a b) c)");
  CHECK(tree("(a < b) == c") == "(== (< a b) c)");
  CHECK(tree("a - (b - c)") == "(- a (- b c))");
  CHECK(tree("(2 ** 3) ** 4") == "(** (** 2 3) 4)");
  CHECK(tree("(-x) ** 2") == "(** (neg x) 2)");
  CHECK(tree("(not a) == b") == "(== (not a) b)");
  CHECK(tree("(a or b) and c") == "(and (or a b) c)");
}

TEST_CASE("longer tokens come first") {
  CHECK(tree("a<=b") == "(<= a b)");
  CHECK(tree("a<<b") == "(<< a b)");
  CHECK(tree("a>>b") == "(>> a b)");
  CHECK(tree("a//b") == "(// a b)");
  CHECK(tree("a**b") == "(** a b)");
  CHECK(tree("a|>b") == "(pipe a b)");
  CHECK(tree("a|b") == "(| a b)");
  CHECK(tree("a!=b") == "(!= a b)");
  CHECK(tree("0..10") == "(.. 0 10)");
  CHECK(tree("3.f()") == "(call (field 3 f))");
  CHECK(tree("order") == "order");  // no `or`
  CHECK(tree("notes and index") == "(and notes index)");
}

TEST_CASE("calls, indices, fields") {
  CHECK(tree("f()") == "(call f)");
  CHECK(tree("f(x, axis: 0, ...xs,)") == "error: a positional argument stands after the named argument `axis`");
  CHECK(tree("f(x, ...xs, axis: 0,)") == "(call f x ...xs axis:0)");
  CHECK(tree("vmap(f, in: 0)") == "(call vmap f in:0)");
  CHECK(tree("x.sum(axis: 0).reshape([2, 4])") == "(call (field (call (field x sum) axis:0) reshape) (list 2 4))");
  CHECK(tree("x.T") == "(field x T)");
  CHECK(tree("x.for.in") == "(field (field x for) in)");
  CHECK(tree("x.map(fn(y) = y + 1)") == "(call (field x map) (fn (y) (+ y 1)))");
  CHECK(tree("f32(x)") == "(call dtype:f32 x)");
  CHECK(tree("jit(f)(x)") == "(call (call jit f) x)");
  CHECK(tree("psum(x, @X)") == "(call psum x @X)");
  CHECK(tree("psum(x @X)") == "(call psum (@ x X))");  // the forgotten comma is the resolver's matter
  CHECK(tree("x[0]") == "(index x [0])");
  CHECK(tree("x[1:3, :]") == "(index x [1:3:-] [-:-:-])");
  CHECK(tree("x[..., -1]") == "(index x [...] [(neg 1)])");
  CHECK(tree("x[::2]") == "(index x [-:-:2])");
  CHECK(tree("x[a:b:c, none, m]") == "(index x [a:b:c] [none] [m])");
  CHECK(tree("x[:n]") == "(index x [-:n:-])");
  CHECK(tree("p[\"w\"]") == "(index p [(str \"w\")])");
  CHECK(tree("(f32)[8]") == "(index dtype:f32 [8])");
}

TEST_CASE("trees of values") {
  CHECK(tree("()") == "(tuple)");
  CHECK(tree("(a)") == "a");
  CHECK(tree("(a,)") == "(tuple a)");
  CHECK(tree("(a, b)") == "(tuple a b)");
  CHECK(tree("(...xs)") == "(tuple ...xs)");
  CHECK(tree("[]") == "(list)");
  CHECK(tree("[1, ...xs, 2,]") == "(list 1 ...xs 2)");
  CHECK(tree("{}") == "(record)");
  CHECK(tree("{w: 1, \"two words\": 2, if: 3}") == "(record w:1 two words:2 if:3)");
  CHECK(tree("{...p, w: 3}") == "(record ...p w:3)");
  CHECK(tree("let p = {\n  w: 1,\n  b: 2,\n}") == "(let p (record w:1 b:2))");
  CHECK(tree("let p = {\n}") == "(let p (record))");
  CHECK(tree("let v = { let y = 1; y + 1 }") == "(let v (block (let y 1) (+ y 1)))");
}

TEST_CASE("if, use, pipes, shard, lambdas") {
  CHECK(tree("let s = if x > 0 { 1 } else { -1 }") == "(let s (if (> x 0) (block 1) (block (neg 1))))");
  CHECK(tree("if a { } else if b { } else if c { } else { }") ==
        "(if a (block) (if b (block) (if c (block) (block))))");
  CHECK(tree("1 + if a { 1 } else { 2 } * 3") == "(+ 1 (* (if a (block 1) (block 2)) 3))");
  CHECK(tree("let y = use m { f(x) }") == "(let y (use m (block (call f x))))");
  CHECK(tree("x |> f(2) |> g") == "(pipe (pipe x (call f 2)) g)");
  CHECK(tree("a or b |> f") == "(pipe (or a b) f)");
  CHECK(tree("shard x as P(@X)") == "(shard x (P @X) -)");
  CHECK(tree("shard x + 1 as specs.w on m") == "(shard (+ x 1) (field specs w) m)");
  CHECK(tree("shard x as P() |> f") == "(pipe (shard x (P) -) f)");
  CHECK(tree("shard shard x as P() as P(@X)") == "(shard (shard x (P) -) (P @X) -)");
  CHECK(tree("(shard x as P(@X)).sum()") == "(call (field (shard x (P @X) -) sum))");
  CHECK(tree("shard p as {w: P(_, @model), b: P(@(data, model))}") ==
        "(shard p (record w:(P _ @model) b:(P @(data model))) -)");
  CHECK(tree("P(?, unreduced: @X)") == "(P ? unreduced:@X)");
  CHECK(tree("let s = P(@X)") == "(let s (P @X))");
  CHECK(tree("fn(x) = x |> f") == "(fn (x) (pipe x f))");
  CHECK(tree("fn(x) = fn(y) = x + y") == "(fn (x) (fn (y) (+ x y)))");
  CHECK(tree("fn((i, x), c) = c") == "(fn ((tuple i x) c) c)");
  CHECK(tree("map(jit fn(x) = x, xs)") == "(call map (fn jit (x) x) xs)");
  CHECK(tree("g(manual(@data) fn(x) { x }, 1)") == "(call g (fn manual(@data) (x) (block x)) 1)");
  CHECK(tree("grad(fn(p) = f(p).mean())(p)") == "(call (call grad (fn (p) (call (field (call f p) mean)))) p)");
}

TEST_CASE("types as values") {
  CHECK(tree("f32[8@X,4]") == "(type f32 [8@X] [4])");
  CHECK(tree("f32[]") == "(type f32)");
  CHECK(tree("~f32[]") == "(weak-type f32)");
  CHECK(tree("f32 [8]") == "(type f32 [8])");
  CHECK(tree("~f32 []") == "(weak-type f32)");
  CHECK(tree("~x") == "(~ x)");
  CHECK(tree("f32[..., B@(Y, Z), _]") == "(type f32 [...] [B@(Y Z)] [_])");
  CHECK(tree("f32[8@(X,)]") == "(type f32 [8@(X)])");
  CHECK(tree("f32[2 * B + 1@X, (a @ b)]") == "(type f32 [(+ (* 2 B) 1)@X] [(@ a b)])");
  CHECK(tree("f32[4,2]{V:X}") == "(type f32 [4] [2] {V X})");
  CHECK(tree("f32[4]{V:(X, Y), U_max:@Z}") == "(type f32 [4] {V X Y} {U_max Z})");
  CHECK(tree("typeof(x) == f32[8@X,4]") == "(== (call typeof x) (type f32 [8@X] [4]))");
  CHECK(tree("if t == f32[4] { 1 }") == "(if (== t (type f32 [4])) (block 1) -)");
  CHECK(tree("if t == f32[4]{V:X} { 1 }") == "(if (== t (type f32 [4] {V X})) (block 1) -)");
}

TEST_CASE("a node's span is what was written, without parentheses and blanks around it") {
  Parsed p("let a =  f( x ) + (b * 2)   # a comment");
  REQUIRE(p.result.module);
  const auto& let = std::get<LetStmt>(p.result.module->body[0]->node);
  CHECK(p.sources.text(p.result.module->body[0]->span) == "let a =  f( x ) + (b * 2)");
  CHECK(p.sources.text(let.pattern->span) == "a");
  CHECK(p.sources.text(let.value->span) == "f( x ) + (b * 2)");
  const auto& sum = std::get<Binary>(let.value->node);
  CHECK(p.sources.text(sum.op_span) == "+");
  CHECK(p.sources.text(sum.left->span) == "f( x )");
  CHECK(p.sources.text(sum.right->span) == "b * 2");
  CHECK(p.sources.text(std::get<Call>(sum.left->node).args[0].value->span) == "x");
}

TEST_CASE("spans of what stands in strings and behind") {
  Parsed p("print(\"a {x + 1:.2f}\").y");
  REQUIRE(p.result.module);
  const Expr& field = *std::get<ExprStmt>(p.result.module->body[0]->node).value;
  CHECK(p.sources.text(field.span) == "print(\"a {x + 1:.2f}\").y");
  CHECK(p.sources.text(std::get<Field>(field.node).name.span) == "y");
  const auto& call = std::get<Call>(std::get<Field>(field.node).object->node);
  CHECK(p.sources.text(call.args[0].value->span) == "\"a {x + 1:.2f}\"");
  CHECK(p.sources.text(std::get<StringLit>(call.args[0].value->node).pieces[1].value->span) == "x + 1");
}

TEST_CASE("ids are unique and below the module's count") {
  Parsed p("fn f(a, (b, c) = g(1)) = a + b\nlet x = f(1, (2, 3))\nmesh m = (@X: 8)\nimport nn");
  REQUIRE(p.result.module);
  CHECK(p.result.module->ids > 10);
  CHECK(p.result.module->ids < 40);
  CHECK(std::get<MeshStmt>(p.result.module->body[2]->node).id < p.result.module->ids);
  CHECK(std::get<MeshStmt>(p.result.module->body[2]->node).id !=
        std::get<ImportStmt>(p.result.module->body[3]->node).id);
}
