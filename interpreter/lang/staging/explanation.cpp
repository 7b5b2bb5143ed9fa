#include "interpreter/lang/staging/explanation.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "grammar/characters.h"
#include "interpreter/ir/op.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/value_text.h"
#include "runtime/mesh/part.h"

namespace shard::lang {
namespace {

using exec::CommRecord;
using Sources = grammar::SourceMap;
using Names = std::vector<std::string>;

// ---- why the partitioner inserted a collective

constexpr std::size_t kCode = 100;  // columns of an expression: what stands on one line is whole

std::string of_line(const Sources& sources, grammar::Span at, grammar::Span here) {
  const int line = source_line(sources, at);
  if (line == 0 || (at.source == here.source && line == source_line(sources, here))) return "";
  return " of line " + std::to_string(line) + (at.source == here.source ? "" : " of " + sources.at(at.source).name());
}

std::string told(const ir::Why::Value& v, const Names& names, const Sources& sources, grammar::Span here) {
  const std::string type = runtime::to_string(v.type);
  if (sources.has(v.made.source)) return type + of_line(sources, v.made, here);
  const auto i = static_cast<std::size_t>(v.argument);
  return type + (v.argument >= 0 && i < names.size() && !names[i].empty() ? " (`" + names[i] + "`)" : " (given)");
}

std::string wisher(const ir::Why& why, const Sources& sources, grammar::Span here) {
  if (!why.by) return "the result";
  const std::string code = code_at(sources, why.where, kCode);
  return "`" + (code.empty() ? std::string(why.by->name) : code) + "`" + of_line(sources, why.where, here);
}

// What is unreduced that this collective finishes.
std::string unreduced_of(const ir::OpDef& op) {
  switch (op.comm && op.comm->combine ? *op.comm->combine : runtime::Reduce::Sum) {
    case runtime::Reduce::Max: return "maximum";
    case runtime::Reduce::Min: return "minimum";
    case runtime::Reduce::Prod: return "product";
    default: return "sum";
  }
}

std::string listed(const std::vector<ir::Why::Value>& values, const Names& names, const Sources& sources,
                   grammar::Span here) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i)
    out += (i == 0 ? "" : i + 1 == values.size() ? " and " : ", ") + told(values[i], names, sources, here);
  return out;
}

std::string over(const ir::Why& why) {
  const auto axes = (why.value.type.sharding.unreduced - why.wanted.sharding.unreduced).list();
  return grammar::separated(runtime::names_of(*why.value.type.mesh, axes), ", ", [](auto& a) { return "@" + a; });
}

Value types_of(const std::vector<ir::Why::Value>& values) {
  std::vector<Value> out;
  for (const auto& v : values) out.push_back(Value::string(runtime::to_string(v.type)));
  return Value::list(std::move(out));
}

}  // namespace

std::string code_at(const Sources& sources, grammar::Span span, std::size_t width) {
  if (!sources.has(span.source)) return "";
  std::string text(sources.at(span.source).text().substr(span.begin, span.end - span.begin));
  const bool more = text.find('\n') != std::string::npos || text.size() > width;
  text.resize(grammar::whole_characters(text, std::min(text.find('\n'), more ? width - 3 : width)).size());
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return more ? text + "..." : text;
}

std::string why_text(const ir::Why& why, const ir::OpDef& op, const Names& names, const Sources& sources,
                     grammar::Span here) {
  const std::string wanted = runtime::to_string(why.wanted);
  if (!why.terms.empty()) {
    const std::string code = code_at(sources, why.value.made, kCode);
    return (code.empty() ? "what is made" : "`" + code + "`") + of_line(sources, why.value.made, here) + " of " +
           listed(why.terms, names, sources, here) + " is a " + unreduced_of(op) + " over " + over(why) +
           (why.product ? "" : "; " + wisher(why, sources, here) + " wants it as " + wanted);
  }
  const std::string value = told(why.value, names, sources, here);
  if (why.beside.empty()) return value + ": " + wisher(why, sources, here) + " wants it as " + wanted;
  return value + " meets " + listed(why.beside, names, sources, here) + " in " + wisher(why, sources, here) +
         ", which wants it as " + wanted;
}

Value why_record(const ir::Why& why, const Sources& sources) {
  const std::string code = code_at(sources, why.where, kCode);
  return Value::record({{"value", Value::string(runtime::to_string(why.value.type))},
                        {"wanted", Value::string(runtime::to_string(why.wanted))},
                        {"made", Value(std::int64_t{source_line(sources, why.value.made)})},
                        {"line", Value(std::int64_t{source_line(sources, why.where)})},
                        {"by", why.by ? Value::string(code.empty() ? std::string(why.by->name) : code) : Value()},
                        {"beside", types_of(why.beside)},
                        {"terms", types_of(why.terms)}});
}

// ---- what a call does

namespace {

constexpr std::size_t kWidth = 80;

std::string bytes(std::int64_t n) { return in_thousands(n) + (n == 1 ? " byte" : " bytes"); }

std::string padded(std::string s, std::size_t width, bool right = false) {
  if (s.size() >= width) return s;
  return right ? std::string(width - s.size(), ' ') + s : s + std::string(width - s.size(), ' ');
}

std::string cut(std::string s, std::size_t width = kWidth) {  // not within a character
  std::size_t columns = 0, at = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (grammar::continues(s[i])) continue;
    if (++columns == width - 2) at = i;
  }
  return columns <= width ? s : s.substr(0, at) + "...";
}

// Whether devices of several processes take part.
bool crosses(const CommRecord& r, const runtime::MeshRef& mesh) {
  if (!mesh || !mesh->part) return false;
  const std::vector<runtime::AxisId> axes = runtime::axes_of(*mesh, r.axes);
  return std::any_of(axes.begin(), axes.end(), [&](runtime::AxisId a) { return mesh->part->apart.has(a); });
}

struct Entry {
  std::string kind, axes;
  bool written, crosses;
  std::int64_t count, bytes, sent;
  ir::Origin from = {};  // the part of the model, and which way
  double seconds = 0;
  std::vector<std::string> why = {};  // sentences, each once
  bool is_like(const Entry& e) const {
    return axes == e.axes && written == e.written && from.part == e.from.part && from.backward == e.from.backward;
  }
};

void add(std::vector<Entry>& to, Entry e, bool with_place) {
  for (Entry& known : to)
    if (known.kind == e.kind && (!with_place || known.is_like(e))) {
      known.count += e.count;
      known.bytes += e.bytes;
      known.sent += e.sent;
      known.seconds += e.seconds;
      for (std::string& s : e.why)
        if (std::find(known.why.begin(), known.why.end(), s) == known.why.end()) known.why.push_back(std::move(s));
      return;
    }
  to.push_back(std::move(e));
}

struct SourceLine {
  std::uint32_t source;
  int line;
  auto operator<=>(const SourceLine&) const = default;
};

// Words on as many lines as they need, under an entry.
std::string under(const std::string& words) {
  const std::string indent = "     |     ";
  std::string out, line = indent;
  for (std::size_t from = 0; from < words.size();) {
    const std::size_t to = std::min(words.find(' ', from), words.size());
    const std::string word = words.substr(from, to - from);
    if (line.size() > indent.size() && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line = indent + "  ";
    } else if (line.size() > indent.size()) {
      line += " ";
    }
    line += word;
    from = to + 1;
  }
  return out + line + "\n";
}

std::string reasons(const Entry& e) {
  constexpr std::size_t kReasons = 3;
  std::string out;
  for (std::size_t i = 0; i < std::min(kReasons, e.why.size()); ++i) out += under(e.why[i]);
  if (e.why.size() > kReasons) out += under("and " + std::to_string(e.why.size() - kReasons) + " more like these");
  return out;
}

// Lines of the function's own file first, then those of others in order of reading.
std::string lines(const CompiledCall& call, const grammar::SourceMap& sources, const Prices* prices) {
  std::map<SourceLine, std::vector<Entry>> places;
  const auto& all = call.plan->comm();
  const bool differentiated = std::any_of(all.begin(), all.end(), [](const CommRecord& r) { return r.span.backward; });
  std::size_t kinds = 0, axes = 0, amounts = 0, times = 0, sends = 0;
  for (std::size_t i = 0; i < call.plan->comm().size(); ++i) {
    const CommRecord& r = call.plan->comm()[i];
    const bool known = sources.has(r.span.source);
    const SourceLine at =
        known ? SourceLine{r.span.source, sources.at(r.span.source).position(r.span.begin).line} : SourceLine{0, 0};
    add(places[at],
        {r.kind, show(Axis{r.axes}), r.written, crosses(r, call.plan->program().mesh), r.count, r.bytes, r.sent, r.span,
         prices ? prices->seconds[i] : 0.0,
         r.why ? std::vector{why_text(*r.why, *r.op, call.names, sources, r.span)} : std::vector<std::string>{}},
        true);
  }
  const auto times_of = [](const Entry& e) { return e.count == 1 ? std::string() : in_thousands(e.count) + " times"; };
  for (const auto& [place, entries] : places)
    for (const Entry& e : entries) {
      kinds = std::max(kinds, e.kind.size());
      axes = std::max(axes, e.axes.size());
      times = std::max(times, times_of(e).size());
      amounts = std::max(amounts, bytes(e.bytes).size());
      sends = std::max(sends, in_thousands(e.sent).size());
    }
  std::vector<SourceLine> order;
  for (const auto& [place, entries] : places) order.push_back(place);
  std::stable_partition(order.begin(), order.end(), [&](const SourceLine& p) { return p.source == call.where.source; });
  std::string out;
  std::uint32_t file = call.where.source;
  for (const SourceLine& place : order) {
    if (place.source != file && place.source) out += "in " + cut(sources.at(place.source).name(), kWidth - 4) + ":\n";
    file = place.source;
    if (place.source) {
      std::string text(sources.at(place.source).line(place.line));
      text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
      out += cut(padded(std::to_string(place.line), 4, true) + " | " + text) + "\n";
    } else {
      out += "     | (no line of a file)\n";
    }
    for (const Entry& e : places[place]) {
      std::string row = "     |   " + padded(e.kind, kinds) + "  " + padded(e.axes, axes);
      if (times) row += "  " + padded(times_of(e), times, true);
      row += "  " + padded(bytes(e.bytes), amounts, true) + "  sends " + padded(in_thousands(e.sent), sends, true) +
             (e.written ? "  written" : "  inserted") + (prices ? "  " + prices->words(e.seconds) : "") +
             (e.crosses ? ", across processes" : "");
      std::string from = e.from.backward ? "backward" : differentiated ? "forward" : "";
      if (e.from.part) from += (from.empty() ? "" : ", ") + *e.from.part;
      const bool beside = row.size() + 2 + from.size() <= kWidth;
      out += row + (beside && !from.empty() ? ", " + from : "") + "\n" + (beside ? "" : under(from));
      out += reasons(e);
    }
  }
  return out;
}

// The parts of a list, as many on a line as fit, those behind the first under it.
std::string wrapped(const std::string& head, const std::vector<std::string>& parts, const std::string& tail) {
  std::string out, line = head;
  const std::string indent(std::min<std::size_t>(head.size(), 8), ' ');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string part = parts[i] + (i + 1 < parts.size() ? "," : tail);
    if (i && line.size() + 1 + part.size() > kWidth) {
      out += line + "\n";
      line = indent;
    } else if (i) {
      line += " ";
    }
    line += cut(std::move(part), kWidth - std::min(line.size(), kWidth / 2));
  }
  return out + line + (parts.empty() ? tail : "") + "\n";
}

std::string heading(const CompiledCall& call, const grammar::SourceMap& sources) {
  std::string out = wrapped(call.name + "(", call.arguments, ")");
  std::string where;
  if (sources.has(call.where.source)) {
    const grammar::Source& source = sources.at(call.where.source);
    where = "at " + source.name() + ":" + std::to_string(source.position(call.where.begin).line);
  }
  if (call.mesh)
    where += (where.empty() ? "" : ", ") + std::string("on ") + in_thousands(call.mesh->size()) +
             (call.mesh->size() == 1 ? " device " : " devices ") + runtime::to_string(*call.mesh);
  return where.empty() ? out : out + "  " + where + "\n";
}

}  // namespace

std::vector<std::string> communication(const CompiledCall& call) {
  std::vector<Entry> sums;
  for (const CommRecord& r : call.plan->comm()) add(sums, {r.kind, "", false, false, r.count, r.bytes, r.sent}, false);
  std::vector<std::string> parts;
  for (const Entry& e : sums) parts.push_back(in_thousands(e.count) + " " + e.kind + " of " + bytes(e.bytes));
  return parts;
}

std::string two_places(double x) {
  const auto hundredths = std::llround(x * 100);
  return std::to_string(hundredths / 100) + "." + std::to_string(hundredths % 100 / 10) +
         std::to_string(hundredths % 10);
}

std::string explained(const CompiledCall& call, const grammar::SourceMap& sources, const Prices* prices) {
  std::string out = heading(call, sources) + lines(call, sources, prices);
  const std::vector<std::string> parts = communication(call);
  out += parts.empty() ? "  communicates  nothing\n" : wrapped("  communicates  ", parts, "");
  std::int64_t sent = 0;
  for (const CommRecord& r : call.plan->comm()) sent += r.sent;
  if (!parts.empty()) out += "  a device sends  " + bytes(sent) + " in rings\n";
  const exec::MemoryUse& m = call.plan->memory();
  out += wrapped("  a device holds  ",
                 {bytes(m.arguments) + " of arguments", in_thousands(m.results) + " of results",
                  in_thousands(m.temporaries) + " of temporaries"},
                 "");
  const std::int64_t devices = call.mesh ? call.mesh->size() : 1;
  out += "  computes  " + in_thousands(call.plan->flops()) + " floating point operations";
  out += devices > 1 ? " on all devices together\n" : "\n";
  constexpr double kMore = 1.1;  // weights that all devices update cost so little
  const exec::Program& p = call.plan->program();
  if (p.ideal > 0 && p.flops >= kMore * p.ideal)
    out += "    " + two_places(p.flops / p.ideal) + " times the " + in_thousands(static_cast<std::int64_t>(p.ideal)) +
           " of one device: the rest is computed on more than one\n";
  return out;
}

}  // namespace shard::lang
