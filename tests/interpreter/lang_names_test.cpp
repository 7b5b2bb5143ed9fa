// Names are resolved before anything runs: unknown ones, assignments without a declaration, names used too early. Also
// modules, --set, tests, the REPL's scope and interrupts.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/stdlib/script.h"

using Catch::Contains;
using shard::lang::Errors;
using shard::lang::Options;
using shard::test::error;
using shard::test::run;
using shard::test::Script;

TEST_CASE("unknown names are found before anything runs, all of them") {
  Script s;
  try {
    s.in().run("a.shard", "print(1)\nprint(learning_rat)\nfn f() = nothing_like_this_1\nlet learning_rate = 1");
    FAIL("no error");
  } catch (const Errors& e) {
    REQUIRE(e.all().size() == 2);
    CHECK(e.all()[0].code == "name");
    CHECK_THAT(e.all()[1].message, Contains("nothing_like_this_1"));
  }
  CHECK(s.printed.empty());
  CHECK_THAT(error("let learning_rate = 1\nprint(learning_rat)"), Contains("did you mean `learning_rate`"));
  CHECK_THAT(error("print(zeroes([2]))"), Contains("did you mean `zeros`"));
}

TEST_CASE("collectives are names that cannot be declared or assigned") {
  for (const char* text : {"let psum = 1", "fn psum(x) = x", "fn f(all_gather) = 1", "let (a, pmax) = (1, 2)",
                           "for ppermute in 0..3 { print(1) }", "mesh axis_index = (@X: 8)", "pmean = 3", "psum += 1"})
    CHECK_THAT(error(text), Contains("is a keyword and cannot be redefined"));
  CHECK(run("let r = {psum: 3}\nprint(r.psum)") == "3\n");
}

TEST_CASE("a forgotten comma before an axis") {
  CHECK_THAT(error("mesh m = (@X: 8)\nfn f(x) = sum(x @X)"), Contains("did you mean \", @X\"?"));
}

TEST_CASE("assignments need a declaration") {
  CHECK_THAT(error("fn f() { count = 1; count }"), Contains("`count` is assigned but not declared"));
  CHECK_THAT(error("sum = 1"), Contains("`sum`"));
  CHECK_THAT(error("let total = 1\ntotl += 1"), Contains("`totl`") && Contains("did you mean `total`"));
}

TEST_CASE("a `let` in a loop of the variable outside") {
  CHECK_THAT(error("let p = 1\nfor i in 0..3 { let p = p + i; print(p) }"), Contains("drop the `let`"));
  CHECK_THAT(error("let p = 1; let s = 2\nwhile p < 3 { let (p, s) = (p + 1, s); print(p, s) }"),
             Contains("drop the `let`"));
  CHECK(run("let p = 1\nfor i in 0..2 { let q = p + i; let p = 3; print(p, q) }") == "3 1\n3 2\n");
  CHECK(run("fn f(x) { let x = x + 1; x }\nprint(f(1))") == "2\n");
  CHECK(run("for i in 0..2 { let p = i; let p = p + 10; print(p) }") == "10\n11\n");
}

TEST_CASE("shadowing and scopes") {
  CHECK(run("let x = 1\nlet f = fn() = x\nlet x = 2\nprint(f(), x)\n{ let x = 3; print(x) }\nprint(x)") ==
        "1 2\n3\n2\n");
  CHECK_THAT(error("{ let x = 1; print(x) }\nprint(x)"), Contains("unknown name `x`"));
  CHECK_THAT(error("print(x)\nlet x = 1"), Contains("before its declaration"));
}

TEST_CASE("modules") {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("shard_modules_" + std::to_string(reinterpret_cast<std::uintptr_t>(&folder)));
  fs::create_directories(folder);
  std::ofstream(folder / "a.shard")
      << "print(\"a runs\")\nlet k = 3\nfn twice(x) = x * 2 + k - k\ntest \"inside\" { error(\"never\") }\n";
  std::ofstream(folder / "b.shard") << "import \"c.shard\" as c\n";
  std::ofstream(folder / "c.shard") << "import \"b.shard\" as b\n";
  auto script = [&](const std::string& text) {
    Script s;
    try {
      s.in().run((folder / "main.shard").string(), text);
    } catch (const shard::grammar::Error& e) { return s.printed + shard::lang::report(e.diagnostic, s.in().sources()); }
    return s.printed;
  };
  CHECK(script("import \"a.shard\" as a\nimport \"a.shard\" as again\nprint(a.twice(4), again.k)") == "a runs\n8 3\n");
  CHECK_THAT(script("import \"a.shard\" as a\na.thrice(1)"), Contains("thrice") && Contains("twice"));
  CHECK_THAT(script("import \"b.shard\" as b"), Contains("imports itself") && Contains("c.shard imports"));
  CHECK_THAT(script("import \"none.shard\" as n"), Contains("cannot read"));
  CHECK_THAT(script("import nothing"), Contains("no module `nothing`"));
  fs::remove_all(folder);
}

TEST_CASE("--set replaces initial values") {
  Options o;
  o.set = {{"lr", "0.5"}, {"name", "x y"}, {"on", "false"}};
  const std::string text = "let lr = 0.1; let name = \"a\"; let on = true\nprint(lr * 2, name, on)";
  CHECK(run(text, o) == "1.0 x y false\n");
  o.set = {{"rl", "1"}};
  CHECK_THAT(error(text, o), Contains("rl") && Contains("lr"));
  o.set = {{"lr", "1 +"}};
  CHECK(!error(text, o).empty());
}

TEST_CASE("tests run one by one, each in a scope of its own") {
  std::vector<std::string> names;
  Options o;
  o.test = [&](const shard::grammar::TestStmt& test, shard::grammar::Span, const std::function<void()>& body) {
    try {
      body();
      names.push_back(test.name);
    } catch (const shard::grammar::Error& e) { names.push_back(test.name + ": " + e.diagnostic.message); }
  };
  const std::string text =
      "let x = 1\ntest \"first\" { let y = x; assert(y == 1) }\ntest \"second\" { error(\"bad\") }\ntest \"third\" { "
      "assert(x == 1) }\nprint(x)";
  CHECK(run(text, o) == "1\n");
  CHECK(names == std::vector<std::string>{"first", "second: bad", "third"});
  CHECK(run(text) == "1\n");  // skipped otherwise
}

TEST_CASE("entries of the REPL share a scope that stays") {
  Script s;
  s.in().enter("let x = 1\nfn f() = x + 1");
  CHECK(s.in().repr(s.in().enter("f()")) == "2");
  s.in().enter("let x = 10");
  CHECK(s.in().repr(s.in().enter("f()")) == "11");  // a new `x` takes the place of the old one
  s.in().enter("fn f() = x * 2");
  CHECK(s.in().repr(s.in().enter("f()")) == "20");
  CHECK_THROWS(s.in().enter("let y = z"));
  CHECK_THROWS(s.in().enter("print(y)"));  // the failed entry declared nothing
  CHECK(s.in().repr(s.in().enter("x")) == "10");
  CHECK(s.in().enter("let z = 3").is_none());
}

TEST_CASE("an interrupt stops a loop, and the next run is undisturbed") {
  Script s;
  s.in().define({"stop", "stop()", "", [](shard::lang::Interpreter& in, shard::lang::BoundArgs&) {
                   in.context().pool().stop().request();
                   return shard::lang::Value();
                 }});
  try {
    s.in().run("a.shard", "let n = 0\nwhile true { n += 1; if n == 5 { stop() } }");
    FAIL("no error");
  } catch (const shard::grammar::Error& e) { CHECK(e.diagnostic.code == "interrupt"); }
  CHECK(s.in().repr(*s.in().global("n")) == "5");
  s.in().run("a.shard", "print(1)");
  CHECK(s.printed == "1\n");
}
