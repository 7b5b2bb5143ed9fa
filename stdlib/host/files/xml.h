// Text as XML and SVG have it.
#pragma once
#include <string>
#include <string_view>

namespace shard::stdlib {

// Control characters, most of which have no form in XML, are left out, but for those in `kept`.
std::string xml_text(std::string_view text, std::string_view kept = "");

}  // namespace shard::stdlib
