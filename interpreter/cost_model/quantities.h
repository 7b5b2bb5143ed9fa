// Seconds, bytes and shares as people read them.
#pragma once
#include <string>

namespace shard::cost_model {

std::string time_text(double seconds);  // "1.43 s", "182 ms"
std::string bytes_text(double bytes);   // "61.2 GiB"
std::string percent_text(double part, double whole);

}  // namespace shard::cost_model
