// Seconds, bytes and shares as people read them, and texts in columns.
#pragma once
#include <string>

namespace shard::cost_model {

std::string time_text(double seconds);  // "1.43 s", "182 ms"
std::string bytes_text(double bytes);   // "61.2 GiB"
std::string percent_text(double part, double whole);
std::string left(std::string text, std::size_t width);  // at the left of a column: blanks behind it
std::string right(const std::string& text, std::size_t width);

}  // namespace shard::cost_model
