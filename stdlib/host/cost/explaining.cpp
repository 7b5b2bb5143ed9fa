// explain: what a call says between the devices, holds and computes, as text; with `chip:` what it takes there and
// which lines make devices wait, with `against:` the same of another function of the same arguments, side by side.
#include <algorithm>
#include <array>

#include "grammar/stable_sort.h"
#include "interpreter/cost_model/estimate.h"
#include "interpreter/cost_model/quantities.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/advice.h"
#include "interpreter/lang/staging/explanation.h"
#include "stdlib/host/cost/chips.h"
#include "stdlib/host/host.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

using cost_model::bytes_text;
using cost_model::left;
using cost_model::right;
using cost_model::time_text;
using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

struct Explained {
  lang::CompiledCall call;
  lang::CompiledCall apart = {};  // for devices of their own, as the chip's are: its graph is what `on` points into
  std::optional<cost_model::Estimate> on = {};  // the chip that was asked for
};

Explained explained(Interpreter& in, const Value& f, const BoundArgs& a, const std::optional<cost_model::Chip>& chip) {
  Explained out{lang::compiled_call(in, f, a.rest, a.span)};
  if (!chip) return out;
  out.apart = call_apart(in, f, a, chip->simulated > 0);
  out.on = predicted(*chip, out.apart);
  return out;
}

std::string beside(const Explained& a, const Explained& b) {
  const auto row = [&](const std::string& what, const std::string& x, const std::string& y) {
    return "  " + left(what, 17) + "  " + right(x, 15) + " " + right(y, 15) + "\n";
  };
  const auto says = [](const Explained& e) {
    double bytes = 0;
    for (const exec::CommRecord& r : e.call.plan->comm()) bytes += static_cast<double>(r.bytes);
    return bytes_text(bytes);
  };
  const auto collectives = [](const Explained& e) {
    std::int64_t count = 0;
    for (const exec::CommRecord& r : e.call.plan->comm()) count += r.count;
    return std::to_string(count);
  };
  const auto holds = [](const Explained& e) {
    const exec::MemoryUse& m = e.call.plan->memory();
    return bytes_text(static_cast<double>(m.arguments + m.results + m.temporaries));
  };
  const auto computes = [](const Explained& e) { return std::to_string(e.call.plan->flops()); };
  std::string out = "\n" + row("", a.call.name, b.call.name) + row("collectives", collectives(a), collectives(b)) +
                    row("says to others", says(a), says(b)) + row("a device holds", holds(a), holds(b)) +
                    row("operations", computes(a), computes(b));
  if (!a.on) return out;
  return out + row("one call", time_text(a.on->time.seconds), time_text(b.on->time.seconds)) +
         row("waits", time_text(a.on->time.waits()), time_text(b.on->time.waits()));
}

Value explain(Interpreter& in, BoundArgs& a) {
  need_call(in, a, "explain");
  const std::optional<cost_model::Chip> chip = take_chip(in, a);
  const auto other = take_named(a, "against");
  if (other && !other->value.callable()) in.fail("type", other->span, "`against:` is a function of the same arguments");
  const auto advise = take_named(a, "advise");
  if (advise && !advise->value.is<bool>()) in.fail("type", advise->span, "`advise:` is true or false");
  const bool advised = advise && *advise->value.get<bool>();
  const Explained one = explained(in, a[0], a, chip);
  if (in.context().types_only()) return Value();
  const auto tell = [&](const Explained& e) {
    in.write(e.on ? explained_on(e.call, *e.on, *chip, in.sources()) : explained_call(e.call, in.sources()));
    if (advised) in.write(lang::advice_text(lang::advise(in, e.call)));
  };
  tell(one);
  if (!other) return Value();
  const Explained two = explained(in, other->value, a, chip);
  in.write("\n");
  tell(two);
  in.write(beside(one, two));
  return Value();
}

// What the forward part keeps for the backward one, and where.
std::string kept_text(const std::vector<cost_model::Residual>& kept, const grammar::SourceMap& sources) {
  if (kept.empty()) return "";
  constexpr std::size_t kLines = 8;
  std::int64_t here = 0, there = 0, rest = 0;
  std::vector<std::array<std::string, 4>> rows;
  std::array<std::size_t, 4> widths = {};
  for (const cost_model::Residual& k : kept) {
    (k.host ? there : here) += k.bytes();
    if (rows.size() == kLines) {
      rest += k.bytes();
      continue;
    }
    const int line = lang::source_line(sources, k.where);
    rows.push_back({k.name, (k.count > 1 ? std::to_string(k.count) + " x " : "") + runtime::to_string(k.type),
                    bytes_text(static_cast<double>(k.bytes())),
                    (line > 0 ? "line " + std::to_string(line) : "no line") + (k.host ? "  on the host" : "")});
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], rows.back()[i].size());
  }
  std::string out = "  keeps for the backward part  " + (here > 0 ? bytes_text(static_cast<double>(here)) : "");
  if (there > 0) out += (here > 0 ? ", " : "") + bytes_text(static_cast<double>(there)) + " in the host's memory";
  out += "\n";
  for (const auto& r : rows)
    out += "    " + (widths[0] > 0 ? left(r[0], widths[0] + 2) : "") + left(r[1], widths[1] + 2) +
           right(r[2], widths[2]) + "  " + r[3] + "\n";
  if (kept.size() > kLines)
    out += "    and " + std::to_string(kept.size() - kLines) + " more, " + bytes_text(static_cast<double>(rest)) + "\n";
  return out;
}

}  // namespace

std::string explained_call(const lang::CompiledCall& call, const grammar::SourceMap& sources,
                           const lang::Prices* prices) {
  const std::vector<bool> donated = cost_model::handed_over(call.given, call.plan->program());
  return lang::explained(call, sources, prices) +
         kept_text(cost_model::residuals_of(*call.plan, call.given, donated), sources);
}

// What the call says between devices with the price of each, what it takes on the chip, and the lines that make devices
// communication, those that are waited for most first.
std::string explained_on(const lang::CompiledCall& call, const cost_model::Estimate& e, const cost_model::Chip& chip,
                         const grammar::SourceMap& sources) {
  lang::Prices prices{{}, time_text};
  for (const exec::CommRecord& r : call.plan->comm())
    prices.seconds.push_back(cost_model::collective_seconds(chip, call.plan->program(), r));
  constexpr std::size_t kLines = 8;
  const cost_model::Profile& t = e.time;
  std::string out = explained_call(call, sources, &prices) + "  on " + chip.name + "  " + time_text(t.seconds) + ", " +
                    time_text(t.waits()) + " of it waiting; " + bytes_text(static_cast<double>(e.memory.peak)) +
                    " of " + bytes_text(chip.memory) + "\n";
  std::vector<cost_model::Line> lines = cost_model::lines_of(t, sources);
  std::erase_if(lines, [](const auto& l) { return l.cost.communication == 0 && l.cost.host == 0; });
  stable_sort(lines, [](const auto& a, const auto& b) { return a.cost.exposed > b.cost.exposed; });
  if (lines.size() > kLines) lines.resize(kLines);
  for (const auto& [at, number, cost] : lines)
    out += "    line " + std::to_string(number) + ": " +
           (cost.communication > 0 ? "collectives of " + time_text(cost.communication) + ", " : "") +
           (cost.host > 0 ? "to the host and back in " + time_text(cost.host) + ", " : "") + time_text(cost.exposed) +
           " waited for\n";
  return out;
}

void register_explaining(Interpreter& in) {
  in.define(
      {"explain", "explain(f, xs...)",
       "Prints what a call f(xs...) does: each line of the source that makes devices communicate, with its "
       "collectives, their axes and bytes, what a device sends of them in a ring, whether they were written or "
       "inserted, and "
       "why: which layouts met, of arguments their names, and who "
       "wanted another one; then what the call sends in all, what one device holds, how much is computed, and of a "
       "call that gives a value and gradients what it keeps for its backward part, with the bytes of one device, "
       "and what `remat` offloads; types may stand for arrays. `chip: \"h100\"` adds what it and each collective take "
       "there and which lines are waited for, `against: g` the same of g(xs...), side by side, `advise: true` "
       "constraints "
       "that would make it send less, as they are to be written. Nothing is run.",
       explain});
}

}  // namespace shard::stdlib
