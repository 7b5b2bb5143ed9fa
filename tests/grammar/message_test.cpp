// What is said where no advice fits: the expected sets, the place, errors of form, and whether more text could complete
// the text.
#include <catch2/catch.hpp>

#include "tests/grammar/tree.h"

using namespace shard::grammar;
using namespace shard::grammar::testing;

namespace {

void says(const std::string& text, const std::string& what, std::string_view marked) {
  INFO(text);
  const Parsed p(text);
  CHECK(p.message() == what);
  CHECK(p.marked() == marked);
  CHECK_FALSE(p.result.module);
  if (!p.result.diagnostics.empty()) CHECK(p.result.diagnostics[0].code == "syntax");
}

}  // namespace

TEST_CASE("expected sets are in the user's words, at the place where the parse could not go on") {
  says("let a = ", "expected an expression, but the text ends here", "");
  says("let a = \nlet b = 1", "expected an expression, found the keyword `let`", "let");
  says("let a = 1 +  # and?", "expected an expression, but the text ends here", "");
  CHECK(Parsed("let a = 1 +  # and?").result.diagnostics[0].span.begin == 11);  // right after the last token
  says("let a\nb", "expected `=`, but the line ends here", "");
  says("let 3 = a", "expected a name, found `3`", "3");
  says("f(a b)", "expected `,` or `)`, found `b`", "b");
  says("[1 2]", "commas stand between the elements of a list: `[1, 2]`", "2");
  says("x[]", "expected an expression, found `]`", "]");
  says("x[1 2]", "expected `,` or `]`, found `2`", "2");
  says("let p = {a: 1 b: 2}", "expected `,` or `}`, found `b`", "b");
  says("a b", "expected the end of the statement, found `b`", "b");
  says("a + * b", "expected an expression, found `*`", "*");
  says("fn f(x", "`(` opened at line 1 is never closed", "(");
  says("for i of xs {}", "expected `in`, found `of`", "of");
  says("shard x", "expected `as`, but the line ends here", "");
  says("x.3", "expected a field's name, found `3`", "3");
  says("mesh m = 8", "expected `(`, found `8`", "8");
  says("mesh m = (@X 8)", "expected `:`, found `8`", "8");
  says("f32[4@]", "expected an axis' name, found `]`", "]");
  says("f32[4]{V:}", "expected an axis' name, found `}`", "}");
  says("import 3", "expected a module's name or a file's in quotes, found `3`", "3");
  says("let a = $", "expected an expression, found `$`", "$");
  says("let a = \xE2\x82\xAC", "`\xE2\x82\xAC` (U+20AC) has no meaning here", "\xE2\x82\xAC");
  says(")", "`)` closes nothing: no bracket is open here", ")");
  says("if a { 1 } else 2", "a block stands in braces: `else { ... }`", "2");
  says("fn f() {\n  let a = 1 +\n}", "expected an expression, found `}`", "}");
}

TEST_CASE("numbers that fit nowhere") {
  says("let a = 9223372036854775808", "this integer does not fit in 64 bits", "9223372036854775808");
  says("0xffff_ffff_ffff_ffff", "this integer does not fit in 64 bits", "0xffff_ffff_ffff_ffff");
  says("1e999", "this number is too large for a 64-bit float", "1e999");
  CHECK(tree("1e-999") == "0x0p+0");
}

TEST_CASE("keywords cannot be redefined") {
  says("let jit = 3", "`jit` is a keyword and cannot be redefined", "jit");
  says("fn if(x) = x", "`if` is a keyword and cannot be redefined", "if");
  says("let (a, f32) = p", "`f32` is a keyword and cannot be redefined", "f32");
  says("let {for} = p", "`for` is a keyword and cannot be a variable", "for");
  says("fn f(shard) = 1", "`shard` is a keyword and cannot be redefined", "shard");
  says("true = 3", "`true` is a keyword and cannot be redefined", "true");
  says("f32 += 3", "`f32` is a keyword and cannot be redefined", "f32");
  says("mesh let = (@X: 8)", "`let` is a keyword and cannot be redefined", "let");
  says("import nn as jit", "`jit` is a keyword and cannot be redefined", "jit");
  CHECK(tree("let {for: a} = p") == "(let (record for:a) p)");
}

TEST_CASE("what can be assigned") {
  says("f(x) = 3", "this cannot be assigned to", "f(x)");
  says("a + b = 3", "this cannot be assigned to", "a + b");
  says("3 = a", "this cannot be assigned to", "3");
  says("(a, 1) = b", "this cannot be assigned to", "1");
  says("_ = b", "`_` is no variable", "_");
  CHECK(tree("(a, _) = b") == "(= (tuple a _) b)");
  says("(a, b) += c", "only `=` assigns to several variables at once", "(a, b)");
  says("f(x).y = 3", "this cannot be assigned to", "f(x).y");
  says("a = b = c", "expected the end of the statement, found `=`", "=");
}

TEST_CASE("errors of form") {
  says("f(a: 1, b)", "a positional argument stands after the named argument `a`", "b");
  says("f(a: 1, a: 2)", "the argument `a` is given twice", "a");
  says("fn f(x, x) = x", "the name `x` stands here twice", "x");
  says("let (a, a) = b", "the name `a` stands here twice", "a");
  says("let p = {a: 1, a: 2}", "the field `a` stands here twice", "a");
  says("break", "`break` stands outside of any loop", "break");
  says("while a { fn f() { continue } }", "`continue` stands outside of any loop", "continue");
  says("if a { break }", "`break` stands outside of any loop", "break");
  says("return 1", "`return` stands outside of any function", "return 1");
  says("test \"a\" { return }", "`return` stands outside of any function", "return");
  says("fn f(x: f32) = x", "a type has a shape: `f32[]` is one number, `f32[_]` a vector, `f32[...]` any array", "f32");
  CHECK(tree("for a in b { if c { break } }") == "(for a b (block (if c (block (break)) -)))");
}

TEST_CASE("a value that nothing uses") {
  const std::string unused = "nothing uses the value of this expression";
  says("fn f(x) {\n  x + 1\n  x\n}", unused, "x + 1");
  says("fn f(x) { x.y; x }", unused, "x.y");
  says("let a = { b; c }", unused, "b");
  says("for i in xs { i + 1 }", unused, "i + 1");
  says("test \"a\" { x == 1 }", unused, "x == 1");
  says("fn f(x) { x == 1; x }", unused, "x == 1");
  CHECK(Parsed("fn f(x) { x == 1; x }").fixed() == "fn f(x) { x = 1; x }");
  CHECK(message("fn f(x) { g(x); x |> g; if a { b }; { g(x) }; use m { g(x) }; x }") == "");
  CHECK(message("x + 1\nx") == "");  // the REPL shows it
  CHECK(message("fn f(x) { fn(y) = y }") == "");
  CHECK(message("if a { b } else { c }") == "");  // its value may be the file's last
  CHECK(message("for i in xs { f(i) }") == "");
}

TEST_CASE("several errors of form are told at once, in the order of the text") {
  Parsed p("break\nf(a: 1, b)\nreturn");
  REQUIRE(p.result.diagnostics.size() == 3);
  CHECK(p.result.diagnostics[0].span.begin < p.result.diagnostics[1].span.begin);
  CHECK(p.result.diagnostics[1].span.begin < p.result.diagnostics[2].span.begin);
}

TEST_CASE("more text could complete it: the REPL asks on") {
  for (const std::string text : {"f(", "[1,", "fn f(x) {", "fn f(x) {\n  let a = 1\n", "let p = {a: 1",
                                 "let a =", "a +", "a |>", "x and\n", "shard x as", "fn f(x) =\n\n"}) {
    INFO(text);
    CHECK(Parsed(text).result.incomplete);
    CHECK_FALSE(Parsed(text).result.module);
  }
  for (const std::string text :
       {"let", "f)", "a b", "fn f(x)", "\"abc", "\"{a", "'", "if a", "(]", "let a = 1 +\n)", "mesh m ="}) {
    INFO(text);
    CHECK(Parsed(text).result.incomplete == (text == "mesh m ="));
    CHECK_FALSE(Parsed(text).result.module);
  }
  CHECK_FALSE(Parsed("f()").result.incomplete);
}

TEST_CASE("words of the language") {
  CHECK(is_keyword("let"));
  CHECK(is_keyword("P"));
  CHECK(is_keyword("bf16"));
  CHECK_FALSE(is_keyword("all_gather"));  // a name that the resolver reserves
  CHECK_FALSE(is_keyword("rules"));
  CHECK_FALSE(is_keyword("explicit"));
  CHECK_FALSE(is_keyword(""));
  CHECK(is_dtype("bool"));
  CHECK_FALSE(is_dtype("key"));
}
