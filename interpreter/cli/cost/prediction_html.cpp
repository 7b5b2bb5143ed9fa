// A call that is predicted as one file for a browser, without outside parts: figures, a timeline to zoom (wheel, drag),
// memory over the same time with its causes, the mesh with its domains of fast links, collectives, and the script with
// its costs in the margin. The page is prediction.html; its program draws from the data, where colours go by line and a
// bar with more turns than one is a loop: lighter, with its first turns inside.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "interpreter/cli/cost/prediction.h"
#include "interpreter/ir/op.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/explanation.h"
#include "stdlib/host/files/text.h"
#include "stdlib/packed_text.h"

namespace shard::cli {
namespace {

std::string escaped(std::string_view text) { return stdlib::xml_text(text, "\t", "&<"); }

std::string figure(const std::string& what, const std::string& value) {
  return "<div>" + what + "<b>" + escaped(value) + "</b></div>\n";
}

std::string collectives(const Prediction& f, const cost_model::Chip& chip, const grammar::SourceMap& sources) {
  std::vector<std::pair<std::vector<std::string>, std::int64_t>> rows;  // what is the same is said once: how often
  std::vector<double> bytes;                                            // ... and of all of them
  for (const exec::CommRecord& r : f.call.plan->comm()) {
    const auto count = static_cast<double>(r.count), all = static_cast<double>(r.bytes);
    std::vector<std::string> cells{r.kind,
                                   escaped(cost_model::axes_of(r)),
                                   "",
                                   bytes_text(all / count),
                                   time_text(cost_model::collective_seconds(chip, f.call.plan->program(), r) / count),
                                   "",
                                   std::to_string(source_line(sources, r.span)),
                                   r.written ? "written" : "inserted"};
    if (!r.written && r.why)
      cells.back() += ": " + escaped(lang::why_text(*r.why, *r.op, f.call.names, sources, r.span));
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first == cells; });
    const auto at = static_cast<std::size_t>(same - rows.begin());
    if (same == rows.end()) {
      rows.emplace_back(std::move(cells), 0);
      bytes.push_back(0);
    }
    rows[at].second += r.count;
    bytes[at] += all;
  }
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& [cells, times] = rows[i];
    cells[2] = std::to_string(times);
    cells[5] = bytes_text(bytes[i]);
    out += html_row("  rrrrrw", cells);
  }
  return out;
}

// The devices, in rows along the last axis; those of one domain of fast links have one colour.
std::string mesh_picture(const Prediction& f, const cost_model::Chip& chip) {
  if (!f.call.mesh) return "";
  constexpr std::int64_t kAcross = 64, kDown = 16, kSide = 16;
  const std::int64_t n = f.call.mesh->size();
  const auto& axes = f.call.mesh->axes;
  auto along = std::find_if(axes.rbegin(), axes.rend(), [](const runtime::MeshAxis& a) { return a.size > 1; });
  if (along == axes.rend()) along = axes.rbegin();
  const std::int64_t last = along->size;
  const std::int64_t across = std::min(last, kAcross), down = std::min(n / last, kDown);
  std::int64_t domain = 1;
  for (const std::int64_t d : chip.domain) domain *= d;
  const std::string width = std::to_string(across * kSide), height = std::to_string(down * kSide);
  std::string out = "<h2>Mesh <small>" + escaped(runtime::to_string(*f.call.mesh)) + ": rows along @" +
                    escaped(along->name) + "; one colour, one domain of " + std::to_string(domain) +
                    " chips with fast links" +
                    (across * down < n ? "; the first of " + std::to_string(n) + " devices" : "") +
                    "</small></h2>\n<svg id=mesh width=" + width + " height=" + height + " viewBox=\"0 0 " + width +
                    " " + height + "\">";
  for (std::int64_t r = 0; r < down; ++r)
    for (std::int64_t c = 0; c < across; ++c) {
      const std::int64_t device = r * last + c;
      out += "<rect x=" + std::to_string(c * kSide + 1) + " y=" + std::to_string(r * kSide + 1) +
             " width=14 height=14 fill=\"hsl(" + std::to_string(device / domain * 67 % 360) +
             ",45%,65%)\"><title>device " + std::to_string(device) + "</title></rect>";
    }
  return out + "</svg>\n";
}

std::string causes(const cost_model::Memory& m, const grammar::SourceMap& sources) {
  std::string out;
  for (std::size_t w = 0; w < cost_model::kWhys; ++w) {
    const auto why = static_cast<cost_model::MemoryCause>(w);
    if (m.of(why) == 0) continue;
    std::vector<int> shown;
    for (const cost_model::Cause& c : m.causes) {
      const int line = c.why == why ? source_line(sources, c.where) : 0;
      if (line == 0 || shown.size() == 5 || std::find(shown.begin(), shown.end(), line) != shown.end()) continue;
      shown.push_back(line);
    }
    out += html_row(" rr", {spaced(cost_model::words_of(why)), bytes_text(static_cast<double>(m.of(why))),
                            grammar::separated(shown, ", ", [](int line) { return std::to_string(line); })});
  }
  return out;
}

// The file of the function, a line each: what it computes, waits, and holds at the peak.
std::string script(const Prediction& f, const grammar::SourceMap& sources) {
  const std::uint32_t file = f.call.where.source;
  if (!sources.has(file)) return "";
  const grammar::Source& source = sources.at(file);
  std::map<int, cost_model::LineCost> cost;
  std::map<int, std::int64_t> held;
  for (const cost_model::Line& l : cost_model::lines_of(f.of.time, sources))
    if (l.at.source == file) cost[l.number] = l.cost;
  for (const cost_model::Cause& c : f.of.memory.causes)
    if (c.where.source == file) held[source_line(sources, c.where)] += c.bytes;
  std::string out = "<h2>" + escaped(source.name()) +
                    "</h2><div class=scroll><table class=script id=script><tr><th class=r>computes<th class=r>waits<th "
                    "class=r>holds<th class=r>line<th>\n";
  const int lines = source.position(static_cast<std::uint32_t>(source.text().size())).line;
  for (int l = 1; l <= lines; ++l)
    out += html_row(
        "rrrl ",
        {cost[l].compute > 0 ? time_text(cost[l].compute) : "", cost[l].exposed > 0 ? time_text(cost[l].exposed) : "",
         held[l] > 0 ? bytes_text(static_cast<double>(held[l])) : "", std::to_string(l), escaped(source.line(l))});
  return out + "</table></div>\n";
}

// Of memory [seconds until which, bytes]; the events of the timeline.
std::string data(const Prediction& f, const cost_model::Chip& chip, const grammar::SourceMap& sources) {
  using Json = nlohmann::ordered_json;
  const cost_model::Memory& m = f.of.memory;
  std::map<const ir::Node*, double> done;
  double end = 0, now = 0;
  Json memory = Json::array(), events = Json::array();
  for (const cost_model::Event& e : f.of.time.events) {
    done[e.node] = std::max(done[e.node], e.start + e.seconds);
    end = std::max(end, e.start + e.seconds);
    events.push_back(
        Json::array({e.start, e.seconds, e.stream, e.node->op->name, source_line(sources, e.node->span), e.turns}));
  }
  for (const auto& [node, bytes] : m.curve) {
    now = std::max(now, done[node]);
    memory.push_back(Json::array({now, bytes}));
  }
  std::string out = Json{{"limit", chip.memory},
                         {"end", std::max(end, 1e-9)},
                         {"always", m.arguments + m.of(cost_model::MemoryCause::Results)},
                         {"memory", std::move(memory)},
                         {"events", std::move(events)}}
                        .dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = out.find("</", at)) != std::string::npos;) out.replace(at, 2, "<\\/");  // it would end
  return out;
}

}  // namespace

std::string html_row(std::string_view classes, const std::vector<std::string>& cells) {
  std::string out = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += classes[i] == ' '   ? "<td>"
           : classes[i] == 'w' ? "<td class=why>"
           : classes[i] == 'l' ? "<td class=l>"
                               : "<td class=r>";
    out += cells[i];
  }
  return out + "\n";
}

std::string html(const Prediction& f, const cost_model::Chip& chip, const grammar::SourceMap& sources,
                 const std::string& more) {
  const cost_model::Profile& t = f.of.time;
  const double wait = t.waits();
  const auto [low, high] = chip.range(t.seconds);
  std::string figures = figure("one call", time_text(t.seconds)) +
                        figure("between", time_text(low) + " and " + time_text(high) + ", " + chip.basis) +
                        figure("computes", time_text(t.compute) + ", " + percent_text(t.compute, t.seconds)) +
                        figure("waits for others", time_text(wait) + ", " + percent_text(wait, t.seconds)) +
                        figure("memory", bytes_text(static_cast<double>(f.of.memory.peak)) + " of " +
                                             bytes_text(chip.memory) + (f.of.fits ? "" : ": does not fit"));
  for (const auto& [type, flops] : t.products)
    if (const std::string as = no_rate_text(chip, type); !as.empty())
      figures += figure("products of " + std::string(runtime::name(type)), as);
  // The places of the page, in the order in which they stand.
  const std::pair<std::string_view, std::string> places[] = {
      {"{{title}}", escaped(f.call.name)},
      {"{{heading}}", escaped(f.call.name + " on " + chips_text(f, chip))},
      {"{{figures}}", figures},
      {"{{more}}", more},
      {"{{memory}}", causes(f.of.memory, sources)},
      {"{{mesh}}", mesh_picture(f, chip)},
      {"{{collectives}}", collectives(f, chip, sources)},
      {"{{script}}", script(f, sources)},
      {"{{data}}", data(f, chip, sources)}};
  const std::string page = stdlib::unpacked(stdlib::program_texts(), "prediction");
  std::string out;
  std::size_t done = 0;
  for (const auto& [name, text] : places) {
    const std::size_t at = page.find(name, done);
    out += page.substr(done, at - done) + text;
    done = at + name.size();
  }
  return out + page.substr(done);
}

}  // namespace shard::cli
