#include "interpreter/lang/staging/why_text.h"

#include "grammar/characters.h"
#include "interpreter/ir/op.h"
#include "interpreter/lang/report/report.h"

namespace shard::lang {
namespace {

using Sources = grammar::SourceMap;

constexpr std::size_t kCode = 32;  // columns of an expression

std::string of_line(const Sources& sources, grammar::Span at, grammar::Span here) {
  const int line = source_line(sources, at);
  if (line == 0 || (at.source == here.source && line == source_line(sources, here))) return "";
  return " of line " + std::to_string(line) + (at.source == here.source ? "" : " of " + sources.at(at.source).name());
}

std::string told(const ir::Why::Value& v, const Sources& sources, grammar::Span here) {
  const std::string type = runtime::to_string(v.type);
  return type + (sources.has(v.made.source) ? of_line(sources, v.made, here) : " (given)");
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

std::string listed(const std::vector<ir::Why::Value>& values, const Sources& sources, grammar::Span here) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i)
    out += (i == 0 ? "" : i + 1 == values.size() ? " and " : ", ") + told(values[i], sources, here);
  return out;
}

std::string over(const ir::Why& why) {
  std::string out;
  const auto axes = (why.value.type.sharding.unreduced - why.wanted.sharding.unreduced).list();
  for (std::size_t i = 0; i < axes.size(); ++i) out += (i ? ", @" : "@") + why.value.type.mesh->axes[axes[i]].name;
  return out;
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

std::string why_text(const ir::Why& why, const ir::OpDef& op, const Sources& sources, grammar::Span here) {
  const std::string wanted = runtime::to_string(why.wanted);
  if (!why.terms.empty()) {
    const std::string code = code_at(sources, why.value.made, kCode);
    return (code.empty() ? "what is made" : "`" + code + "`") + of_line(sources, why.value.made, here) + " of " +
           listed(why.terms, sources, here) + " is a " + unreduced_of(op) + " over " + over(why) +
           (why.product ? "" : "; " + wisher(why, sources, here) + " wants it as " + wanted);
  }
  const std::string value = told(why.value, sources, here);
  if (why.beside.empty()) return value + ": " + wisher(why, sources, here) + " wants it as " + wanted;
  return value + " meets " + listed(why.beside, sources, here) + " in " + wisher(why, sources, here) +
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

}  // namespace shard::lang
