// Diagnostics as text and JSON: marks under UTF-8, tabs and long lines, several lines, recursion, JSON escapes.
#include "interpreter/lang/report/report.h"

#include <catch2/catch.hpp>

using namespace shard;
using grammar::Diagnostic;
using grammar::SourceMap;
using grammar::Span;

namespace {

Span find(const SourceMap& m, std::uint32_t id, const std::string& what) {
  const auto at = static_cast<std::uint32_t>(m.at(id).text().find(what));
  return {id, at, at + static_cast<std::uint32_t>(what.size())};
}

Diagnostic error(Span s, std::string message) { return {"test", s, std::move(message), {}, {}, {}}; }

}  // namespace

TEST_CASE("a diagnostic shows place, line, marks, notes and fixes") {
  SourceMap m;
  const auto id = m.add("f.shard", "let a = 1\nlet b = a + x\n");
  Diagnostic d = error(find(m, id, "a + x"), "shapes do not match");
  d.notes = {"f32[2,3] and f32[4,5]"};
  d.fixes = {{"reshape one of them", d.span, "a + x.T"}};
  CHECK(lang::report(d, m) ==
        "f.shard:2:9: error: shapes do not match\n"
        "   2 | let b = a + x\n"
        "     |         ^^^^^\n"
        "note: f32[2,3] and f32[4,5]\n"
        "help: reshape one of them: `a + x.T`\n");
}

TEST_CASE("marks stand under what is seen: UTF-8, wide characters, tabs") {
  SourceMap m;
  const auto id = m.add("f", "\tlet s = \"naïve 日本\" + bad\n");
  CHECK(lang::report(error(find(m, id, "bad"), "no"), m) ==
        "f:1:23: error: no\n"
        "   1 |     let s = \"naïve 日本\" + bad\n"
        "     |                            ^^^\n");
}

TEST_CASE("a span over several lines is abridged, an empty one still marks its place") {
  SourceMap m;
  const auto id = m.add("f", "let t = (1,\n  2,\n  3)\n");
  CHECK(lang::report(error(find(m, id, "(1,\n  2,\n  3)"), "no"), m) ==
        "f:1:9: error: no\n"
        "   1 | let t = (1,\n"
        "     |         ^^^...\n"
        "     = up to line 3\n");
  const auto end = static_cast<std::uint32_t>(m.at(id).text().size());
  CHECK(lang::report(error({id, end, end}, "the end"), m).find("error: the end") != std::string::npos);
  CHECK(lang::report(error({id, 3, 3}, "here"), m).find("\n     |    ^\n") != std::string::npos);
  CHECK(lang::report(error({}, "no place"), m) == "error: no place\n");
  CHECK_NOTHROW(lang::report(error({id, 5000, 9000}, "beyond"), m));
}

TEST_CASE("very long lines are cut around the span") {
  SourceMap m;
  std::string line(5000, 'a');
  line += " bad ";
  line.append(5000, 'b');
  const auto id = m.add("f", line);
  const std::string text = lang::report(error(find(m, id, "bad"), "no"), m, {false, 60});
  CHECK(text.size() < 300);
  CHECK(text.find("aaa bad bbb") != std::string::npos);
  CHECK(text.find("^^^") != std::string::npos);
}

TEST_CASE("calls are listed innermost first and long recursion is abridged") {
  SourceMap m;
  const auto id = m.add("f", "fn f(n) = f(n - 1)\nf(9)\n");
  Diagnostic d = error(find(m, id, "n - 1"), "too deep");
  for (int i = 0; i < 999; ++i) d.calls.push_back({"f", find(m, id, "f(n - 1)")});
  d.calls.push_back({"f", find(m, id, "f(9)")});
  const std::string text = lang::report(d, m);
  CHECK(text.find("  in f, called at f:1:11 (999 times)\n  in f, called at f:2:1\n") != std::string::npos);
  Diagnostic e = error(find(m, id, "n - 1"), "too deep");
  for (int i = 0; i < 500; ++i) e.calls.push_back({i % 2 ? "even" : "odd", find(m, id, "f(n - 1)")});
  const std::string two = lang::report(e, m);
  CHECK(two.find("... 484 more calls ...") != std::string::npos);
  CHECK(std::count(two.begin(), two.end(), '\n') < 25);
}

TEST_CASE("colours only where asked for") {
  SourceMap m;
  const auto id = m.add("f", "x");
  CHECK(lang::report(error({id, 0, 1}, "no"), m).find('\x1b') == std::string::npos);
  CHECK(lang::report(error({id, 0, 1}, "no"), m, {true, 80}).find("\x1b[1;31m^") != std::string::npos);
}

TEST_CASE("JSON escapes and positions") {
  SourceMap m;
  const auto id = m.add("a\"b.shard", "let é = 1\nbad\n");
  Diagnostic d = error(find(m, id, "bad"), "tab\there \x01 \xff");
  d.notes = {"line\nbreak"};
  CHECK(lang::report_json({d}, m) ==
        "[\n {\"code\": \"test\", \"severity\": \"error\", \"message\": \"tab\\there \\u0001 \xef\xbf\xbd\", \"file\": "
        "\"a\\\"b.shard\", \"line\": 2, "
        "\"column\": 1, \"end_line\": 2, \"end_column\": 4, \"notes\": [\"line\\nbreak\"], \"fixes\": [], \"calls\": "
        "[]}\n]\n");
  CHECK(lang::report_json({}, m) == "[]\n");
}
