#include "interpreter/lang/report/name_lists.h"

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

}  // namespace shard::lang
