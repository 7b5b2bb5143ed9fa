// Expected values: Unicode 15, table 3-7 (well-formed UTF-8), and Python's str.encode.
#include "grammar/characters.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace shard::grammar;

TEST_CASE("characters are decoded and written again") {
  const std::string text = "a\u00e9\u20ac\U0001f600";
  std::string again;
  std::vector<std::uint32_t> codes;
  for (std::size_t at = 0; at < text.size();) {
    codes.push_back(decode(text, at));
    append_utf8(again, codes.back());
  }
  CHECK(codes == std::vector<std::uint32_t>{0x61, 0xe9, 0x20ac, 0x1f600});
  CHECK(again == text);
  CHECK(characters(text) == 4);
  CHECK(not_utf8(text) == std::string::npos);
}

TEST_CASE("bytes that are no UTF-8 are found, and count one each") {
  for (const std::string bad : {"\x80", "\xc0\x80", "\xc3", "\xe2\x82", "\xe2(\xac", "\xf5\x80\x80\x80", "\xff"}) {
    CHECK(not_utf8("ab" + bad) == 2);
    CHECK(character_bytes(bad, 0) == 1);
    std::size_t at = 0;
    CHECK(decode(bad, at) == 0xfffd);
    CHECK(at == 1);
  }
}

TEST_CASE("a text is cut between characters, and without the blanks around it") {
  const std::string_view text = "a\u20acb";
  CHECK(whole_characters(text, 0).empty());
  CHECK(whole_characters(text, 1) == "a");
  CHECK(whole_characters(text, 3) == "a");
  CHECK(whole_characters(text, 4) == "a\u20ac");
  CHECK(whole_characters(text, 9) == text);
  CHECK(trimmed(" \t\r\n a b \n") == "a b");
  CHECK(trimmed(" \n").empty());
}
