#include "interpreter/cost_model/quantities.h"

#include <cstdio>

namespace shard::cost_model {
namespace {

std::string three_digits(double x, const char* unit) {
  char buffer[48];
  const int digits = x >= 100 ? 0 : x >= 10 ? 1 : 2;
  std::snprintf(buffer, sizeof buffer, "%.*f %s", digits, x, unit);
  return buffer;
}

}  // namespace

std::string time_text(double s) {
  return s >= 1 ? three_digits(s, "s") : s >= 1e-3 ? three_digits(s * 1e3, "ms") : three_digits(s * 1e6, "us");
}
std::string bytes_text(double b) {
  if (b < 1000) return std::to_string(static_cast<int>(b)) + " B";
  return b >= 0x1p30   ? three_digits(b / 0x1p30, "GiB")
         : b >= 0x1p20 ? three_digits(b / 0x1p20, "MiB")
                       : three_digits(b / 0x1p10, "KiB");
}
std::string percent_text(double part, double whole) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.0f %%", whole > 0 ? 100 * part / whole : 0);
  return buffer;
}
std::string left(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}
std::string right(const std::string& text, std::size_t width) {
  return std::string(text.size() < width ? width - text.size() : 0, ' ') + text;
}

}  // namespace shard::cost_model
