// The options of an engine as C hosts write them: one JSON object of numbers, truth values and texts.
#include <cmath>
#include <map>

#include "grammar/diagnostic.h"
#include "interpreter/embed/c_inner.h"
#include "runtime/array/shape.h"
#include "stdlib/host/files/json.h"

namespace shard::c {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error({{"options", "the options: " + why, {}, {}, {}, {}, "error: the options: " + why + "\n", "{}"}});
}

struct Given {
  std::string key;
  stdlib::Json value;

  double number() const {
    double out = 0;
    if (!value.number(out)) refuse("`" + key + "` takes a number");
    return out;
  }
  template <class T>
  void whole(T& to) const {
    const double x = number();
    if (x != std::floor(x) || std::abs(x) > 0x1p62 || static_cast<double>(static_cast<T>(x)) != x)
      refuse("`" + key + "` takes a whole number");
    to = static_cast<T>(x);
  }
  bool truth() const {
    const auto out = value.truth();
    if (!out) refuse("`" + key + "` takes true or false");
    return *out;
  }
  std::function<bool(const std::string&)> always() const {
    return [yes = truth()](const std::string&) { return yes; };
  }
  std::string text() const {
    const auto out = value.text();
    if (!out) refuse("`" + key + "` takes a text in quotes");
    return std::string(*out);
  }
};

const std::map<std::string, void (*)(const Given&, Options&)> kKnown{
    {"devices", [](const Given& g, Options& out) { g.whole(out.devices); }},
    {"memory", [](const Given& g, Options& out) { g.whole(out.memory); }},
    {"steps", [](const Given& g, Options& out) { g.whole(out.steps); }},
    {"seconds", [](const Given& g, Options& out) { out.seconds = g.number(); }},
    {"recursion", [](const Given& g, Options& out) { g.whole(out.recursion); }},
    {"exact", [](const Given& g, Options& out) { out.exact = g.truth(); }},
    {"debug_nans", [](const Given& g, Options& out) { out.debug_nans = g.truth(); }},
    {"deny_warnings", [](const Given& g, Options& out) { out.deny_warnings = g.truth(); }},
    {"processes",
     [](const Given& g, Options& out) { out.processes = g.truth() ? std::optional(Processes()) : std::nullopt; }},
    {"engine", [](const Given& g, Options& out) { out.engine = g.text(); }},
    {"read", [](const Given& g, Options& out) { out.may_read = g.always(); }},
    {"write", [](const Given& g, Options& out) { out.may_write = g.always(); }}};

}  // namespace

Options read_options(const char* text) try {
  const stdlib::JsonDocument document = stdlib::parse_json(text, "this");
  if (!document.root().object()) refuse("an object `{...}` is wanted");
  Options out;
  for (const auto& [key, value] : document.root().object()) {
    const auto known = kKnown.find(std::string(key));
    if (known != kKnown.end()) {
      known->second({known->first, value}, out);
      continue;
    }
    std::vector<std::string> names;
    for (const auto& k : kKnown) names.push_back(k.first);
    const auto near = grammar::near_miss(key, names);
    refuse("no option is called `" + std::string(key) + "`" + (near ? ", did you mean `" + *near + "`?" : ""));
  }
  return out;
} catch (const runtime::RuntimeError& e) {
  refuse("an object of JSON is wanted, from its `{` to its `}`, and " + std::string(e.what()));
}

}  // namespace shard::c
