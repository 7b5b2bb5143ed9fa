// Advice for a call that is predicted: changes of the mesh and of lines of the script, each predicted like any other
// script before it is given. What is tried: the other sizes of the mesh's axes; a layout for what a line binds that
// makes devices wait; `remat` of the body of a loop where memory is short.
#include <algorithm>

#include "grammar/stable_sort.h"
#include "interpreter/cli/cost/attempts.h"

namespace shard::cli {
namespace {

constexpr std::size_t kMeshes = 48, kWaiting = 4, kGiven = 3;

struct Changes {
  const Basis& b;
  std::vector<Attempt> all = {};

  void meshes() {
    if (!b.base.call.mesh || b.base.call.mesh->axes.size() < 2) return;
    const auto& axes = b.base.call.mesh->axes;
    const auto as_is = std::make_shared<const std::string>(b.text);
    for (const auto& sizes : runtime::ways_to_divide(b.base.call.mesh->size(), axes.size())) {
      if (all.size() >= kMeshes) return;
      Attempt a{b.settings, as_is, "mesh ("};
      bool same = true;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        a.settings.set.emplace_back("@" + axes[i].name, std::to_string(sizes[i]));
        a.words += (i ? ", @" : "@") + axes[i].name + ": " + std::to_string(sizes[i]);
        same &= sizes[i] == axes[i].size;
      }
      a.words += ")";
      if (!same) all.push_back(std::move(a));
    }
  }

  // The script with another line `at` (1 is the first).
  void edit(int at, const std::string& line, const std::string& words) {
    std::size_t from = 0;
    for (int i = 1; i < at; ++i) from = b.text.find('\n', from) + 1;
    const std::size_t to = std::min(b.text.find('\n', from), b.text.size());
    all.push_back({b.settings, std::make_shared<const std::string>(b.text.substr(0, from) + line + b.text.substr(to)),
                   "line " + std::to_string(at) + ": " + words});
  }

  std::vector<std::string> specs() const {
    std::vector<std::string> out;
    for (const runtime::MeshAxis& x : b.base.call.mesh->axes) {
      if (x.size == 1) continue;
      for (const char* before : {"P(@", "P(_, @", "P(_, _, @"}) out.push_back(before + x.name + ")");
      for (const runtime::MeshAxis& y : b.base.call.mesh->axes)
        if (y.size > 1 && y.name != x.name)
          for (const char* between : {", @", ", _, @"}) out.push_back("P(@" + x.name + between + y.name + ")");
    }
    return out;
  }

  // `let h = EXPR` as `let h = shard EXPR as P(...)`, where devices wait most because of that line.
  void layouts() {
    if (!b.base.call.mesh) return;
    std::vector<std::pair<double, int>> most;
    for (const cost_model::Line& l : cost_model::lines_of(b.base.of.time, b.sources))
      if (l.at.source == b.base.call.where.source && l.cost.exposed > 0.02 * b.base.of.time.seconds)
        most.emplace_back(-l.cost.exposed, l.number);
    std::sort(most.begin(), most.end());
    if (most.size() > kWaiting) most.resize(kWaiting);
    for (const auto& [seconds, at] : most) {
      const std::string line(b.sources.at(b.base.call.where.source).line(at));
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
    if (static_cast<double>(b.base.of.memory.peak) < 0.8 * b.chip.memory) return;
    const grammar::Source& source = b.sources.at(b.base.call.where.source);
    const int lines = source.position(static_cast<std::uint32_t>(b.text.size())).line;
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

std::optional<std::string> advice_text(const Basis& b) {
  Changes changes{b};
  changes.meshes();
  if (b.is_here()) {
    changes.layouts();
    changes.less_kept();
  }
  std::vector<Attempt>& all = changes.all;
  if (!predict_all(b.path, all, b.chip)) return std::nullopt;
  // The same work, and better: it fits where the script did not, holds less where memory is short, or takes less time.
  const cost_model::Estimate& now = b.base.of;
  std::erase_if(all, [&](const Attempt& a) {
    if (!a.found || a.found->given != given_to(b.base)) return true;
    return now.fits ? !a.found->fits || a.found->seconds >= 0.97 * now.time.seconds : !a.found->fits;
  });
  stable_sort(all, [](const Attempt& x, const Attempt& y) { return x.found->seconds < y.found->seconds; });
  if (all.size() > kGiven) all.resize(kGiven);
  if (all.empty()) return "\n  advice: no other mesh and no layout of a line that was tried is better by 3 %\n";
  std::string out = "\n  advice, predicted like the rest\n";
  for (const Attempt& a : all)
    out += "    " + a.words + ": " + time_text(a.found->seconds) + " instead of " + time_text(now.time.seconds) +
           (now.fits ? "" : ", " + bytes_text(static_cast<double>(a.found->peak)) + ": fits") + "\n";
  return out;
}

}  // namespace shard::cli
