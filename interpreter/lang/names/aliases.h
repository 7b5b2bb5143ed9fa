// Names of other languages and libraries, for messages only: what the thing is called here, or how it is done. What a
// function is called elsewhere stands beside it: in its row (OpDef::aliases), in its declaration (Native::aliases), or
// in the comment of a function of a module: "## Elsewhere: Dense, Linear."
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/ir/op.h"

namespace shard::lang {

class Aliases {  // one an engine
 public:
  Aliases();  // with the names that no function of ours stands behind
  void add(std::string_view function, const std::vector<ir::Alias>& names);
  // The name here that may be put in its place as it stands: float32 -> f32, concatenate -> concat; or empty.
  std::string_view name_here(std::string_view name) const;
  // A sentence that says how it is done here, or empty.
  std::string_view way_here(std::string_view name) const;
  // What a call of a function of this name does elsewhere and the one here does not, as a sentence, or empty: methods
  // `append` and `sort` that change their object.
  std::string_view differs(std::string_view function) const;

  struct Entry {
    std::string function;  // empty where no function is meant
    std::string_view say;  // empty where the name can be put in its place
  };
  const std::map<std::string_view, Entry>& all() const { return known_; }

 private:
  std::map<std::string_view, Entry> known_;
};

// The names in the line "Elsewhere: Dense, Linear." of the comment of a function.
std::vector<std::string> names_of_elsewhere(std::string_view doc);
// Whether the comment of a function has the line "Elsewhere: Dense, Linear." with this name.
bool names_elsewhere(std::string_view doc, std::string_view name);
// The parameter that is meant by one of another library, or misspelt: dim -> axis, batch_size -> batch, axes -> axis.
std::optional<std::string> parameter_near(std::string_view name, const std::vector<std::string>& parameters);
std::span<const std::pair<std::string_view, std::string_view>> parameter_aliases();  // {dim, axis}, ...
// What is to be known of a parameter of another library that has no like here, or one that means something else; or
// empty.
std::string_view parameter_way(std::string_view name);

}  // namespace shard::lang
