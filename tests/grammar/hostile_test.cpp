// Texts that mean harm: no crash, no hang, one clear diagnostic. The limits: 200 brackets, 300 expressions within each
// other, a tree 1,000 high. What is long but flat has no limit.
#include <catch2/catch.hpp>

#include "tests/grammar/tree.h"

using namespace shard::grammar;
using namespace shard::grammar::testing;

namespace {

std::string times(int n, const std::string& s) {
  std::string out;
  out.reserve(s.size() * static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

const std::string deep = "this nests more than 300 deep",
                  high = "this expression is built of more than 1000 steps, one within the other",
                  brackets = "brackets nest more than 200 deep";

// A hundred thousand; under sanitizers a tenth of it, which is as deep for the limits.
#ifdef __SANITIZE_ADDRESS__
constexpr int many = 10000;
#else
constexpr int many = 100000;
#endif

}  // namespace

TEST_CASE("a hundred thousand of anything is refused or parsed") {
  for (const std::string s : {"-",
                              "~",
                              "not ",
                              "2**",
                              "fn(x) = ",
                              "shard ",
                              "(",
                              "[",
                              "{",
                              "{a: ",
                              "f(",
                              "if a { ",
                              "if a {} else ",
                              "\"{",
                              "x |> ",
                              "x.",
                              "f(x) = ",
                              "@(",
                              "P(",
                              "f32[",
                              "let (",
                              "1+",
                              "1..",
                              "a and ",
                              "use m {",
                              "fn f(x: (",
                              "fn f() {",
                              "x[",
                              "let {a: ",
                              "[...",
                              "@",
                              "1 < ",
                              "manual(",
                              "jit ",
                              "not -",
                              "fn(x = ",
                              "shard x as ",
                              "x[:",
                              "\"",
                              "'",
                              "\\",
                              "\xff",
                              "\"{{",
                              "0.",
                              "1e",
                              "a\n.b",
                              "a ? b : ",
                              "a if ",
                              "lambda x: ",
                              "[a for ",
                              "{w, "}) {
    INFO(s);
    const Parsed p(times(many, s));
    CHECK_FALSE(p.result.module);
    REQUIRE_FALSE(p.result.diagnostics.empty());
    CHECK(p.message().size() < 500);
  }
  for (const std::string s : {"#", "\n", ";", "# a\n", "## a\n", "a\n", " "})
    CHECK(Parsed(times(many, s)).result.module);
}

TEST_CASE("brackets nest 200 deep") {
  CHECK(message(times(200, "(") + "1" + times(200, ")")) == "");
  CHECK(message(times(201, "(") + "1" + times(201, ")")) == brackets);
  CHECK(message(times(200, "f(") + "1" + times(200, ")")) == "");
  CHECK(message(times(200, "if a { ") + "1" + times(200, "}")) == "");
  CHECK(message("fn g() { " + times(198, "fn f(a) { ") + "1" + times(199, "}")) == "");
  CHECK(message(times(99, "if f({ let a = [") + "1" + times(99, "]; a }) {}")) == brackets);
  CHECK(message(times(66, "if f({ let a = [") + "1" + times(66, "]; a }) {}")) == "");
  CHECK(message("let a = " + times(200, "{ let a = ") + "1" + times(200, "; a }")) == "");
  CHECK(message(times(90, "fn(x) = ") + "fn(x) " + times(199, "{ fn(x) ") + "{ 1 }" + times(199, "}")) == "");
  CHECK(message(times(199, "{a: [") + "1" + times(199, "]}")) == brackets);
  CHECK(message(times(60, "\"{f(") + "1" + times(60, ")}\"")) == "");
  CHECK(message(times(101, "\"{f(") + "1" + times(101, ")}\"")) == brackets);
}

TEST_CASE("chains without brackets") {
  CHECK(message(times(290, "fn(x) = ") + "x") == "");
  CHECK(message(times(310, "fn(x) = ") + "x") == deep);
  CHECK(message(times(290, "shard ") + "x" + times(290, " as P()")) == "");
  CHECK(message(times(900, "-") + "x") == "");
  CHECK(message(times(many, "-") + "x") == high);
  CHECK(message(times(many, "not ") + "x") == high);
  CHECK(message(times(many, "2**") + "2") == high);
  CHECK(message("if a {}" + times(900, " else if a {}")) == "");
  CHECK(message("if a {}" + times(many, " else if a {}")) == high);
  CHECK(message("x" + times(many, ".a")) == high);
  CHECK(message("x" + times(many, "()")) == high);
  CHECK(message("x" + times(many, "[0]")) == high);
  CHECK(message("x" + times(many, " |> f")) == high);
  CHECK(message(times(900, "1+") + "1") == "");
  CHECK(message(times(2 * many, "1+") + "1") == high);
}

TEST_CASE("brackets and chains together stay within the tree's height") {
  const std::string sum = times(300, "1+");
  CHECK(message(times(100, sum + "(") + "1" + times(100, ")")) ==
        "");  // to the right: a sum's last term adds one level
  std::string left = "1";
  for (int i = 0; i < 100; ++i) left = "(" + left + times(20, "+1") + ")";
  CHECK(message(left) == high);
}

TEST_CASE("long flat texts") {
  CHECK(message(times(20000, "let a = f(x, y) + 3 * b[1]\n")) == "");
  CHECK(message("let a = [" + times(50000, "1, ") + "]") == "");
  CHECK(message("\"" + times(1000000, "a") + "\"") == "");
  CHECK(message(times(20000, "## doc\nfn f(x) = x\n")) == "");
  CHECK(message(times(150, "(") + "1" + times(150, "# " + std::string(5000, 'x') + "\n)")) == "");
}

TEST_CASE("mistakes deep within do not multiply") {  // an alternative tried again at every level would take 2^190 steps
  CHECK(message(times(190, "x[") + "1 1" + times(190, "]")) == "expected `,` or `]`, found `1`");
  CHECK(message(times(190, "{a: ") + "1 1" + times(190, "}")) == "expected `,` or `}`, found `1`");
  CHECK(message(times(190, "f(a: ") + "1 1" + times(190, ")")) == "expected `,` or `)`, found `1`");
  CHECK(message(times(190, "(") + "1 1" + times(190, ")")) == "expected `,` or `)`, found `1`");
  CHECK(message("fn f(x: " + times(190, "(") + "P() P()" + times(190, ")") + ") = x") ==
        "expected `,` or `)`, found the keyword `P`");
}

TEST_CASE(
    "every prefix of a program, and the program with any one byte gone or changed, gives a tree or a diagnostic") {
  const std::string program =
      "## doc\njit fn f(x: f32[B@X, ...], (a, b) = g(1)) -> P(@X) {\n  let s = \"v {x[1:2, ...]:.3f} {{}}\"  # note\n  "
      "for i in 0..3 { y += i }\n"
      "  if a < b { shard x as P(@(X, Y), _) on m } else if not b { {...p, w: 1} } else { x |> g }\n}\nmesh m = (@X: "
      "2, @Y: _) explicit\nuse m { f(1) }\n";
  REQUIRE(message(program) == "");
  auto sound = [](const std::string& text) {
    const Parsed p(text);
    return (p.result.module != nullptr) == p.result.diagnostics.empty();
  };
  for (std::size_t i = 0; i <= program.size(); ++i) CHECK(sound(program.substr(0, i)));
  for (std::size_t i = 0; i < program.size(); ++i) {
    std::string text = program;
    CHECK(sound(text.erase(i, 1)));
    for (const char c : {'(', '}', '"', '\n', '@', ':', '\0', '\x80', '=', '{'}) {
      text = program;
      text[i] = c;
      CHECK(sound(text));
    }
  }
}
