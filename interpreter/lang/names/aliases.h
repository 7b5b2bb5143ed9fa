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
// Builtins whose value is all that they are for, though methods of the name change their object elsewhere.
bool gives_only(std::string_view builtin);
// The field that is meant by a name of Flax, optax or PyTorch (Dense -> linear), where there is such a field; or empty.
std::string_view member_here(std::string_view name, const std::vector<std::string>& fields);
// The parameter that is meant by one of another library, or misspelt: dim -> axis, batch_size -> batch, axes -> axis.
std::optional<std::string> parameter_near(std::string_view name, const std::vector<std::string>& parameters);

}  // namespace shard::lang
