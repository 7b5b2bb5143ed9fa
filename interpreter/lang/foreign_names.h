// Names of other languages and libraries, for messages only: what the thing is called here, or how it is done.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shard::lang {

// The name here that may be put in its place as it stands: float32 -> f32, concatenate -> concat; or empty.
std::string_view name_here(std::string_view name);
// A sentence that says how it is done here, or empty.
std::string_view way_here(std::string_view name);
// The parameter that is meant by one of another library, or misspelt: dim -> axis, batch_size -> batch, axes -> axis.
std::optional<std::string> parameter_near(std::string_view name, const std::vector<std::string>& parameters);

}  // namespace shard::lang
