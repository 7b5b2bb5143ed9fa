#include "interpreter/cost_model/clock.h"

#include <algorithm>
#include <cmath>

#include "interpreter/ir/op.h"
#include "interpreter/transform/distinct.h"

namespace shard::cost_model {
namespace {

constexpr std::uint32_t kToHost = 1u << 29, kFromHost = 1u << 30;  // streams; those below are axes
constexpr std::int64_t kPlayed = 3;  // turns of a loop: the last one stands for all that follow

struct Priced {
  double seconds = 0;
  double first = 0;          // of a collective's seconds: until the first bytes arrive
  std::uint32_t stream = 0;  // 0: computes; else the axes of a collective, or a way between device and host
  bool far = false;          // ... between domains
  bool talks() const { return stream != 0 && stream < kToHost; }
  std::shared_ptr<const Profile> inside = {};
};

struct Done {
  double start = -1, end = -1;
};

constexpr double kHalfTile = 0.9;  // of its rate a unit keeps with tiles of half the size: they are read more often
constexpr double kShortest = 512;  // terms of a sum that are worth a unit of their own

// Tiles of this size over the units, in waves; sums of many terms are split among units that would idle, and the parts,
// in f32, written and added.
double tiled(const Chip& chip, const Product& p, double rows, double columns) {
  const double tiles = p.batch * std::min(std::ceil(p.m / rows) * std::ceil(p.n / columns),
                                          std::ceil(p.n / rows) * std::ceil(p.m / columns));
  const double rate = chip.rate_of(p.dtype).flops, fill = chip.fill * rate / chip.fastest();
  double best = 0;
  for (double parts = 1; parts == 1 || (parts <= 32 && p.k / parts >= kShortest && chip.units > 1); parts *= 2) {
    const double waves = tiles * parts / chip.units;
    const double whole = std::ceil(waves) * chip.waves + std::max(waves, 1.0) * (1 - chip.waves);
    const double one = 2 * rows * columns * chip.units * (p.k / parts + fill);  // a wave
    const double adding = parts > 1 ? 8 * parts * p.batch * p.m * p.n / (chip.bandwidth * chip.memory_share) : 0;
    const double seconds = whole * one / (rate * chip.product_share) + adding;
    if (parts == 1 || seconds < best) best = seconds;
  }
  return best;
}

// An accelerator moves the next tiles while it computes; a processor that simulates devices computes what it has read.
double together(const Chip& chip, double memory, double busy) {
  return chip.simulated > 0 ? memory + busy : std::max(memory, busy);
}

double memory_seconds(const Chip& chip, double bytes, bool near) {
  return bytes / (near ? chip.cache_bandwidth : chip.bandwidth * chip.memory_share);
}

// Bytes that stream through the memory beside the units, where it holds blocks of so many rows and columns of the
// result: an operand is read once for each block of the other one.
double streamed(const Chip& chip, const Product& p) {
  return p.batch * static_cast<double>(runtime::size_of(p.dtype)) * p.m * p.n * p.k *
         (1 / std::min(p.m, chip.block) + 1 / std::min(p.n, chip.block));
}

double product_seconds(const Chip& chip, const Product& p, double bytes, bool near) {
  const double memory = memory_seconds(chip, bytes, near);
  if (chip.points > 0 && std::min(p.m, p.n) == 1)  // with a vector: one addition an element, and no tiles
    return chip.launch + together(chip, memory, p.batch * p.m * p.n * p.k / chip.points);
  double best = tiled(chip, p, chip.tile_rows, chip.tile_columns);
  if (chip.units > 1) best = std::min(best, tiled(chip, p, chip.tile_rows, chip.tile_columns / 2) / kHalfTile);
  if (chip.block > 0) best = std::hypot(best, streamed(chip, p) / chip.bandwidth);
  return chip.launch + together(chip, memory, best);
}

class Player {
 public:
  Player(const Chip& chip, const Instructions& instructions, const runtime::Mesh* mesh, std::int64_t turns)
      : chip_(chip), instructions_(instructions), mesh_(mesh), turns_(std::min(turns, kPlayed)), all_(turns) {
    double bytes = 0;
    for (const Instruction& w : instructions.list) bytes += w.bytes;
    near_ = bytes <= chip.cache;
    for (const Instruction& w : instructions.list) priced_.push_back(price(w));
    weave();
  }

  Profile run() {
    const std::size_t n = instructions_.list.size();
    done_.assign(static_cast<std::size_t>(turns_) * n, {});
    for (std::size_t i = 0; i < done_.size(); ++i)
      if (priced_[i % n].stream) open_.push_back(i);
    while (step()) {}
    return profile();
  }

 private:
  Priced price(const Instruction& w) const {
    Priced p;
    switch (w.kind) {
      case Instruction::Kind::Product: p.seconds = product_seconds(chip_, w.products[0], w.bytes, near_); break;
      case Instruction::Kind::Stretch:
        if (w.bytes > 0)
          p.seconds = chip_.launch + together(chip_, memory_seconds(chip_, w.bytes, near_), points_seconds(w));
        break;
      case Instruction::Kind::Kernel: {
        if (chip_.kernels == 0 && w.body) {
          loop(w, p);
          break;
        }
        double busy = 0;
        for (const Product& x : w.products) busy += x.flops() / (chip_.rate_of(x.dtype).flops * chip_.kernel_share);
        p.seconds = chip_.launch + together(chip_, memory_seconds(chip_, w.bytes, near_), busy);
        break;
      }
      case Instruction::Kind::Collective: {
        if (!mesh_) break;
        if (chip_.simulated > 0) {  // what is split or joined is the same memory, seen otherwise or copied
          p.seconds = chip_.launch;
          if (w.node->op->comm->combine || w.node->op->comm->pairs)
            p.seconds = std::max(chip_.launch, chip_.dispatch) + memory_seconds(chip_, w.bytes, near_) * w.share;
          break;
        }
        const std::vector<runtime::AxisId> axes = transform::axes_of(*w.node, *mesh_, true);
        for (runtime::AxisId a : axes) p.stream |= 1u << a;
        if (!p.stream) break;
        const Group group = group_of(chip_, *mesh_, axes);
        p.far = group.devices > group.together;
        const double share = chip_.sums_once > 0 ? w.share_once : w.share;
        p.seconds = collective_seconds(chip_, group, *w.node->op->comm, w.bytes) * share;
        p.first = collective_seconds(chip_, group, *w.node->op->comm, 0) * share;
        break;
      }
      case Instruction::Kind::ToHost:
      case Instruction::Kind::FromHost:
        p.stream = w.kind == Instruction::Kind::ToHost ? kToHost : kFromHost;
        if (chip_.host > 0) p.seconds = w.bytes / chip_.host;
        break;
      case Instruction::Kind::Loop:
        if (w.body) loop(w, p);
        break;
    }
    if (w.copied > 0 && chip_.copying > 0) p.seconds += w.copied / chip_.copying;
    if (w.given > 0 && chip_.simulated > 1)
      p.seconds +=
          channel_seconds(chip_, *mesh_, transform::axes_of(*w.node, *mesh_, true), *w.node->op->comm, w.given) *
          w.share;
    return p;
  }

  void loop(const Instruction& w, Priced& p) const {
    p.inside = std::make_shared<const Profile>(play(chip_, *w.body, mesh_, w.turns));
    p.seconds = p.inside->seconds;
  }
  double points_seconds(const Instruction& w) const { return chip_.points > 0 ? w.points / chip_.points : 0; }

  // A gather that a product waits for, and a sum of what one gives, run in parts beside the parts of that product.
  void weave() {
    std::vector<double> beside(instructions_.list.size(), 0);
    const auto product = [&](std::size_t i) { return instructions_.list[i].kind == Instruction::Kind::Product; };
    const auto near = [&](std::size_t i) {
      return priced_[i].talks() && !priced_[i].far && !instructions_.list[i].early;
    };
    for (std::size_t i = 0; i < instructions_.list.size(); ++i)
      for (int a : instructions_.list[i].after) {
        if (a < 0) continue;
        const auto before = static_cast<std::size_t>(a);
        if (product(i) && near(before)) beside[before] += priced_[i].seconds;
        if (product(before) && near(i)) beside[i] += priced_[before].seconds;
      }
    for (std::size_t i = 0; i < beside.size(); ++i)
      if (beside[i] > 0) priced_[i].seconds -= chip_.woven * std::min(beside[i], priced_[i].seconds);
  }

  // When it may begin; nothing while that is not known. `waits`: the collective that it waits for last.
  std::optional<double> ready(std::size_t i, std::optional<std::size_t>* waits = nullptr) const {
    const std::size_t n = instructions_.list.size(), turn = i / n;
    const Instruction& w = instructions_.list[i % n];
    const bool ahead = all_ > 1 && w.early && priced_[i % n].stream;
    double from = 0;
    if (ahead) return turn == 0 ? std::optional<double>(0) : begun(turn - 1);
    const auto after = [&](std::size_t j) {
      if (done_[j].end < 0) return false;
      const Instruction& before = instructions_.list[j % n];
      if (chip_.sums_once > 0 && before.share_once < before.share) return true;  // it is sent behind the last turn
      if (done_[j].end > from) {
        from = done_[j].end;
        if (waits) *waits = priced_[j % n].stream ? std::optional(j) : std::nullopt;
      }
      return true;
    };
    if (w.beside >= 0) {
      const double start = done_[turn * n + static_cast<std::size_t>(w.beside)].start;
      if (start < 0) return std::nullopt;
      from = start;
    }
    for (int a : w.after) {
      if (a >= 0) {
        if (!after(turn * n + static_cast<std::size_t>(a))) return std::nullopt;
        continue;
      }
      if (turn == 0) continue;
      for (const Instructions::Carried& c : instructions_.carried)
        if (static_cast<int>(c.param) == -1 - a)
          if (const int maker = instructions_.given[c.result]; maker >= 0)
            if (!after((turn - 1) * n + static_cast<std::size_t>(maker))) return std::nullopt;
    }
    return from;
  }

  std::optional<double> begun(std::size_t turn) const {  // the first that a turn computes
    const std::size_t n = instructions_.list.size();
    for (std::size_t i = 0; i < n; ++i)
      if (!priced_[i].stream) {
        const double start = done_[turn * n + i].start;
        return start < 0 ? std::nullopt : std::optional(start);
      }
    return 0;
  }

  // The next thing that happens anywhere.
  bool step() {
    const std::size_t n = instructions_.list.size();
    while (next_ < done_.size() && priced_[next_ % n].stream) ++next_;
    std::size_t best = done_.size();
    double when = 0, since = 0;
    std::optional<std::size_t> cause;
    if (next_ < done_.size()) {
      std::optional<std::size_t> waits;
      if (const auto from = ready(next_, &waits)) {
        best = next_;
        when = std::max(*from, free_[0]);
        since = *from;
        if (*from > free_[0]) cause = waits;
      }
    }
    for (std::size_t i : open_) {
      const auto from = ready(i);
      if (!from) continue;
      const auto at = free_.find(priced_[i % n].stream);
      const double start = std::max(*from, at == free_.end() ? 0 : at->second);
      if (best == done_.size() || start < when || (start == when && i < best && best != next_))
        best = i, when = start, since = *from;
    }
    if (best == done_.size()) return false;
    const Priced& p = priced_[best % n];
    double seconds = p.seconds;
    if (p.talks()) {  // what was there when the one before it began went with that
      const auto op = instructions_.list[best % n].node->op;
      auto [at, first] = sent_.try_emplace({p.stream, op}, when);
      if (!first && since <= at->second && when > at->second)
        seconds = std::max(0.0, seconds - p.first);
      else
        at->second = when;
    }
    done_[best] = {when, when + seconds};
    if (!p.stream) {
      if (cause) waited_.emplace_back(best, *cause, when - free_[0]);
      ++next_;
    } else {
      std::erase(open_, best);
    }
    free_[p.stream] = when + seconds;
    return true;
  }

  double lasted(std::size_t i) const { return done_[i].end - done_[i].start; }
  double end_of(std::size_t turns) const {
    double end = 0;
    for (std::size_t i = 0; i < turns * instructions_.list.size(); ++i) end = std::max(end, done_[i].end);
    return end;
  }
  // When the next turn may begin to compute: what computes is done; collectives may go on.
  double next_from(std::size_t turn) const {
    double end = 0;
    const std::size_t n = instructions_.list.size();
    for (std::size_t i = turn * n; i < (turn + 1) * n; ++i)
      if (!priced_[i % n].stream) end = std::max(end, done_[i].end);
    return end;
  }

  Profile profile() const {
    Profile out;
    const std::size_t n = instructions_.list.size(), last = static_cast<std::size_t>(turns_);
    out.seconds = end_of(last);
    const double rest = static_cast<double>(all_ - turns_), all = static_cast<double>(all_);
    double more = 0;
    if (rest > 0) {
      more = std::max(end_of(last) - end_of(last - 1), next_from(last - 1) - next_from(last - 2));
      out.seconds += rest * more;
    }
    double communication = 0, far = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Instruction& w = instructions_.list[i];
      LineCost& line = out.lines[w.node->span];
      if (priced_[i].stream >= kToHost) {
        line.host += priced_[i].seconds * all;
      } else if (priced_[i].stream) {
        double said = rest * lasted((last - 1) * n + i);
        for (std::size_t turn = 0; turn < last; ++turn) said += lasted(turn * n + i);
        line.communication += said;
        communication += said;
        if (priced_[i].far) far += said;
      } else if (const Profile* inside = priced_[i].inside.get()) {
        out.compute += inside->compute * all;
        out.flops += inside->flops * all;
        out.again += inside->again * all;
        for (const auto& [type, flops] : inside->products) out.products[type] += flops * all;
        out.bubble += inside->bubble * all;
        if (inside->bubble_at) out.bubble_at = inside->bubble_at;
        for (const auto& [span, cost] : inside->lines) out.lines[span].add(cost, all);
      } else {
        out.compute += priced_[i].seconds * all;
        line.compute += priced_[i].seconds * all;
        line.parts[w.node->span.part].compute += priced_[i].seconds * all;
        line.bytes += w.bytes * all;
        for (const Product& p : w.products) {
          (p.again ? out.again : out.flops) += p.flops() * all;
          if (!p.again) out.products[p.dtype] += p.flops() * all;
          line.flops += p.flops() * all;
        }
      }
    }
    const double hidden = std::max(0.0, communication - std::max(0.0, out.seconds - out.compute));
    const double theft =
        communication > 0 ? chip_.theft + (chip_.network_theft - chip_.theft) * far / communication : 0;
    const double lost = theft * std::min(hidden, out.compute);
    out.compute += lost;
    out.seconds += lost;
    for (const auto& [who, whom, seconds] : waited_) {
      const ir::Origin& at = instructions_.list[whom % n].node->span;
      const double waited = seconds * (who / n + 1 == last ? 1 + rest : 1);
      LineCost& line = out.lines[at];
      line.exposed += waited;
      line.parts[at.part].exposed += waited;
    }
    bubble(out);
    events(out);
    return out;
  }

  // A loop that hands on what a neighbour made, and is longer than the ring of devices, is a pipeline: in as many turns
  // as there are others a device works on nothing.
  void bubble(Profile& out) const {
    double share = 0;
    for (const Instructions::Carried& c : instructions_.carried) {
      const int maker = instructions_.given[c.result];
      if (!mesh_ || maker < 0) continue;
      const Instruction& w = instructions_.list[static_cast<std::size_t>(maker)];
      if (w.kind != Instruction::Kind::Collective || !w.node->op->comm->pairs) continue;
      std::int64_t ring = 1;
      for (const runtime::AxisId a : transform::axes_of(*w.node, *mesh_, true)) ring *= mesh_->size_of(a);
      const double idle = ring < all_ ? static_cast<double>(ring - 1) / static_cast<double>(all_) : 0;
      if (idle > share) share = idle, out.bubble_at = w.node;
    }
    out.bubble += share * out.seconds;
  }

  void events(Profile& out) const {
    const std::size_t n = instructions_.list.size();
    for (std::size_t i = 0; i < done_.size(); ++i) {
      const Priced& p = priced_[i % n];
      const Instruction& w = instructions_.list[i % n];
      if (done_[i].end <= done_[i].start) continue;
      out.events.push_back({done_[i].start, lasted(i), static_cast<int>(p.stream), w.node, p.inside ? w.turns : 1});
      if (!p.inside) continue;
      for (Event e : p.inside->events) {
        e.start += done_[i].start;
        out.events.push_back(e);
      }
    }
  }

  const Chip& chip_;
  const Instructions& instructions_;
  const runtime::Mesh* mesh_;
  std::int64_t turns_, all_;
  bool near_ = false;  // all that it reads and writes stays in a cache
  std::vector<Priced> priced_;
  std::vector<Done> done_;         // by turn and instruction
  std::vector<std::size_t> open_;  // collectives that have not begun
  std::size_t next_ = 0;           // the next that computes
  std::map<std::uint32_t, double> free_;
  std::map<std::pair<std::uint32_t, const ir::OpDef*>, double> sent_;  // when those of a kind last began anew
  struct Waited {
    std::size_t who, whom;
    double seconds;
  };
  std::vector<Waited> waited_;
};

}  // namespace

void LineCost::add(const LineCost& more, double times) {
  for (double LineCost::*part : {&LineCost::compute, &LineCost::exposed, &LineCost::communication, &LineCost::host,
                                 &LineCost::flops, &LineCost::bytes})
    this->*part += more.*part * times;
  for (const auto& [name, part] : more.parts) {
    parts[name].compute += part.compute * times;
    parts[name].exposed += part.exposed * times;
  }
}

Profile play(const Chip& chip, const Instructions& instructions, const runtime::Mesh* mesh, std::int64_t turns) {
  return Player(chip, instructions, mesh, std::max<std::int64_t>(turns, 1)).run();
}

}  // namespace shard::cost_model
