#include "interpreter/lang/report/lists.h"

namespace shard::lang {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out.empty() ? "none" : out;
}

std::string listed_fields(std::vector<std::string> names) {
  constexpr std::size_t most = 24;
  const std::size_t more = names.size() > most ? names.size() - most : 0;
  if (more) names.resize(most);
  return joined(names) + (more ? " and " + std::to_string(more) + " more" : "");
}

std::string counted(std::int64_t n) {
  std::string digits = std::to_string(n), out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace shard::lang
