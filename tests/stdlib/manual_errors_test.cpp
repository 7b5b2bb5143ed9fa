// Errors of per-device code carry fixes that can be pasted: each is put in place of what it stands for, and the
// program then runs.
#include <catch2/catch.hpp>

#include "tests/stdlib/script.h"

using namespace shard;

namespace {

// The error of the program; it must have one.
grammar::Diagnostic broken(const std::string& text) {
  test::Script s;
  try {
    s.in().run("test.shard", text);
  } catch (const grammar::Error& e) { return e.diagnostic; }
  FAIL("the program runs: " << text);
  return {};
}

std::string fixed(const std::string& text, const grammar::Fix& fix) {
  return text.substr(0, fix.span.begin) + fix.replacement + text.substr(fix.span.end);
}

void every_fix_works(const std::string& text, std::size_t fixes = 1) {
  CAPTURE(text);
  const grammar::Diagnostic d = broken(text);
  CHECK(d.fixes.size() == fixes);
  for (const grammar::Fix& fix : d.fixes) {
    const std::string now = fixed(text, fix);
    CAPTURE(now);
    CHECK(test::error(now) == "");
  }
}

const std::string kMesh = "mesh m = (@X: 4, @Y: 2)\n";

}  // namespace

TEST_CASE("a result that varies: sum it, or name the axis") {
  every_fix_works(kMesh + "manual fn f(x: P(@X)) -> P() = x * 2\nf(arange(8.0))", 2);
  every_fix_works(kMesh + "manual fn f(x: P(@X, @Y)) -> P(_, @Y) = x + 1\nf(ones([8, 2]))", 2);
  every_fix_works(kMesh + "manual fn f(x: P(@X, @Y)) -> P() { let y = x + 1; y }\nf(ones([8, 2]))", 2);
  every_fix_works(kMesh + "manual fn f(x: P(@X)) -> (P(), P(@X)) = (sum(x), x)\nf(ones([8]))", 1);
  every_fix_works(kMesh + "manual fn f(x: P(@X)) -> {a: P(@X), b: P()} = {a: x, b: x}\nf(ones([8]))", 2);
  every_fix_works(kMesh + "manual fn f(x: P(@X)) -> P() = if axis_index(@X) == 1 { x } else { x * 2 }\nf(ones([8]))",
                  2);
  every_fix_works(kMesh + "let f = shard_map(fn(x) = x * 2, in: P(@X), out: P())\nf(ones([8]))", 1);
}

TEST_CASE("the message names the result, both types' facts and the sum") {
  const std::string e = test::error(kMesh + "manual fn f(x: P(@X)) -> (P(@X), P()) = (x, x * 2)\nf(arange(8.0))");
  for (const char* part :
       {"result 1 of f is f32[2]{V:X}", "along @X", "P()", "psum(x * 2, @X)", "test.shard:2:", "in f, called at"}) {
    CAPTURE(part);
    CHECK(e.find(part) != std::string::npos);
  }
}

TEST_CASE("a carry that begins without V: cast it first") {
  every_fix_works(kMesh +
                  "manual fn f(x: P(_, @X)) -> P(@X) = scan(fn(c, r) = (c + r, 0), zeros([2]), x)[0]\nf(ones([3, 8]))");
  every_fix_works(kMesh +
                  "manual fn f(x: P(@X)) -> P(@X) { let c = zeros([2]); while psum(sum(c), @X) < 10.0 { c = c + x "
                  "}; c }\nf(ones([8]))");
  every_fix_works(
      kMesh +
      "manual fn f(x: P(@X)) -> P(@X) {\n  let c = zeros([])\n  while psum(c, @X) < 10.0 {\n    c = c + sum(x)\n  }\n"
      "  expand_dims(c, 0)\n}\nf(ones([8]))");
}

TEST_CASE("a carry whose body loses V: cast what the body gives") {
  every_fix_works(kMesh +
                  "manual fn f(x: P(@X)) -> P(@X) { let c = x; while pmax(max(c), @X) < 10.0 { c = psum(c, @X) }; c "
                  "}\nf(ones([8]))");
}

TEST_CASE("branches that vary along different axes: cast one") {
  every_fix_works(kMesh +
                  "manual fn f(x: P(@X)) -> P(@X) = if psum(sum(x), @X) > 1.0 { x } else { zeros([2]) }\nf(ones([8]))");
  every_fix_works(kMesh +
                  "manual fn f(x: P(@X)) -> P(@X) = if psum(sum(x), @X) > 1.0 { psum(x, @X) } else { let y = x * 2; "
                  "y }\nf(ones([8]))");
  every_fix_works(
      kMesh +
      "manual fn f(x: P(@X)) -> P(@X) { let y = zeros([2]); if psum(sum(x), @X) > 1.0 { y = x }; y }\nf(ones([8]))");
  every_fix_works(
      kMesh +
      "manual fn f(x: P(@X)) -> P(@X) {\n  let y = zeros([2])\n  if psum(sum(x), @X) > 1.0 {\n    y = x\n  } else {\n"
      "    y = ones([2])\n  }\n  y\n}\nf(ones([8]))");
}

TEST_CASE(
    "a condition that differs, with a collective inside, is an error while tracing; reduced as it says, it runs") {
  const std::string bad =
      kMesh + "manual fn f(x: P(@X)) -> P(@X) = if sum(x) > 1.0 { pcast(psum(x, @X), @X) } else { x }\nf(ones([8]))";
  const std::string e = test::error(bad);
  for (const char* part : {"the condition of `if`", "bool[]{V:X}", "psum", "pmax(c, @X)"}) {
    CAPTURE(part);
    CHECK(e.find(part) != std::string::npos);
  }
  CHECK(test::error(kMesh + "manual fn f(x: P(@X)) -> P(@X) = if pmax(sum(x) > 1.0, @X) { pcast(psum(x, @X), @X) } "
                            "else { x }\nf(ones([8]))") == "");
  // Along another axis all devices that communicate take the same branch.
  CHECK(test::error(kMesh +
                    "manual fn f(x: P(@X)) -> P(@X) = if sum(x) > 1.0 { psum(x, @Y) } else { x }\nf(ones([8]))") == "");
  CHECK(test::error(kMesh + "manual fn f(x: P(@X)) -> P(@X) { let c = x; while sum(c) < 9.0 { c = ppermute(c, @X, "
                            "shift: 1) }; c }\nf(ones([8]))")
            .find("the condition of `while`") != std::string::npos);
}

TEST_CASE("arguments of per-device code: names, defaults, and errors that say which") {
  CHECK(test::run(kMesh + "manual fn f(x: P(@X), k = 2, b: P() = 1.0) -> P() = psum(x * k + b, @X)\n"
                          "print(f(ones([4])), f(ones([4]), 3), f(b: array(0.0), x: ones([4])))") ==
        "[12.] [16.] [8.]\n");
  const std::string e = test::error(kMesh + "manual fn f(x: P(), w: P(@X)) -> P() = psum(w, @X)\nf(1.0, ones([10]))");
  for (const char* part : {"test.shard:3:8", "dimension 0", "10", "@X", "argument 1 (`w`) of f"}) {
    CAPTURE(part);
    CHECK(e.find(part) != std::string::npos);
  }
  CHECK(test::error(kMesh + "manual fn f(x: P()) -> P() = x\nf()").find("and 0 were given: `x` is missing") !=
        std::string::npos);
  CHECK(test::error(kMesh + "manual fn f(x: P()) -> P() = x\nf(y: 2)").find("no parameter `y`") != std::string::npos);
}
