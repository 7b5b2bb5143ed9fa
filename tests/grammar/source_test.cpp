// Places in text, and near misses.
#include "grammar/source.h"

#include <catch2/catch.hpp>

#include "grammar/diagnostic.h"

using namespace shard::grammar;

TEST_CASE("positions count lines and code points from one") {
  const Source s("a.shard",
                 "ab\nc\xC3\xA9"
                 "d\n\nlast");  // the second line is c, e with an acute accent (two bytes), d
  auto at = [&](std::uint32_t offset) {
    const Position p = s.position(offset);
    return std::pair(p.line, p.column);
  };
  CHECK(at(0) == std::pair(1, 1));
  CHECK(at(2) == std::pair(1, 3));  // the newline belongs to its line
  CHECK(at(3) == std::pair(2, 1));
  CHECK(at(6) == std::pair(2, 3));
  CHECK(at(8) == std::pair(3, 1));
  CHECK(at(9) == std::pair(4, 1));
  CHECK(at(1000) == std::pair(4, 5));
  CHECK(s.line(1) == "ab");
  CHECK(s.line(3).empty());
  CHECK(s.line(4) == "last");
  CHECK(s.line(5).empty());
  CHECK(s.line(0).empty());
}

TEST_CASE("a line has no carriage return") { CHECK(Source("a", "x\r\ny").line(1) == "x"); }

TEST_CASE("a source map owns its sources and reads spans") {
  SourceMap m;
  const auto id = m.add("a", "let x = 1");
  CHECK(id == 1);
  CHECK(m.has(1));
  CHECK_FALSE(m.has(0));
  CHECK_FALSE(m.has(2));
  CHECK(m.text({id, 4, 5}) == "x");
  CHECK(m.text({id, 4, 500}) == "x = 1");
  CHECK(m.text({0, 4, 5}).empty());
  CHECK_FALSE(Span{}.known());
}

TEST_CASE("near misses: one edit, a swap, a case; nothing for what is far") {
  const std::vector<std::string> names = {"sum", "softmax", "normal", "reshape", "none", "zeros_like", "x"};
  CHECK(near_miss("smu", names) == "sum");
  CHECK(near_miss("sofmax", names) == "softmax");
  CHECK(near_miss("reshaep", names) == "reshape");
  CHECK(near_miss("None", names) == "none");
  CHECK(near_miss("zeroslike", names) == "zeros_like");
  CHECK(near_miss("X", names) == "x");
  CHECK_FALSE(near_miss("y", names));
  CHECK_FALSE(near_miss("transformer", names));
  CHECK_FALSE(near_miss("", names));
  CHECK_FALSE(near_miss("sum", {"sum"}));  // itself is no miss
}
