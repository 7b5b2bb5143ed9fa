// The first pass: which newlines end a statement, comments, what a brace opens, brackets and strings that do not match.
#include "grammar/logical_lines.h"

#include <catch2/catch.hpp>

#include "grammar/scan.h"
#include "tests/grammar/tree.h"

using namespace shard::grammar;
using namespace shard::grammar::testing;

TEST_CASE("the text laid out has the source's length, and a newline") {
  const std::string text = "let a = [1, # one\n  2]\n\"# no\" # yes";
  const Layout l = lay_out(text, 1);
  CHECK(l.text.size() == text.size() + 1);
  CHECK(l.text == "let a = [1,         2]\n\"# no\"      \n");
}

TEST_CASE("newlines and semicolons end statements") {
  CHECK(tree("a\nb; c\n\n;;\nd\n") == "a\nb\nc\nd");
  CHECK(tree("") == "");
  CHECK(tree("\n\n# only a comment") == "");
  CHECK(tree("a # one\n# two\nb") == "a\nb");
  CHECK(tree("a\r\nb\r\n") == "a\nb");
  CHECK(tree("\xEF\xBB\xBF"
             "a") == "a");          // a byte order mark
  CHECK(tree("f\n(x)") == "f\nx");  // no newline before a call's parenthesis
  CHECK(tree("f\n[x]") == "f\n(list x)");
  CHECK(tree("a\n-b") == "a\n(neg b)");
}

TEST_CASE("no newline ends a statement within ( ), [ ] and a record") {
  CHECK(tree("f(\n  a,\n  b\n)") == "(call f a b)");
  CHECK(tree("[1\n, 2\n]") == "(list 1 2)");
  CHECK(tree("let p = {a: 1\n, b:\n 2\n}") == "(let p (record a:1 b:2))");
  CHECK(tree("(a\n+ b)") == "(+ a b)");
  CHECK(tree("f(a # first\n  , b)") == "(call f a b)");
}

TEST_CASE("newlines count again in a block within brackets") {
  CHECK(tree("f(fn(x) {\n  let y = x\n  y\n}, 1)") == "(call f (fn (x) (block (let y x) y)) 1)");
  CHECK(tree("[{\n  let a = 1\n  a\n}]") == "(list (block (let a 1) a))");
}

TEST_CASE("a statement goes on after an operator and the like") {
  for (const std::string op : {"+",  "-", "*",  "/",  "//", "%", "@",  "**", "==",  "!=", "<",
                               "<=", ">", ">=", "..", "|",  "&", "<<", ">>", "and", "or"}) {
    CHECK(tree("a " + op + " # go on\n\n  b") == tree("a " + op + " b"));
  }
  CHECK(tree("let a =\n  1") == "(let a 1)");
  CHECK(tree("a +=\n  1") == "(+= a 1)");
  CHECK(tree("let b = not\n  a") == "(let b (not a))");
  CHECK(tree("x |>\n f") == "(pipe x f)");
  CHECK(tree("shard\n x as\n P()") == "(shard x (P) -)");
  CHECK(tree("for i in\n xs {}") == "(for i xs (block))");
  CHECK(tree("fn f(x) ->\n P() =\n x") == "(fn f (x) -> spec (P) x)");
  CHECK(tree("~\nx") == "(~ x)");
  CHECK(tree("let x = p.in\nlet y = p.as") ==
        "(let x (field p in))\n(let y (field p as))");  // fields are no such words
  CHECK(tree("x[...]\ny") == "(index x [...])\ny");
}

TEST_CASE("a line that starts with .name, |> or else goes on") {
  CHECK(tree("x\n  # between\n  .sum()\n  .T") == "(field (call (field x sum)) T)");
  CHECK(tree("x\n  |> f\n  |> g") == "(pipe (pipe x f) g)");
  CHECK(tree("if a { 1 }\nelse if b { 2 }\n\nelse { 3 }") == "(if a (block 1) (if b (block 2) (block 3)))");
  CHECK(tree("a\nelsewhere") == "a\nelsewhere");
}

TEST_CASE("what a brace opens") {
  CHECK(opens_record("...p"));
  CHECK(opens_record(" w : 1"));
  CHECK(opens_record("\n # comment\n \"a b\"\n: 1"));
  CHECK(opens_record("\"a\\\"b\": 1"));
  CHECK_FALSE(opens_record("w, b"));
  CHECK_FALSE(opens_record("w = 1"));
  CHECK_FALSE(opens_record("\"a\""));
  CHECK_FALSE(opens_record("}"));
  CHECK_FALSE(opens_record(""));
  CHECK_FALSE(opens_record("\"abc"));
}

TEST_CASE("brackets that do not match name where they were opened") {
  auto said = [](const std::string& text, const std::string& what, std::string_view marked) {
    Parsed p(text);
    CHECK(p.message() == what);
    CHECK(p.marked() == marked);
  };
  said("a\nf(b\nlet c = 1", "`(` opened at line 2 is never closed", "(");
  said("f(a, [1, 2)", "`[` opened at line 1 is never closed: `]` should come before this `)`", ")");
  said("{\n (1\n}", "`(` opened at line 2 is never closed: `)` should come before this `}`", "}");
  said("a)", "`)` closes nothing: no bracket is open here", ")");
  said("# (\na]", "`]` closes nothing: no bracket is open here", "]");
  said("\"{f(x}\"", "`(` opened at line 1 is never closed: `)` should come before this `}`", "}");
}

TEST_CASE("strings end on their line") {
  CHECK(message("let s = \"abc\nlet t = 1") == "the string is not closed on its line");
  CHECK(message("\"abc") == "the string is not closed on its line");
  CHECK(message("\"abc\\\"") == "the string is not closed on its line");
  CHECK(message("\"{a\n}\"") == "`{` in a string opened at line 1 is not closed on its line");
  CHECK(message("\"{a") == "`{` in a string opened at line 1 is not closed on its line");
  CHECK(message("\"a } b\"") == "a `}` in a string is written `}}`");
  CHECK(message("\"\\{\"") == "a brace in a string is written twice: `{{`");
  CHECK(message("\"\\q\"") == "`\\q` is no escape");
  CHECK(message("\"\\u12\"") == "`\\u` takes 4 hexadecimal digits");
  CHECK(message("\"\\ud800\"") == "this is no character's code");
  CHECK(message("\"\xFF\"") == "the text is not UTF-8 from here on");
}
