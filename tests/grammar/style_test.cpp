// The style of `shard fmt`, rule by rule; that it keeps trees and is stable is looked at for every text that the other
// tests of the grammar parse (tree.h), and for all scripts of the repository (tests/golden/fmt.py).
#include <catch2/catch.hpp>

#include "tests/grammar/tree.h"

using namespace shard::grammar;
using shard::grammar::style::formatted;

namespace {
void becomes(const std::string& text, const std::string& styled) {
  INFO(text);
  CHECK(testing::tree(text) == testing::tree(styled));
  CHECK(formatted(text) == styled);
}
}  // namespace

TEST_CASE("blanks between tokens", "[style]") {
  becomes("let  x=1+2*3\n", "let x = 1 + 2 * 3\n");
  becomes("let y = - x ** - 2 @ w\n", "let y = -x ** -2 @ w\n");
  becomes("f( x,axis :0 , ... more )\n", "f(x, axis: 0, ...more)\n");
  becomes("let z = [ 1,2 ] [ 0 ] . shape\n", "let z = [1, 2][0].shape\n");
  becomes("let s = x[1 :3,:, ::2, ..., -1:]\n", "let s = x[1:3, :, ::2, ..., -1:]\n");
  becomes("let s = x[2*i:2*i+2, f(a+b):c, n-1:]\n", "let s = x[2 * i : 2 * i + 2, f(a + b):c, n - 1:]\n");
  becomes("for i in 0 .. n-1 { }\n", "for i in 0..n - 1 { }\n");
  becomes("mesh m=(@X:2,@Y :4)explicit\n", "mesh m = (@X: 2, @Y: 4) explicit\n");
  becomes("let a = shard x as P( @( X,Y ),_ )on m\n", "let a = shard x as P(@(X, Y), _) on m\n");
  becomes("fn on ( a ) = on( a )\n", "fn on(a) = on(a)\n");
  becomes("let e = 1e-3+2.5E+4 - 0xffe-1\n", "let e = 1e-3 + 2.5E+4 - 0xffe - 1\n");
  becomes("let t = if a<b{1}else{ -1 }\n", "let t = if a < b { 1 } else { -1 }\n");
  becomes("fn f(x)=not x and-y>0\n", "fn f(x) = not x and -y > 0\n");
}

TEST_CASE("braces say what they are", "[style]") {
  becomes("let r = { w:1,b : { } }\n", "let r = {w: 1, b: {}}\n");
  becomes("let r = {... r,[ n ]:2}\n", "let r = {...r, [n]: 2}\n");
  becomes("let { w,b } = r\n", "let {w, b} = r\n");
  becomes("fn f({w,b},( x , y )) {w}\n", "fn f({w, b}, (x, y)) { w }\n");
  becomes("rules {batch:@X,embed:_}\n", "rules { batch: @X, embed: _ }\n");
  becomes("while c {}\n", "while c { }\n");
  becomes("fn g() = {}\n", "fn g() = {}\n");
}

TEST_CASE("types and annotations", "[style]") {
  becomes("manual( @X )fn f(x:f32[B @ X,D],y : P( ))->P()=x\n", "manual(@X) fn f(x: f32[B@X, D], y: P()) -> P() = x\n");
  becomes("fn f(a:f32[4 @Y,4]{U:X})=a\n", "fn f(a: f32[4@Y, 4]{U:X}) = a\n");
  becomes("jit fn f(x) -> f32[8]{ x }\n", "jit fn f(x) -> f32[8] { x }\n");
}

TEST_CASE("strings stay as they are", "[style]") {
  becomes("print( \"a  {x+1:.2f} {f( \"}\" )} {{ # no comment\" )\n",
          "print(\"a  {x+1:.2f} {f( \"}\" )} {{ # no comment\")\n");
}

TEST_CASE("lines and indentation", "[style]") {
  becomes("fn f(x) {\n      let y = x;\n\n\n\n  y\n    }\n\n\n", "fn f(x) {\n  let y = x\n\n  y\n}\n");
  becomes("let x = f(\n1,\n      2)\n", "let x = f(\n  1,\n  2)\n");
  becomes("let x = a +\nb\n", "let x = a +\n  b\n");
  becomes("let x = a\n.f()\n      |> g()\n", "let x = a\n  .f()\n  |> g()\n");
  becomes("if a { f() }\nelse if b { g() }\n  else { h() }\n", "if a { f() }\nelse if b { g() }\nelse { h() }\n");
  becomes("fn f(a,\n     b) {\na\n}\n", "fn f(a,\n  b) {\n  a\n}\n");
  becomes("f(fn(x) {\nx\n}, [\n1\n])\n", "f(fn(x) {\n  x\n}, [\n  1\n])\n");
  becomes("let a = 1\n\r\n\r\nlet b = 2", "let a = 1\n\nlet b = 2\n");
}

TEST_CASE("comments stand where they stood", "[style]") {
  becomes("## Doc.\nfn f() {\n# in it\n    1   # end\n  # last\n}\n",
          "## Doc.\nfn f() {\n  # in it\n  1     # end\n  # last\n}\n");
  becomes("let a=1    # one\nlet bcd=2  # two\n           # more of two\n",
          "let a = 1  # one\nlet bcd = 2  # two\n             # more of two\n");
  becomes("let x = [ # head\n  1, # one\n  2 ]\n", "let x = [  # head\n  1,  # one\n  2]\n");
  becomes("# only\n", "# only\n");
  becomes("", "");
}

TEST_CASE("what is longer than 100 columns is broken where it is bound least", "[style]") {
  const std::string a(28, 'a'), b(28, 'b'), c(28, 'c');
  becomes("print(" + a + ", " + b + ", " + c + ", 1234567)\n", "print(" + a + ", " + b + ", " + c + ",\n  1234567)\n");
  becomes("let value = " + a + " * " + b + " + " + c + " * 12345\n",
          "let value =\n  " + a + " * " + b + " + " + c + " * 12345\n");
  becomes("if " + a + " and " + b + " { f(" + c + "); g(1) }\n",
          "if " + a + " and " + b + " {\n  f(" + c + ")\n  g(1)\n}\n");
  becomes("let x = " + a + "; let y = " + b + "; let z = " + c + "\n",
          "let x = " + a + "\nlet y = " + b + "\nlet z = " + c + "\n");
  const std::string text = "\"" + std::string(120, 't') + "\"";
  becomes("print(" + text + ")\n", "print(" + text + ")\n");
}
