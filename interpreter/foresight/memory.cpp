// Bytes alive on one device: arguments, results (in the memory of arguments that are given away where one fits), and
// what instructions leave for later ones, to the last that reads it.
#include <algorithm>
#include <numeric>

#include "interpreter/foresight/estimate.h"

namespace shard::foresight {
namespace {

std::int64_t on_device(const exec::ArrayInfo& a) {
  return runtime::bytes_of(a.mesh ? runtime::local_shape(*a.mesh, a.type.shape, a.layout) : a.type.shape,
                           runtime::size_of(a.type.dtype));
}

struct Peak {
  std::int64_t bytes = 0;
  std::size_t at = 0;  // the work
  grammar::Span where;
};

bool counts(const Held& h, const ir::Vars& placed) {
  return std::find(placed.begin(), placed.end(), h.value) == placed.end();
}

// The most that lives at once of what the works make; `placed`: values that lie in memory which is there anyway.
Peak most(const Works& works, const ir::Vars& placed = {}, std::vector<std::int64_t>* curve = nullptr) {
  std::vector<std::int64_t> born(works.list.size(), 0), dead(works.list.size() + 1, 0);
  for (const Held& h : works.held) {
    if (!counts(h, placed)) continue;
    born[static_cast<std::size_t>(h.made)] += h.bytes;
    dead[static_cast<std::size_t>(h.last)] += h.bytes;
  }
  Peak out;
  std::int64_t live = 0;
  for (std::size_t w = 0; w < works.list.size(); ++w) {
    live += born[w];
    const Work& work = works.list[w];
    if (work.kind == Work::Kind::Stretch) {  // writes over what it is the last to read
      const std::int64_t over = std::min(born[w], dead[w]);
      live -= over;
      dead[w] -= over;
    }
    const Peak inside = work.body ? most(*work.body) : Peak{0, 0, work.node->span};
    if (curve) curve->push_back(live + inside.bytes);
    if (live + inside.bytes > out.bytes) out = {live + inside.bytes, w, inside.where};
    live -= dead[w];
  }
  return out;
}

void causes(const Works& works, const ir::Vars& placed, std::vector<Cause>& out) {
  const Peak p = most(works, placed);
  if (works.list.empty()) return;
  for (const Held& h : works.held) {
    if (!counts(h, placed) || h.bytes == 0 || h.made > static_cast<int>(p.at) || h.last < static_cast<int>(p.at))
      continue;
    const auto same = [&](const Cause& c) {
      return c.where.source == h.where.source && c.where.begin == h.where.begin;
    };
    const auto at = std::find_if(out.begin(), out.end(), same);
    (at == out.end() ? out.emplace_back(Cause{h.where, 0}) : *at).bytes += h.bytes;
  }
  if (const auto& body = works.list[p.at].body) causes(*body, {}, out);
}

}  // namespace

Memory memory_of(const transform::Program& program, const Works& works, std::span<const exec::ArrayInfo> arguments,
                 const std::vector<bool>& donated) {
  Memory out;
  std::vector<char> taken(arguments.size(), 0);
  for (const exec::ArrayInfo& a : arguments) out.arguments += on_device(a);
  ir::Vars placed;
  for (std::size_t r = 0; r < program.results.size(); ++r) {
    const std::int64_t bytes = on_device(program.results[r]);
    out.results += bytes;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!taken[i] && i < donated.size() && donated[i] && on_device(arguments[i]) == bytes) {
        taken[i] = 1;
        placed.push_back(works.ends[r]);
        break;
      }
  }
  const Peak p = most(works, placed, &out.curve);
  for (std::int64_t& b : out.curve) b += out.arguments;
  out.peak = out.arguments + p.bytes;
  out.where = p.where;
  causes(works, placed, out.causes);
  std::stable_sort(out.causes.begin(), out.causes.end(),
                   [](const Cause& a, const Cause& b) { return a.bytes > b.bytes; });
  return out;
}

std::vector<bool> handed_over(std::span<const exec::ArrayInfo> arguments, const transform::Program& program) {
  std::vector<bool> out;
  std::vector<char> taken(program.results.size(), 0);
  for (const exec::ArrayInfo& a : arguments) {
    bool like = false;
    for (std::size_t r = 0; r < taken.size() && !like; ++r)
      if (!taken[r] && program.results[r].type == a.type && program.results[r].layout == a.layout) {
        like = true;
        taken[r] = 1;
      }
    out.push_back(like);
  }
  return out;
}

Estimate estimate(const Chip& chip, const exec::Executable& plan, std::span<const exec::ArrayInfo> arguments,
                  const std::vector<bool>& donated) {
  const transform::Program& program = plan.program();
  const auto works = works_of(program.local);
  Estimate out;
  out.time = play(chip, *works, program.mesh.get());
  out.memory = memory_of(program, *works, arguments, donated);
  out.fits = static_cast<double>(out.memory.peak) <= chip.memory;
  return out;
}

}  // namespace shard::foresight
