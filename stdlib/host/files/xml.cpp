#include "stdlib/host/files/xml.h"

namespace shard::stdlib {

std::string xml_text(std::string_view text, std::string_view kept) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 32 || kept.find(c) != std::string_view::npos)
      out += c;
  }
  return out;
}

}  // namespace shard::stdlib
