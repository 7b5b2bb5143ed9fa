// Statements, functions and what they declare.
#include <catch2/catch.hpp>

#include "tests/grammar/tree.h"

using namespace shard::grammar;
using namespace shard::grammar::testing;

TEST_CASE("declaring and assigning") {
  CHECK(tree("let a = 1") == "(let a 1)");
  CHECK(tree("let (p, [q, r]) = pair") == "(let (tuple p (list q r)) pair)");
  CHECK(tree("let {w, b: bias, c: (d, e)} = p") == "(let (record w:w b:bias c:(tuple d e)) p)");
  CHECK(tree("let (a, _) = f()") == "(let (tuple a _) (call f))");
  CHECK(tree("a = 2; a += 1; a -= 1; a *= 2; a /= 2") == "(= a 2)\n(+= a 1)\n(-= a 1)\n(*= a 2)\n(/= a 2)");
  CHECK(tree("(p, q) = step(p, q)") == "(= (tuple p q) (call step p q))");
  CHECK(tree("x[i, 0] += v") == "(+= (index x [i] [0]) v)");
  CHECK(tree("p.w.b = v") == "(= (field (field p w) b) v)");
  CHECK(tree("a == b") == "(== a b)");
  CHECK(tree("a=b") == "(= a b)");
  CHECK(tree("a=-b") == "(= a (neg b))");
}

TEST_CASE("functions") {
  CHECK(tree("fn f(x, scale = 2.0) = x * scale") == "(fn f (x scale=0x1p+1) (* x scale))");
  CHECK(tree("fn g(x) { let y = x + 1; y * y }") == "(fn g (x) (block (let y (+ x 1)) (* y y)))");
  CHECK(tree("jit fn layer(x, W, b) = sigmoid(x @ W + b)") == "(fn jit layer (x W b) (call sigmoid (+ (@ x W) b)))");
  CHECK(tree("manual fn f(x: P(@X), w: P(@X, _)) -> P() =\n  psum(x @ w, @X)") ==
        "(fn manual f (x:spec (P @X) w:spec (P @X _)) -> spec (P) (call psum (@ x w) @X))");
  CHECK(tree("manual(@data) fn f(x) { x }") == "(fn manual(@data) f (x) (block x))");
  CHECK(tree("jit auto(@X, @Y) fn f(x) -> P(@X) = x") == "(fn jit auto(@X@Y) f (x) -> spec (P @X) x)");
  CHECK(tree("explicit fn f(x) = x") == "(fn explicit f (x) x)");
  CHECK(tree("auto(x)") == "(call auto x)");  // a word only before `fn`
  CHECK(tree("let explicit = 1") == "(let explicit 1)");
  CHECK(tree("fn f() {}") == "(fn f () (block))");
  CHECK(tree("fn f() = {}") == "(fn f () (record))");
  CHECK(tree("fn f(\n  a,\n  b,\n) = a") == "(fn f (a b) a)");
  CHECK(tree("fn(x) = x") == "(fn (x) x)");
}

TEST_CASE("annotations") {
  CHECK(tree("fn f(x: f32[B@X, D]) -> f32[B] = x") == "(fn f (x:(type f32 [B@X] [D])) -> (type f32 [B]) x)");
  CHECK(tree("fn f(p: {w: P(), b: [P(@X), s]}, q: specs.q) = p") ==
        "(fn f (p:(record w:spec (P) b:(list spec (P @X) spec s)) q:spec (field specs q)) p)");
  CHECK(tree("fn f(x) -> (P(), f32[2]) { x }") == "(fn f (x) -> (tuple spec (P) (type f32 [2])) (block x))");
  CHECK(tree("fn f(x) -> {w: P()} { x }") == "(fn f (x) -> (record w:spec (P)) (block x))");
  CHECK(tree("fn f(k: key[], n: i32[] = 3) = n") == "(fn f (k:(type key) n:(type i32)=3) n)");
  CHECK(tree("fn f(x: P(@X) = y, z: ~f32[]) = z") == "(fn f (x:spec (P @X)=y z:(weak-type f32)) z)");
  CHECK(tree("key[0]") == "(index key [0])");
}

TEST_CASE("documentation stands directly above a definition") {
  CHECK(tree("## One.\n##   Two.\nfn f(x) = x") == "(fn f doc\"One.\n  Two.\" (x) x)");
  CHECK(tree("## One.\n\nfn f(x) = x") == "(fn f (x) x)");
  CHECK(tree("# no\nfn f(x) = x") == "(fn f (x) x)");
  CHECK(tree("let a = 1 ## no\nfn f(x) = x") == "(let a 1)\n(fn f (x) x)");
  CHECK(tree("## yes\njit manual fn f(x) = x") == "(fn jit manual f doc\"yes\" (x) x)");
  CHECK(tree("fn g() {\n  ## inner\n  ##\n  ## more\n  fn f(x) = x\n  f\n}") ==
        "(fn g () (block (fn f doc\"inner\n\nmore\" (x) x) f))");
  CHECK(tree("## a\nfn f() = 1\n## b\nfn g() = 2") == "(fn f doc\"a\" () 1)\n(fn g doc\"b\" () 2)");
}

TEST_CASE("spans of a function") {
  Parsed p("jit fn f(x) -> P()  = x + 1");
  REQUIRE(p.result.module);
  const Function& f = *std::get<FnStmt>(p.result.module->body[0]->node).function;
  CHECK(p.sources.text(f.span) == "jit fn f(x) -> P()  = x + 1");
  CHECK(p.sources.text(f.header) == "jit fn f(x) -> P()");
  CHECK(p.sources.text(f.name_span) == "f");
  CHECK(p.sources.text(f.params[0].span) == "x");
  CHECK(p.sources.text(f.modifiers[0].span) == "jit");
}

TEST_CASE("meshes, use, rules") {
  CHECK(tree("mesh m = (@data: 4, @model: 2)") == "(mesh m @data:4 @model:2)");
  CHECK(tree("mesh e = (@X: 2, @Y: 4) explicit") == "(mesh e @X!:2 @Y!:4)");
  CHECK(tree("mesh h = (@data: _, @model: 2 explicit)") == "(mesh h @data:_ @model!:2)");
  CHECK(tree("mesh h = (@data: n auto,) auto") == "(mesh h @data:n)");
  CHECK(tree("mesh m = (@X: 4) explicit on devices()[4:8]") == "(mesh m @X!:4 on (index (call devices) [4:8:-]))");
  CHECK(tree("use m") == "(use-rest m)");
  CHECK(tree("use m { f() }") == "(use m (block (call f)))");
  CHECK(tree("(use m { a }).x") == "(field (use m (block a)) x)");
  CHECK(tree("rules { batch: @data, embed: _ }") == "(rules (record batch:@data embed:_))");
  CHECK(tree("rules my.rules") == "(rules (field my rules))");
  CHECK(tree("let rules = 1\nrules = 2\nrules.x\nrules") == "(let rules 1)\n(= rules 2)\n(field rules x)\nrules");
  CHECK(tree("let on = 1\nlet test = on\ntest(1)") == "(let on 1)\n(let test on)\n(call test 1)");
}

TEST_CASE("control flow, tests, imports") {
  CHECK(tree("for i in 0..10 { }") == "(for i (.. 0 10) (block))");
  CHECK(tree("for (a, b) in zip(xs, ys) { f(a) }") == "(for (tuple a b) (call zip xs ys) (block (call f a)))");
  CHECK(tree("while c { break; continue }") == "(while c (block (break) (continue)))");
  CHECK(tree("fn f() { if a { return }; return 1 }") == "(fn f () (block (if a (block (return -)) -) (return 1)))");
  CHECK(tree("fn f() {\n  return\n}") == "(fn f () (block (return -)))");
  CHECK(tree("test \"sum {{over}} shards\" { assert(a) }") == "(test \"sum {over} shards\" (block (call assert a)))");
  CHECK(tree("import nn") == "(import nn as nn)");
  CHECK(tree("import nn as layers") == "(import nn as layers)");
  CHECK(tree("import \"model.shard\"") == "(import file model.shard as model)");
  CHECK(tree("import \"lib/model.shard\" as net") == "(import file lib/model.shard as net)");
  CHECK(message("import \"2 b.shard\"") == "the file needs a name here: `import \"2 b.shard\" as name`");
  CHECK(message("test \"{x}\" {}") == "this string cannot interpolate: it is read before the program runs");
}
