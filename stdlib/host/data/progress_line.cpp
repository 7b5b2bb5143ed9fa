#include "stdlib/host/data/progress_line.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "grammar/characters.h"
#include "interpreter/lang/report/report.h"

namespace shard::stdlib {
namespace {

std::string printed(const char* format, double x) {
  char out[48];
  std::snprintf(out, sizeof out, format, x);
  return out;
}

std::string clock_text(double seconds) {  // 0:07, 12:30, 2:05:00
  const auto s = static_cast<long long>(std::min(seconds, 3.6e9) + 0.5);
  char out[48];
  if (s >= 3600)
    std::snprintf(out, sizeof out, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else
    std::snprintf(out, sizeof out, "%lld:%02lld", s / 60, s % 60);
  return out;
}

std::string rate_text(double rate) { return rate >= 1 ? printed("%.1f/s", rate) : printed("%.1f s each", 1 / rate); }

}  // namespace

std::string progress_line(const ProgressState& s, const std::string& numbers, int width) {
  constexpr int kBar = 20;
  std::string out = std::to_string(s.at);
  if (s.all) out += "/" + std::to_string(*s.all);
  const bool steady = s.at > 1 && s.since_first > 0;
  const double rate = steady          ? static_cast<double>(s.at - 1) / s.since_first
                      : s.seconds > 0 ? static_cast<double>(s.at) / s.seconds
                                      : 0;
  if (rate > 0) out += "  " + rate_text(rate);
  if (s.last)
    out += "  " + clock_text(s.seconds);
  else if (s.all && rate > 0)
    out += "  " + clock_text(static_cast<double>(*s.all - s.at) / rate) + " left";
  if (!numbers.empty()) out += "  " + numbers;
  if (s.all && *s.all > 0 && static_cast<int>(out.size()) + kBar + 4 <= width) {
    const auto filled = static_cast<std::size_t>(kBar * std::min(s.at, *s.all) / *s.all);
    out = "[" + std::string(filled, '#') + std::string(kBar - filled, '.') + "] " + out;
  }
  int columns = 0;
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t from = at;
    columns += lang::columns_of(grammar::decode(out, at));
    if (columns > width - 1) return out.substr(0, from);
  }
  return out;
}

}  // namespace shard::stdlib
