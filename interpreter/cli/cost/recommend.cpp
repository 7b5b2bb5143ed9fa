// Advice for a call that is predicted: changes of the mesh and of lines of the script, each predicted like any other
// script before it is given. What is tried: the other sizes of the mesh's axes; a layout for what a line binds that
// makes devices wait; `remat` of the body of a loop where memory is short.
#include <algorithm>

#include "grammar/stable_sort.h"
#include "interpreter/cli/cost/attempts.h"
#include "interpreter/lang/report/report.h"

namespace shard::cli {
namespace {

constexpr std::size_t kMeshes = 48, kWaiting = 4, kGiven = 3;

struct Change {
  std::string words;  // as people read it
  Attempt attempt;
};

struct Changes {
  const Settings& settings;
  const std::string& text;
  const Prediction& base;
  const cost_model::Chip& chip;
  const grammar::SourceMap& sources;
  std::vector<Change> changes = {};

  void meshes() {
    if (!base.call.mesh || base.call.mesh->axes.size() < 2) return;
    std::vector<std::int64_t> now;
    sizes(base.call.mesh->size(), now);
  }
  void sizes(std::int64_t n, std::vector<std::int64_t>& now) {
    const auto& axes = base.call.mesh->axes;
    if (changes.size() >= kMeshes) return;
    if (now.size() + 1 < axes.size()) {
      for (std::int64_t d = 1; d <= n; ++d)
        if (n % d == 0) {
          now.push_back(d);
          sizes(n / d, now);
          now.pop_back();
        }
      return;
    }
    now.push_back(n);
    Attempt a{settings};
    std::string words = "mesh (";
    bool same = true;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      a.settings.set.emplace_back("@" + axes[i].name, std::to_string(now[i]));
      words += (i ? ", @" : "@") + axes[i].name + ": " + std::to_string(now[i]);
      same &= now[i] == axes[i].size;
    }
    now.pop_back();
    if (!same) changes.push_back({words + ")", std::move(a)});
  }

  // The script with another line `at` (1 is the first).
  void edit(int at, const std::string& line, std::string words) {
    std::size_t from = 0;
    for (int i = 1; i < at; ++i) from = text.find('\n', from) + 1;
    Attempt a{settings};
    const std::size_t to = std::min(text.find('\n', from), text.size());
    a.text = std::make_shared<const std::string>(text.substr(0, from) + line + text.substr(to));
    changes.push_back({"line " + std::to_string(at) + ": " + std::move(words), std::move(a)});
  }

  std::vector<std::string> specs() const {
    std::vector<std::string> out;
    for (const runtime::MeshAxis& a : base.call.mesh->axes) {
      if (a.size == 1) continue;
      for (const char* before : {"P(@", "P(_, @", "P(_, _, @"}) out.push_back(before + a.name + ")");
      for (const runtime::MeshAxis& b : base.call.mesh->axes)
        if (b.size > 1 && b.name != a.name)
          for (const char* between : {", @", ", _, @"}) out.push_back("P(@" + a.name + between + b.name + ")");
    }
    return out;
  }

  // `let h = EXPR` as `let h = shard EXPR as P(...)`, where devices wait most because of that line.
  void layouts() {
    if (!base.call.mesh) return;
    std::map<int, double> waits;
    for (const auto& [span, c] : base.of.time.lines)
      if (span.source == base.call.where.source) waits[source_line(sources, span)] += c.exposed;
    std::vector<std::pair<double, int>> most;
    for (const auto& [line, seconds] : waits)
      if (seconds > 0.02 * base.of.time.seconds) most.emplace_back(-seconds, line);
    std::sort(most.begin(), most.end());
    if (most.size() > kWaiting) most.resize(kWaiting);
    for (const auto& [seconds, at] : most) {
      const std::string line(sources.at(base.call.where.source).line(at));
      const std::size_t start = line.find_first_not_of(' '), equals = line.find(" = ");
      if (start == std::string::npos || line.compare(start, 4, "let ") != 0 || equals == std::string::npos ||
          line.find(" as P(") != std::string::npos)
        continue;
      const std::string name = line.substr(start + 4, equals - start - 4);
      std::string value = line.substr(equals + 3);
      if (value.find('"') == std::string::npos) value.resize(std::min(value.find('#'), value.size()));
      for (const std::string& spec : specs())
        edit(at, line.substr(0, equals + 3) + "shard " + value + " as " + spec,
             "let " + name + " = shard ... as " + spec);
    }
  }

  // `scan(layer, ...)` as `scan(remat(layer), ...)`.
  void less_kept() {
    if (static_cast<double>(base.of.memory.peak) < 0.8 * chip.memory || !sources.has(base.call.where.source)) return;
    const grammar::Source& source = sources.at(base.call.where.source);
    const int lines = source.position(static_cast<std::uint32_t>(text.size())).line;
    for (int l = 1; l <= lines; ++l) {
      std::string line(source.line(l));
      const std::size_t at = line.find("scan(");
      if (at == std::string::npos || line.find("remat") != std::string::npos) continue;
      const std::size_t comma = line.find(',', at);
      const std::string body = line.substr(at + 5, comma == std::string::npos ? 0 : comma - at - 5);
      if (body.empty() || body.find_first_of("( ") != std::string::npos) continue;
      line.replace(at + 5, body.size(), "remat(" + body + ")");
      edit(l, line, "scan(remat(" + body + "), ...)");
    }
  }
};

}  // namespace

std::optional<std::vector<Advice>> advice(const std::string& path, const std::string& text, const Settings& settings,
                                          const Prediction& base, const cost_model::Chip& chip,
                                          const grammar::SourceMap& sources) {
  Changes s{settings, text, base, chip, sources};
  s.meshes();
  if (sources.has(base.call.where.source) && sources.at(base.call.where.source).text() == text) {
    s.layouts();
    s.less_kept();
  }
  std::vector<Attempt> attempts;
  const auto as_is = std::make_shared<const std::string>(text);
  for (Change& c : s.changes) {
    attempts.push_back(std::move(c.attempt));
    if (!attempts.back().text) attempts.back().text = as_is;
  }
  if (!predict_all(path, attempts, chip)) return std::nullopt;
  // The same work, and better: it fits where the script did not, holds less where memory is short, or takes less time.
  const cost_model::Estimate& now = base.of;
  std::vector<Advice> out;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (!attempts[i].found) continue;
    const Attempt::Figures& f = *attempts[i].found;
    if (f.given != given_to(base) || (now.fits && !f.fits)) continue;
    const bool frees = !now.fits && f.fits;
    const bool shorter = f.seconds < 0.97 * now.time.seconds && (f.fits || !now.fits);
    if (frees || (now.fits && shorter)) out.push_back({s.changes[i].words, f.seconds, f.peak, f.fits});
  }
  stable_sort(out, [](const Advice& a, const Advice& b) {
    return std::pair(!a.fits, a.seconds) < std::pair(!b.fits, b.seconds);
  });
  if (out.size() > kGiven) out.resize(kGiven);
  return out;
}

std::string advice_text(const std::vector<Advice>& given, const Prediction& base) {
  if (given.empty()) return "\n  advice: no other mesh and no layout of a line that was tried is better by 3 %\n";
  std::string out = "\n  advice, predicted like the rest\n";
  for (const Advice& a : given) {
    std::string line =
        "    " + a.words + ": " + time_text(a.seconds) + " instead of " + time_text(base.of.time.seconds);
    if (base.of.fits != a.fits || !a.fits)
      line += ", " + bytes_text(static_cast<double>(a.peak)) + (a.fits ? ": fits" : ": does not fit");
    out += line + "\n";
  }
  return out;
}

}  // namespace shard::cli
