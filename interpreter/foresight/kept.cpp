// What the forward part keeps for the backward one, as people read it.
#include <algorithm>

#include "grammar/source.h"
#include "interpreter/foresight/estimate.h"
#include "interpreter/foresight/words.h"
#include "interpreter/lang/report/report.h"

namespace shard::foresight {

std::int64_t Kept::bytes() const {
  return count * runtime::numel(type.shape) * static_cast<std::int64_t>(runtime::size_of(type.dtype));
}

std::string kept_text(const std::vector<Kept>& kept, const grammar::SourceMap& sources) {
  if (kept.empty()) return "";
  constexpr std::size_t kLines = 8;
  std::int64_t here = 0, there = 0, rest = 0;
  std::vector<std::array<std::string, 4>> rows;
  std::array<std::size_t, 4> widths = {};
  for (const Kept& k : kept) {
    (k.host ? there : here) += k.bytes();
    if (rows.size() == kLines) {
      rest += k.bytes();
      continue;
    }
    const int line = lang::source_line(sources, k.where);
    rows.push_back({k.name, (k.count > 1 ? std::to_string(k.count) + " x " : "") + runtime::to_string(k.type),
                    bytes_text(static_cast<double>(k.bytes())),
                    (line > 0 ? "line " + std::to_string(line) : "no line") + (k.host ? "  on the host" : "")});
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], rows.back()[i].size());
  }
  std::string out = "  keeps for the backward part  " + (here > 0 ? bytes_text(static_cast<double>(here)) : "");
  if (there > 0) out += (here > 0 ? ", " : "") + bytes_text(static_cast<double>(there)) + " in the host's memory";
  out += "\n";
  for (const auto& r : rows) {
    out += "    ";
    if (widths[0] > 0) out += r[0] + std::string(widths[0] - r[0].size() + 2, ' ');
    out += r[1] + std::string(widths[1] - r[1].size() + 2, ' ');
    out += std::string(widths[2] - r[2].size(), ' ') + r[2] + "  " + r[3] + "\n";
  }
  if (kept.size() > kLines)
    out += "    and " + std::to_string(kept.size() - kLines) + " more, " + bytes_text(static_cast<double>(rest)) + "\n";
  return out;
}

}  // namespace shard::foresight
