#include "stdlib/host/files/xml.h"

#include <algorithm>
#include <iterator>

namespace shard::stdlib {

std::string xml_text(std::string_view text, std::string_view kept, std::string_view escaped) {
  static constexpr std::pair<char, std::string_view> kForms[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  std::string out;
  for (const char c : text) {
    const auto form = std::find_if(std::begin(kForms), std::end(kForms), [&](const auto& f) { return f.first == c; });
    if (form != std::end(kForms) && escaped.find(c) != std::string_view::npos)
      out += form->second;
    else if (static_cast<unsigned char>(c) >= 32 || kept.find(c) != std::string_view::npos)
      out += c;
  }
  return out;
}

}  // namespace shard::stdlib
