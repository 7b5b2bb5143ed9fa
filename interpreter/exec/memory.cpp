// Where storages lie. Steps are numbered; a storage lives from the step that writes it to the last one that reads it.
// The arena is filled over these intervals as they come, or, where that leaves holes, the largest first; an elementwise
// result takes the place of an operand that dies with it.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "grammar/stable_sort.h"

#include "interpreter/exec/draft.h"

namespace shard::exec {
namespace {

constexpr std::int64_t kAlign = 64;
std::int64_t aligned(std::int64_t bytes) { return (std::max<std::int64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign; }

class Arena {  // free intervals of one growing block
 public:
  std::int64_t take(std::int64_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    if (best != free_.end()) {
      auto [at, size] = *best;
      free_.erase(best);
      if (size > bytes) free_.emplace(at + bytes, size - bytes);
      return at;
    }
    std::int64_t at = end_;
    if (!free_.empty()) {
      auto last = std::prev(free_.end());
      if (last->first + last->second == end_) {  // the free tail grows
        at = last->first;
        free_.erase(last);
      }
    }
    end_ = at + bytes;
    return at;
  }
  void give(std::int64_t at, std::int64_t bytes) {
    auto next = free_.lower_bound(at);
    if (next != free_.end() && at + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == at) {
        before->second += bytes;
        return;
      }
    }
    free_.emplace(at, bytes);
  }
  std::int64_t end() const { return end_; }

 private:
  std::map<std::int64_t, std::int64_t> free_;
  std::int64_t end_ = 0;
};

// An interval of the arena: of these bytes, from one step to another.
struct Held {
  std::int64_t bytes;
  int from, to;
  std::int64_t offset = 0;
};

// Each takes the smallest hole that is free when it begins. The bytes of all.
std::int64_t as_they_come(std::vector<Held>& all, std::size_t steps) {
  std::vector<std::vector<const Held*>> ends(steps);
  Arena arena;
  int now = 0;
  for (Held& h : all) {  // in the order of their beginnings
    for (; now < h.from; ++now)
      for (const Held* done : ends[static_cast<std::size_t>(now)]) arena.give(done->offset, done->bytes);
    h.offset = arena.take(h.bytes);
    if (h.to < static_cast<int>(steps)) ends[static_cast<std::size_t>(h.to)].push_back(&h);
  }
  return arena.end();
}

// The largest first, each where it is lowest beside those that live when it does.
std::int64_t largest_first(std::vector<Held>& all) {
  std::vector<Held*> order, placed;  // placed: by offset
  for (Held& h : all) order.push_back(&h);
  stable_sort(order, [](const Held* a, const Held* b) { return a->bytes > b->bytes; });
  std::int64_t end = 0;
  for (Held* h : order) {
    h->offset = 0;
    for (const Held* p : placed) {
      if (p->from > h->to || h->from > p->to) continue;
      if (p->offset >= h->offset + h->bytes) break;
      h->offset = std::max(h->offset, p->offset + p->bytes);
    }
    placed.insert(std::upper_bound(placed.begin(), placed.end(), h,
                                   [](const Held* a, const Held* b) { return a->offset < b->offset; }),
                  h);
    end = std::max(end, h->offset + h->bytes);
  }
  return end;
}

// The parameters whose memory the results may take over: dead by the time the result is written, or overwritten in
// place.
class DonorChoice {
 public:
  DonorChoice(const Draft& draft, std::vector<ResultRef>& results)
      : d_(draft),
        results_(results),
        param_storage_(draft.params),
        result_storage_(results.size()),
        taken_(draft.params) {
    for (std::size_t s = 0; s < d_.storages.size(); ++s) {
      const Storage& st = d_.storages[s];
      if (auto* p = std::get_if<Storage::Param>(&st.kind)) param_storage_[p->index] = static_cast<int>(s);
      if (auto* t = std::get_if<Storage::Temporary>(&st.kind); t && t->result)
        result_storage_[*t->result] = static_cast<int>(s);
    }
    for (const ResultRef& r : results_) {
      if (auto* own = std::get_if<ResultRef::Own>(&r.from); own && own->untouched) taken_[*own->donor] = 1;
      if (auto* p = std::get_if<ResultRef::Param>(&r.from)) taken_[p->index] = 1;
    }
  }

  void run(const Donors* wanted) {
    for (const bool in_place_only : {true, false})  // in place first: those save the traffic as well
      for (std::size_t r = 0; r < results_.size(); ++r) {
        auto* own = std::get_if<ResultRef::Own>(&results_[r].from);
        if (!own || own->donor || !result_storage_[r]) continue;
        if (wanted) {
          if (const auto& param = (*wanted)[r]; param && fits(r, *param, false)) choose(*own, *param);
          continue;
        }
        for (std::size_t p = 0; p < d_.params && !own->donor; ++p)
          if (fits(r, p, in_place_only)) choose(*own, p);
      }
  }

 private:
  bool fits(std::size_t r, std::size_t param, bool in_place_only) const {
    if (taken_[param]) return false;
    const int from = param_storage_[param], to = *result_storage_[r];
    const Storage &in = d_.at(from), &out = d_.at(to);
    if (in.bytes != out.bytes || in.last == Storage::kForever || !out.born) return false;
    if (in.last < out.born) return !in_place_only;
    if (in.last != out.born) return false;
    return d_.steps[static_cast<std::size_t>(*out.born)].writes_over(from, to);
  }
  void choose(ResultRef::Own& own, std::size_t param) {
    own.donor = param;
    taken_[param] = 1;
  }

  const Draft& d_;
  std::vector<ResultRef>& results_;
  std::vector<int> param_storage_;
  std::vector<std::optional<int>> result_storage_;  // of results with memory of their own
  std::vector<char> taken_;
};

// Where the temporaries lie: steps are walked in order, an interval of the arena is given back when nobody needs it.
class Temporaries {
 public:
  explicit Temporaries(const Draft& d)
      : d_(d), of_(d.storages.size()), held_(d.storages.size(), 0), until_(d.storages.size(), Storage::kForever) {
    std::vector<std::vector<int>> dying(d.steps.size());
    for (std::size_t s = 0; s < d.storages.size(); ++s) {
      const Storage& st = d.storages[s];
      if (st.in_arena() && st.born && *st.last < Storage::kForever)
        dying[static_cast<std::size_t>(*st.last)].push_back(static_cast<int>(s));
    }
    for (std::size_t i = 0; i < d.steps.size(); ++i) {
      const DraftStep& step = d.steps[i];
      write(step, static_cast<int>(i));
      const std::int64_t needs = step.control ? step.control->scratch_bytes() : 0;
      scratch_.push_back(spans_.size());
      if (needs > 0) hold(needs, static_cast<int>(i), static_cast<int>(i));
      curve_.emplace_back(step.node, live_ + step.inside.bytes);
      if (curve_.back().second > curve_[peak_].second) peak_ = i;
      host_most_ = std::max(host_most_, host_live_ + step.inside.host);
      scratch_most_ = std::max({scratch_most_, step.inside.working - step.inside.bytes, step.scratch});
      for (int s : dying[i]) end(s, static_cast<int>(i));
    }
    if (d.runs) settle();
  }
  std::int64_t offset(int storage) const {  // what no step writes has no elements: it may lie anywhere
    const auto& span = of_[static_cast<std::size_t>(storage)];
    return span ? spans_[*span].offset : 0;
  }
  std::int64_t scratch(std::size_t step) const {
    return scratch_[step] < spans_.size() ? spans_[scratch_[step]].offset : 0;
  }
  std::int64_t bytes() const { return bytes_; }
  auto curve() && { return std::move(curve_); }
  Most most() const {
    Most out;
    out.host = host_most_;
    if (curve_.empty()) return out;
    const DraftStep& step = d_.steps[peak_];
    out.bytes = curve_[peak_].second;
    out.working = out.bytes + scratch_most_;
    out.at = step.inside.at ? step.inside.at : step.node;
    for (std::size_t s = 0; s < d_.storages.size(); ++s) {
      const Storage& st = d_.storages[s];
      const int now = static_cast<int>(peak_);
      if (!of_[s] || *st.born > now || until_[s] <= now || st.device_bytes == 0 || st.host) continue;
      out.pieces.push_back({d_.steps[static_cast<std::size_t>(*st.born)].node, st.value, st.device_bytes, 0});
    }
    for (Piece p : step.inside.pieces) {
      ++p.depth;
      out.pieces.push_back(p);
    }
    return out;
  }

 private:
  std::size_t hold(std::int64_t bytes, int from, int to) {
    spans_.push_back({aligned(bytes), from, to});
    shares_.push_back(0);
    return spans_.size() - 1;
  }

  // Where each lies. A few per cent of holes are not worth looking for anything better, nor are very many intervals.
  void settle() {
    constexpr std::size_t kMany = 4096;
    constexpr std::int64_t kHoles = 50;
    bytes_ = as_they_come(spans_, d_.steps.size());
    std::vector<std::int64_t> change(d_.steps.size() + 2, 0);
    for (const Held& h : spans_) {
      change[static_cast<std::size_t>(h.from)] += h.bytes;
      change[std::min(static_cast<std::size_t>(h.to), d_.steps.size()) + 1] -= h.bytes;
    }
    std::int64_t now = 0, least = 0;
    for (const std::int64_t c : change) least = std::max(least, now += c);
    if (spans_.size() > kMany || bytes_ - least <= least / kHoles) return;
    std::vector<Held> other = spans_;
    if (const std::int64_t bytes = largest_first(other); bytes < bytes_) {
      bytes_ = bytes;
      spans_.swap(other);
    }
  }

  void write(const DraftStep& step, int now) {
    std::set<int> passed_on;
    for (std::size_t o = 0; o < step.outs.size(); ++o) {
      const int s = step.outs[o].storage;
      auto& span = of_[static_cast<std::size_t>(s)];
      if (!d_.at(s).in_arena() || span) continue;
      if (auto from = dies_into(step, now, o, passed_on)) {
        span = of_[static_cast<std::size_t>(*from)];
        passed_on.insert(*from);
        live(*from) -= std::exchange(held_[static_cast<std::size_t>(*from)], 0);
        until_[static_cast<std::size_t>(*from)] = now;
      } else {
        span = hold(d_.at(s).bytes, now, static_cast<int>(d_.steps.size()));
      }
      ++shares_[*span];
      live(s) += held_[static_cast<std::size_t>(s)] = d_.at(s).device_bytes;
    }
  }
  // The operand that result o is written over; empty arrays, which no step writes, lie nowhere.
  std::optional<int> dies_into(const DraftStep& step, int now, std::size_t o, const std::set<int>& passed_on) const {
    for (auto [result, operand] : step.in_place) {
      const int from = step.ins[static_cast<std::size_t>(operand)].storage;
      const Storage& st = d_.at(from);
      if (result == static_cast<int>(o) && of_[static_cast<std::size_t>(from)] && st.last == now &&
          !passed_on.count(from) && st.bytes >= d_.at(step.outs[o].storage).bytes)
        return from;
    }
    return std::nullopt;
  }
  std::int64_t& live(int s) { return d_.at(s).host ? host_live_ : live_; }
  void end(int s, int now) {
    const std::size_t span = *of_[static_cast<std::size_t>(s)];
    live(s) -= held_[static_cast<std::size_t>(s)];
    int& until = until_[static_cast<std::size_t>(s)];
    until = std::min(until, now + 1);
    if (--shares_[span] == 0) spans_[span].to = now;
  }

  const Draft& d_;
  std::vector<Held> spans_;                     // in the order of their beginnings
  std::int64_t bytes_ = 0;                      // of the arena
  std::vector<std::optional<std::size_t>> of_;  // by storage: its span
  std::vector<int> shares_;                     // by span: how many storages it still serves
  std::vector<std::int64_t> held_;              // by storage: what a device still holds of it
  std::vector<std::size_t> scratch_;            // by step: its span, or that of a later one
  std::vector<int> until_;                      // by storage: the first step at which it holds nothing any more
  std::vector<std::pair<const ir::Node*, std::int64_t>> curve_;  // by step
  std::int64_t live_ = 0, scratch_most_ = 0;
  std::int64_t host_live_ = 0, host_most_ = 0;
  std::size_t peak_ = 0;  // a step
};

Loc loc_of(const Ref& r, const Draft& d, const Temporaries& temporaries, Plan& plan) {
  Loc l;
  l.offset = r.offset;
  const Storage& s = d.at(r.storage);
  if (auto* constant = std::get_if<Storage::Constant>(&s.kind)) {
    l.offset += static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(plan.constants[constant->index]->data()));
  } else if (auto* param = std::get_if<Storage::Param>(&s.kind)) {
    l.slot = static_cast<std::int32_t>(param->index) + 1;
  } else if (auto result = std::get<Storage::Temporary>(s.kind).result) {
    l.slot = static_cast<std::int32_t>(plan.result_slot(*result));
  } else {
    l.slot = static_cast<std::int32_t>(plan.arena_slot());
    l.offset += temporaries.offset(r.storage);
  }
  if (!r.terms.empty()) {
    l.terms = static_cast<std::int32_t>(plan.terms.size());
    plan.terms.push_back(r.terms);
  }
  return l;
}

}  // namespace

int Draft::temporary(std::int64_t bytes, std::int64_t device_bytes) {
  Storage s;
  s.bytes = bytes;
  s.device_bytes = device_bytes;
  storages.push_back(s);
  return static_cast<int>(storages.size()) - 1;
}

void Draft::add(DraftStep step) {
  const int now = static_cast<int>(steps.size());
  for (const Ref& r : step.ins) at(r.storage).last = std::max<std::optional<int>>(at(r.storage).last, now);
  for (const Ref& r : step.outs) {
    Storage& s = at(r.storage);
    if (!s.born) s.born = now;
    s.last = std::max<std::optional<int>>(s.last, now);
  }
  steps.push_back(std::move(step));
}

Finished finish(Draft d, const Donors* wanted, std::vector<ResultRef>& results) {
  join_epilogues(d);
  DonorChoice(d, results).run(wanted);
  Temporaries temporaries(d);
  Finished out;
  Plan& plan = out.plan;
  plan.params = d.params;
  plan.results = results.size();
  plan.constants = std::move(d.constants);
  plan.arena = temporaries.bytes();
  out.most = temporaries.most();
  for (std::size_t i = 0; i < d.steps.size(); ++i) {
    DraftStep& draft = d.steps[i];
    Step s;
    s.kernel = std::move(draft.kernel);
    s.control = std::move(draft.control);
    s.first = static_cast<std::uint32_t>(plan.locs.size());
    s.ins = static_cast<std::uint32_t>(draft.ins.size());
    s.outs = static_cast<std::uint32_t>(draft.outs.size());
    s.span = draft.span;
    s.node = draft.node;
    for (const Ref& r : draft.ins) plan.locs.push_back(loc_of(r, d, temporaries, plan));
    for (const Ref& r : draft.outs) plan.locs.push_back(loc_of(r, d, temporaries, plan));
    if (s.control)
      plan.locs.push_back({static_cast<std::int32_t>(plan.arena_slot()), Loc::kNoTerms, temporaries.scratch(i)});
    plan.steps.push_back(std::move(s));
  }
  out.curve = std::move(temporaries).curve();
  return out;
}

}  // namespace shard::exec
