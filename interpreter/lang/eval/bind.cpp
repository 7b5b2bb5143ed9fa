#include "interpreter/lang/eval/bind.h"

#include "interpreter/lang/names/aliases.h"
#include "interpreter/lang/values/value_text.h"

namespace shard::lang {

using grammar::Error;
using grammar::Span;

namespace {

std::string counted(std::size_t n) { return std::to_string(n) + (n == 1 ? " argument" : " arguments"); }

// "`f` takes 1 to 3 arguments, and 4 were given"
std::string takes(const Parameters& p, std::size_t given) {
  std::size_t least = 0;
  for (std::size_t i = 0; i < p.size(); ++i) least += p.required(i);
  const std::size_t most = p.size();
  std::string n;
  if (p.open() || p.rest() >= 0)
    n = "at least " + counted(least);
  else if (most == 0)
    n = "no arguments";
  else if (least == most)
    n = counted(most);
  else if (least == 0)
    n = "at most " + counted(most);
  else
    n = std::to_string(least) + " to " + counted(most);
  return p.callee() + " takes " + n + ", and " + std::to_string(given) + (given == 1 ? " was" : " were") + " given";
}

[[noreturn]] void unknown_name(const Parameters& p, const CallArg& a, Span span) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < p.size(); ++i) names.emplace_back(p.name(i));
  grammar::Diagnostic d{"call", span, p.callee() + " has no parameter `" + a.name + "`", {p.signature()}, {}, {}};
  if (auto near = parameter_near(a.name, names)) {
    d.notes.push_back("did you mean `" + *near + ":`?");
    if (a.name_span.known()) d.fixes.push_back({"it is called `" + *near + "` here", a.name_span, *near});
  }
  if (auto way = parameter_way(a.name); !way.empty()) d.notes.emplace_back(way);
  throw Error(std::move(d));
}

// What was not given and has no default.
void check_complete(const Parameters& p, const Bound& bound, std::size_t given, Span call) {
  std::string missing;
  std::size_t n = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (bound.argument[i] >= 0 || !p.required(i)) continue;
    const std::string name =
        p.name(i).empty() ? "argument " + std::to_string(i + 1) : "`" + std::string(p.name(i)) + "`";
    missing += (n++ ? ", " : "") + name;
  }
  if (n)
    throw Error("call", call, takes(p, given) + ": " + missing + (n == 1 ? " is" : " are") + " missing",
                {p.signature()});
}

}  // namespace

Bound bind_arguments(const Parameters& p, std::span<const CallArg> args, Span call) {
  const std::size_t n = p.size();
  Bound out;
  out.argument.assign(n, -1);
  std::size_t next = 0;
  for (std::size_t k = 0; k < args.size(); ++k) {
    const CallArg& a = args[k];
    const Span span = a.name_span.known() ? a.name_span : a.span.known() ? a.span : call;
    std::size_t i = next;
    if (!a.name.empty()) {
      i = 0;
      while (i < n && p.name(i) != a.name) ++i;
      if (i == n && !p.open()) unknown_name(p, a, span);
    } else if (static_cast<int>(i) == p.rest()) {
      out.further.push_back(static_cast<std::int32_t>(k));
      continue;
    } else {
      ++next;
      if (i >= n && !p.open()) throw Error("call", call, takes(p, args.size()), {p.signature()});
    }
    if (i >= n) {
      out.further.push_back(static_cast<std::int32_t>(k));
      continue;
    }
    const bool taken = out.argument[i] >= 0 || (static_cast<int>(i) == p.rest() && !out.further.empty());
    if (taken)
      throw Error("call", span, "the argument `" + std::string(p.name(i)) + "` of " + p.callee() + " is given twice",
                  {p.signature()});
    out.argument[i] = static_cast<std::int32_t>(k);
  }
  check_complete(p, out, args.size(), call);
  return out;
}

std::string ClosureParameters::signature() const { return header(f_); }

}  // namespace shard::lang
