#include "interpreter/cli/cost/plan_search.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "grammar/stable_sort.h"
#include "interpreter/cli/cost/plan_cuts.h"

namespace shard::cli {
namespace {

constexpr std::size_t kMost = 20000;  // candidates of one search

bool refuse(const std::string& why) { return misused(why) == 0; }

// The meshes and settings that were asked for.
bool read_columns(const Arguments& a, Search& s) {
  s.plain = {{}};
  const std::vector<std::string> open = parts_of(a.value("--axes"), ',');
  if (!open.empty()) {
    s.plain.clear();
    for (const auto& z : runtime::ways_to_divide(a.settings.devices, open.size())) {
      Pairs& p = s.plain.emplace_back();
      for (std::size_t i = 0; i < z.size(); ++i) p.emplace_back("@" + open[i], std::to_string(z[i]));
    }
    for (const std::string& axis : open) s.columns.push_back("@" + axis);
  }
  for (const std::string& one : parts_of(a.value("--over"), '\n')) {
    const std::size_t at = one.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == one.size())
      return refuse("--over takes name=value,value,..., not '" + one + "'");
    s.columns.push_back(one.substr(0, at));
    std::vector<Pairs> longer;
    for (const Pairs& p : s.plain)
      for (const std::string& v : parts_of(one.substr(at + 1), ',')) {
        longer.push_back(p);
        longer.back().emplace_back(s.columns.back(), v);
      }
    s.plain = std::move(longer);
    if (s.plain.size() > kMost) return refuse("more than " + std::to_string(kMost) + " meshes and settings");
  }
  return true;
}

// "@data", "@(data, model)" or "_", as --set takes it.
std::string rule_text(const lang::Value& rule) {
  std::vector<std::string> names;
  const auto add = [&](const lang::Value& v) {
    if (const auto* axis = v.get<std::shared_ptr<const lang::Axis>>())
      names.insert(names.end(), (*axis)->names.begin(), (*axis)->names.end());
  };
  add(rule);
  if (const auto* items = rule.items())
    for (const lang::Value& v : *items) add(v);
  if (names.empty()) return "_";
  return names.size() == 1 ? "@" + names[0] : "@(" + grammar::separated(names, ",") + ")";
}

// The logical names of the script's rules and the axes of its meshes: it is run once, as far as it goes.
bool read_rules(const Arguments& a, Search& s) {
  DryRun script(a.settings, true, false, [&](const std::string& name, const lang::Value* rule) {
    const auto known = [&](const auto& x) { return x.first == name; };
    if (!rule && std::find(s.axes.begin(), s.axes.end(), name) == s.axes.end()) s.axes.push_back(name);
    if (rule && std::none_of(s.rules.begin(), s.rules.end(), known)) s.rules.emplace_back(name, rule_text(*rule));
  });
  std::string failed;
  script.run(s.path, *s.text, [&](const grammar::Diagnostic& d, const grammar::SourceMap&) { failed = d.message; });
  // A name that an option chooses for is chosen there.
  std::erase_if(s.rules, [&](const auto& r) {
    return std::find(s.columns.begin(), s.columns.end(), "@" + r.first) != s.columns.end();
  });
  if (s.rules.empty() || s.axes.empty())
    return refuse("--rules chooses axes for the logical names of `rules { name: @axis }`, and the script has " +
                  (failed.empty() ? "none" : "none before it fails: " + failed));
  for (const auto& r : s.rules) s.columns.push_back("@" + r.first);
  return true;
}

}  // namespace

bool read_search(const Arguments& a, Search& s) {
  s.path = a.words[0];
  if (!read_columns(a, s)) return false;
  std::string text;
  if (!read_script(s.path, text)) return false;
  s.text = std::make_shared<const std::string>(std::move(text));
  if (const std::string most = a.value("--most"); !most.empty()) {
    const auto n = number_of(most, 1, static_cast<int>(kMost));
    if (!n) return refuse("--most takes a number from 1 to " + std::to_string(kMost) + ", not '" + most + "'");
    s.most = static_cast<std::size_t>(*n);
  }
  if (a.has("--rules")) return read_rules(a, s);
  if (s.columns.empty())
    return refuse(
        "nothing to plan: say which axes are open, `--axes data,model`, which settings, `--over micro=1,2,4`, or that "
        "the axes of logical names are, `--rules`");
  return true;
}

Attempt attempt_of(const Search& s, const Arguments& a, const Candidate& c) {
  Attempt out{a.settings};
  for (const auto& [name, value] : c.set) {
    std::erase_if(out.settings.set, [&](const auto& old) { return old.first == name; });
    out.settings.set.emplace_back(name, value);
  }
  out.text = s.text;
  return out;
}

namespace {

bool better(const Candidate& a, const Candidate& b) {
  const auto rank = [](const Candidate& c) { return !c.found ? (c.lacks ? 2 : 3) : c.fits() ? 0 : 1; };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (a.found && a.price() != b.price()) return a.price() < b.price();
  return a.place < b.place;
}

// Predicts more candidates; false where somebody interrupted.
bool predict_more(Search& s, const Arguments& a, const cost_model::Chip& chip, std::vector<Candidate> more) {
  std::vector<Attempt> attempts;
  for (const Candidate& c : more) attempts.push_back(attempt_of(s, a, c));
  if (!predict_all(s.path, attempts, chip)) return false;
  for (std::size_t i = 0; i < more.size(); ++i) {
    more[i].found = attempts[i].found;
    more[i].why = std::move(attempts[i].why);
    s.candidates.push_back(std::move(more[i]));
  }
  std::map<Pairs, double> least;
  const auto settings = [](const Candidate& c) {
    Pairs p = c.set;
    std::erase_if(p, [](const auto& x) { return x.first[0] == '@'; });
    return p;
  };
  for (const Candidate& c : s.candidates) {
    if (!c.found || c.found->flops <= 0) continue;
    const auto [at, fresh] = least.try_emplace(settings(c), c.found->flops);
    at->second = std::min(at->second, c.found->flops);
  }
  for (Candidate& c : s.candidates)
    if (const auto at = least.find(settings(c)); at != least.end()) c.work = at->second;
  return true;
}

// The search over rules. A name lies on one axis or on none; on an axis of size 1 it is as on none. Where these are
// more than may be predicted, all meshes and settings are predicted with the rules as they are written, and from the
// best of them one name after another is moved, as long as something gets better.
class Rules {
 public:
  Rules(Search& s, const Arguments& a, const cost_model::Chip& chip) : s_(s), a_(a), chip_(chip) {}

  bool run() {
    double all = 0, distinct = 0;
    for (const Pairs& p : s_.plain) {
      double here = 1;
      for (const auto& [rule, written] : s_.rules) here *= static_cast<double>(values(p, written).size());
      distinct += here;
      double any = 1;
      for (const auto& [rule, written] : s_.rules) any *= static_cast<double>(values({}, written).size());
      all += any;
    }
    s_.same = all - distinct;
    if (distinct <= static_cast<double>(s_.most)) {
      std::vector<Candidate> every;
      for (const Pairs& p : s_.plain) assign(p, 0, every);
      for (std::size_t i = 0; i < every.size(); ++i) every[i].place = i;
      Cuts cuts(std::move(every));
      for (std::vector<Candidate> more; !(more = cuts.next(s_.candidates)).empty();)
        if (!predict_more(s_, a_, chip_, std::move(more))) return false;
      s_.cut = cuts.cut().size();
      std::move(cuts.cut().begin(), cuts.cut().end(), std::back_inserter(s_.candidates));
      return true;
    }
    if (!climb()) return false;
    s_.left_out = std::max(0.0, distinct - static_cast<double>(s_.candidates.size()));
    return true;
  }

 private:
  // Where a name may lie: as it is written, on no axis, on one that is more than one device wide (those whose size the
  // search does not choose count).
  std::vector<std::string> values(const Pairs& p, const std::string& written) const {
    const auto single = [&](const std::string& axis) {
      return std::any_of(p.begin(), p.end(), [&](const auto& x) { return x.first == axis && x.second == "1"; });
    };
    std::vector<std::string> out;
    if (!single(written)) out.push_back(written);
    if (written != "_") out.emplace_back("_");
    for (const std::string& axis : s_.axes)
      if (!single("@" + axis) && written != "@" + axis) out.push_back("@" + axis);
    return out;
  }
  void assign(const Pairs& p, std::size_t rule, std::vector<Candidate>& out) const {
    if (rule == s_.rules.size()) {
      out.push_back({p});
      return;
    }
    const auto& [name, written] = s_.rules[rule];
    for (std::string& value : values(p, written)) {
      Pairs with = p;
      with.emplace_back("@" + name, std::move(value));
      assign(with, rule + 1, out);
    }
  }

  bool climb() {
    std::vector<Candidate> first;
    for (const Pairs& p : s_.plain) {
      if (first.size() == s_.most) break;
      first.push_back({p});
      for (const auto& [rule, written] : s_.rules)
        first.back().set.emplace_back("@" + rule, values(p, written)[0]);  // as it is written
      tried_.insert(first.back().set);
    }
    if (!predict_more(s_, a_, chip_, std::move(first))) return false;
    std::vector<Candidate> best = s_.candidates;
    stable_sort(best, better);
    if (best.size() > kClimbed) best.resize(kClimbed);
    for (Candidate& c : best)
      for (bool moved = true; moved;) {
        std::vector<Candidate> next = neighbours(c);
        const std::size_t room = s_.most - std::min(s_.most, s_.candidates.size());
        if (next.size() > room) next.resize(room);
        if (next.empty()) break;
        const std::size_t before = s_.candidates.size();
        if (!predict_more(s_, a_, chip_, std::move(next))) return false;
        moved = false;
        for (std::size_t i = before; i < s_.candidates.size(); ++i)
          if (better(s_.candidates[i], c)) c = s_.candidates[i], moved = true;
      }
    return true;
  }
  // With one name elsewhere; each set of choices once.
  std::vector<Candidate> neighbours(const Candidate& c) {
    std::vector<Candidate> out;
    const std::size_t first = c.set.size() - s_.rules.size();
    for (std::size_t r = 0; r < s_.rules.size(); ++r)
      for (std::string& value : values(c.set, s_.rules[r].second)) {
        Candidate next{c.set};
        next.set[first + r].second = std::move(value);
        if (tried_.insert(next.set).second) out.push_back(std::move(next));
      }
    return out;
  }

  Search& s_;
  const Arguments& a_;
  const cost_model::Chip& chip_;
  std::set<Pairs> tried_;
};

// Why one that fits and waits no more is not the first.
void say_why_slower(Search& s) {
  const Candidate& best = s.candidates[0];
  for (Candidate& c : s.candidates) {
    if (&c == &best || !c.fits() || !c.why.empty() || !best.fits()) continue;
    const double here = c.found->compute / c.work, there = best.found->compute / best.work;
    if (here > 1.005 * there) c.why = "computes " + percent_text(here - there, there) + " longer";
  }
}

}  // namespace

bool search(Search& s, const Arguments& a, const cost_model::Chip& chip) {
  bool done = false;
  if (s.rules.empty()) {
    std::vector<Candidate> all;
    for (const Pairs& p : s.plain) all.push_back({p});
    done = predict_more(s, a, chip, std::move(all));
  } else {
    done = Rules(s, a, chip).run();
  }
  stable_sort(s.candidates, better);
  if (done) say_why_slower(s);
  return done;
}

}  // namespace shard::cli
