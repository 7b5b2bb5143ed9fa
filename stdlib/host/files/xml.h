// Text as XML, SVG and HTML have it.
#pragma once
#include <string>
#include <string_view>

namespace shard::stdlib {

// Control characters, most of which have no form in XML, are left out, but for those in `kept`. `escaped`: the signs
// that are.
std::string xml_text(std::string_view text, std::string_view kept = "", std::string_view escaped = "&<>\"");

}  // namespace shard::stdlib
