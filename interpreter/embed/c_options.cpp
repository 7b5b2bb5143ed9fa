// The options of an engine as C hosts write them: one flat JSON object of numbers, truth values and texts.
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

#include "grammar/diagnostic.h"
#include "interpreter/embed/c_inner.h"

namespace shard::c {
namespace {

class OptionsText {
 public:
  explicit OptionsText(const char* text) : at_(text) {}

  Options read() {
    Options out;
    take('{', "an object `{...}`");
    if (!next('}')) {
      do one(out);
      while (next(','));
      take('}', "`,` or `}`");
    }
    blanks();
    if (*at_) refuse("ends after its `}`");
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) {
    throw Error({{"options", "the options: " + why, {}, {}, {}, {}, "error: the options: " + why + "\n", "{}"}});
  }
  void blanks() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r') ++at_;
  }
  bool next(char c) {
    blanks();
    if (*at_ != c) return false;
    ++at_;
    return true;
  }
  void take(char c, const char* what) {
    if (!next(c)) refuse(std::string(what) + " stands before `" + std::string(at_).substr(0, 20) + "`");
  }
  std::string name() {
    take('"', "a name in quotes");
    const char* end = std::strchr(at_, '"');
    if (!end) refuse("a name has no end");
    std::string out(at_, end);
    at_ = end + 1;
    return out;
  }
  double number(const std::string& key) {
    blanks();
    double out = 0;
    const auto [end, bad] = std::from_chars(at_, at_ + std::strlen(at_), out);
    if (bad != std::errc() || !std::isfinite(out)) refuse("`" + key + "` takes a number");
    at_ = end;
    return out;
  }
  template <class T>
  void whole(const std::string& key, T& to) {
    const double x = number(key);
    if (x != std::floor(x) || std::abs(x) > 0x1p62 || static_cast<double>(static_cast<T>(x)) != x)
      refuse("`" + key + "` takes a whole number");
    to = static_cast<T>(x);
  }
  bool truth(const std::string& key) {
    blanks();
    for (const auto& [word, value] : {std::pair("true", true), std::pair("false", false)})
      if (std::strncmp(at_, word, std::strlen(word)) == 0) {
        at_ += std::strlen(word);
        return value;
      }
    refuse("`" + key + "` takes true or false");
  }
  void one(Options& out) {
    const std::map<std::string, std::function<void(const std::string&)>> known{
        {"devices", [&](const std::string& k) { whole(k, out.devices); }},
        {"memory", [&](const std::string& k) { whole(k, out.memory); }},
        {"steps", [&](const std::string& k) { whole(k, out.steps); }},
        {"seconds", [&](const std::string& k) { out.seconds = number(k); }},
        {"recursion", [&](const std::string& k) { whole(k, out.recursion); }},
        {"exact", [&](const std::string& k) { out.exact = truth(k); }},
        {"debug_nans", [&](const std::string& k) { out.debug_nans = truth(k); }},
        {"deny_warnings", [&](const std::string& k) { out.deny_warnings = truth(k); }},
        {"processes",
         [&](const std::string& k) { out.processes = truth(k) ? std::optional(Processes()) : std::nullopt; }},
        {"engine", [&](const std::string&) { out.engine = name(); }},
        {"read", [&](const std::string& k) { out.may_read = [yes = truth(k)](const std::string&) { return yes; }; }},
        {"write", [&](const std::string& k) { out.may_write = [yes = truth(k)](const std::string&) { return yes; }; }}};
    const std::string key = name();
    take(':', "`:`");
    if (const auto it = known.find(key); it != known.end()) return it->second(key);
    std::vector<std::string> names;
    for (const auto& k : known) names.push_back(k.first);
    const auto near = grammar::near_miss(key, names);
    refuse("no option is called `" + key + "`" + (near ? ", did you mean `" + *near + "`?" : ""));
  }
  const char* at_;
};

}  // namespace

Options read_options(const char* text) { return OptionsText(text).read(); }

}  // namespace shard::c
