#include "interpreter/xla/full_memory.h"

#include "grammar/characters.h"
#include "grammar/stable_sort.h"
#include "interpreter/transform/factor_layout.h"

namespace shard::xla {
namespace {

constexpr std::size_t kShown = 5, kCode = 40;

struct Held {
  std::int64_t bytes;
  std::string what;
};

std::string type_text(const exec::ArrayInfo& info) {
  runtime::Type t = info.type;
  t.mesh = info.mesh;
  t.sharding = info.layout;
  return runtime::to_string(t);
}

std::string made_by(const ir::Node& n, const grammar::SourceMap* sources) {
  const int line = sources ? sources->line_of(n.span) : 0;
  if (line == 0) return "made by " + std::string(n.op->name);
  std::string code(sources->text(n.span));
  code = code.substr(0, code.find('\n'));
  return (!n.op->comm && code.size() <= kCode ? "`" + code + "` of line " : std::string(n.op->name) + " in line ") +
         std::to_string(line);
}

}  // namespace

std::vector<std::string> largest_arrays(const exec::Executable& call, std::span<const exec::ArrayInfo> arguments,
                                        const grammar::SourceMap* sources) {
  const exec::Program& p = call.program();
  std::vector<Held> all;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    all.push_back({transform::bytes_of(p.local.type(p.local.params[i])),
                   "argument " + std::to_string(i + 1) + ", " + type_text(arguments[i])});
  for (std::size_t i = 0; i < p.results.size(); ++i)
    all.push_back({transform::bytes_of(p.local.type(p.local.results[i])), "a result, " + type_text(p.results[i])});
  for (const exec::Piece& piece : call.memory().most.pieces)
    if (piece.maker) all.push_back({piece.bytes, made_by(*piece.maker, sources)});
  stable_sort(all, [](const Held& a, const Held& b) { return a.bytes > b.bytes; });
  if (all.size() > kShown) all.resize(kShown);
  const std::string list =
      grammar::separated(all, "; ", [](const Held& h) { return std::to_string(h.bytes) + " bytes of " + h.what; });
  return {
      "the largest arrays of this call, on each device: " + list,
      "smaller batches, `remat`, or a layout over more devices take less; `shard explain` shows the call's memory by "
      "line"};
}

}  // namespace shard::xla
