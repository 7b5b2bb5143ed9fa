// Canonical text. That every text parsed in these tests goes round the printer is seen to in tree.h; here is how it
// looks, and the scripts of the repository go round.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/grammar/tree.h"

using namespace shard::grammar;
using namespace shard::grammar::testing;

namespace {

std::string printed(const std::string& text) {
  const Parsed p(text);
  return p.result.module ? print(*p.result.module) : "error: " + p.message();
}

}  // namespace

TEST_CASE("canonical text") {
  CHECK(printed("") == "");
  CHECK(printed("let   a=(1+2)*3") == "let a = (1 + 2) * 3\n");
  CHECK(printed("f( x,axis:0 ,...y )") == "error: a positional argument stands after the named argument `axis`");
  CHECK(printed("let a = ((b))") == "let a = b\n");
  CHECK(printed("fn f(x,y=2){let z=x;z}") == "fn f(x, y = 2) {\n  let z = x\n  z\n}\n");
  CHECK(printed("for i in 0 .. 10 {}") == "for i in 0..10 {}\n");
  CHECK(printed("if a {b} else if c {d} else {e}") == "if a {\n  b\n} else if c {\n  d\n} else {\n  e\n}\n");
  CHECK(printed("f32[ 8 @X, 4 ]{ V : X }") == "f32[8@X,4]{V:X}\n");
  CHECK(printed("## doc\nfn f() = 1") == "## doc\nfn f() = 1\n");
  CHECK(printed("mesh m=(@X:2,@Y:4)explicit") == "mesh m = (@X: 2 explicit, @Y: 4 explicit)\n");
  CHECK(printed("1_000; 0x10; 1.50; 1e100; 2.0") == "1000\n16\n1.5\n1e+100\n2.0\n");
  CHECK(printed("\"a\\n{ x : .2f}{{\"") == "\"a\\n{x: .2f}{{\"\n");
  CHECK(printed("let p={...q,w:1,\"a b\":2}") == "let p = {...q, w: 1, \"a b\": 2}\n");
  CHECK(printed("(shard x as P(@X)).sum() ; shard x as P(@X)|>f") ==
        "(shard x as P(@X)).sum()\nshard x as P(@X) |> f\n");
}

TEST_CASE("one expression") {
  const Parsed p("a + (b |> f)");
  REQUIRE(p.result.module);
  CHECK(print(*std::get<ExprStmt>(p.result.module->body[0]->node).value) == "a + (b |> f)");
}

TEST_CASE("parentheses come back where they mean something") {
  for (const std::string text : {"(f32)[8]",
                                 "~(f32[8])",
                                 "(fn(x) = x)(3)",
                                 "(a |> f).x",
                                 "-(a + b)",
                                 "(-a)**2",
                                 "(a..b)..c == d",
                                 "a - (b - c)",
                                 "not (a and b)",
                                 "(a == b) == c",
                                 "f32[(a @ b)@X]",
                                 "f32[(a | b),(2)]",
                                 "x[(a..b)]",
                                 "shard x as (P(@X).y)",
                                 "(use m { a })(1)",
                                 "(if a {} else {})[0]",
                                 "(a, b).c",
                                 "{a: 1}.a",
                                 "\"{ {a: fn(x) = x}.a }\"",
                                 "fn() = {}",
                                 "(fn(x) = x) |> f",
                                 "shard (a |> f) as P() |> g",
                                 "(x,)",
                                 "3.f",
                                 "1.5.f",
                                 "2**(3**4)",
                                 "(2**3)**4",
                                 "a if_",
                                 "[...a..b, ...(shard x as P())]"}) {
    INFO(text);
    CHECK(tree(text).substr(0, 7) != "printed");
  }
}

TEST_CASE("the scripts of the repository parse and go round the printer") {
  int count = 0;
  for (const char* folder : {"scripts", "stdlib", "tests"}) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      if (file.path().extension() != ".shard") continue;
      std::stringstream text;
      text << std::ifstream(file.path()).rdbuf();
      INFO(file.path().string());
      if (text.str().find("# expect error:") == std::string::npos) CHECK(message(text.str()) == "");
      CHECK(tree(text.str()).substr(0, 7) != "printed");
      ++count;
    }
  }
  CHECK(count > 0);
}
