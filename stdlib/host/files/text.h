// Text that files hold.
#pragma once
#include <string>
#include <string_view>

namespace shard::stdlib {

// The shortest text that reads back as this float, with a point where a number could be a whole one: "1.0", "1e+20".
// single: as f32.
std::string float_text(double x, bool single);

// As XML, SVG and HTML have it. Control characters, most of which have no form there, are left out, but for those in
// `kept`. `escaped`: the signs that are.
std::string xml_text(std::string_view text, std::string_view kept = "", std::string_view escaped = "&<>\"");

}  // namespace shard::stdlib
