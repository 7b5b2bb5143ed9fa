// Where storages lie. Steps are numbered; a storage lives from the step that writes it to the last one that reads it.
// The arena is filled first fit over these intervals; an elementwise result takes the place of an operand that dies
// with it.
#include <algorithm>
#include <map>
#include <set>

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

// The parameters whose memory the results may take over: dead by the time the result is written, or overwritten in
// place.
void choose_donors(const Draft& d, const std::vector<int>& wanted, std::vector<ResultRef>& results) {
  std::vector<int> storage_of(d.params, -1), result_storage(results.size(), -1);
  for (std::size_t s = 0; s < d.storages.size(); ++s) {
    const Storage& st = d.storages[s];
    if (st.kind == Storage::Kind::Param) storage_of[static_cast<std::size_t>(st.param)] = static_cast<int>(s);
    if (st.result >= 0) result_storage[static_cast<std::size_t>(st.result)] = static_cast<int>(s);
  }
  std::vector<char> taken(d.params, 0);
  auto fits = [&](std::size_t r, int param, bool in_place_only) {
    if (taken[static_cast<std::size_t>(param)]) return false;
    const Storage& out = d.storages[static_cast<std::size_t>(result_storage[r])];
    int from = storage_of[static_cast<std::size_t>(param)];
    const Storage& in = d.storages[static_cast<std::size_t>(from)];
    if (in.bytes != out.bytes || in.last == Draft::kForever || out.born < 0) return false;
    if (in.last < out.born) return !in_place_only;
    if (in.last != out.born) return false;
    const DraftStep& step = d.steps[static_cast<std::size_t>(out.born)];
    return std::any_of(step.in_place.begin(), step.in_place.end(), [&](auto pair) {
      return step.outs[static_cast<std::size_t>(pair.first)].storage == result_storage[r] &&
             step.ins[static_cast<std::size_t>(pair.second)].storage == from;
    });
  };
  auto choose = [&](std::size_t r, int param) {
    results[r].donor = param;
    taken[static_cast<std::size_t>(param)] = 1;
  };
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (results[r].through) {
      taken[static_cast<std::size_t>(results[r].donor)] = 1;
      continue;
    }
    if (results[r].kind == ResultRef::Kind::Param) taken[static_cast<std::size_t>(results[r].index)] = 1;
  }
  for (int round = 0; round < 2; ++round)  // in place first: those save the traffic as well
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (results[r].kind != ResultRef::Kind::Own || results[r].donor >= 0 || result_storage[r] < 0) continue;
      if (r < wanted.size() && wanted[r] >= 0) {
        if (fits(r, wanted[r], false)) choose(r, wanted[r]);
        continue;
      }
      if (r < wanted.size() && wanted[r] == -2) continue;  // must not share
      for (std::size_t p = 0; p < d.params && results[r].donor < 0; ++p)
        if (fits(r, static_cast<int>(p), round == 0)) choose(r, static_cast<int>(p));
    }
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
  int now = static_cast<int>(steps.size());
  for (const Ref& r : step.ins) {
    Storage& s = storages[static_cast<std::size_t>(r.storage)];
    if (s.last < now) s.last = now;
  }
  for (const Ref& r : step.outs) {
    Storage& s = storages[static_cast<std::size_t>(r.storage)];
    if (s.born < 0) s.born = now;
    if (s.last < now) s.last = now;
  }
  steps.push_back(std::move(step));
}

Finished finish(Draft d, const std::vector<int>& wanted, std::vector<ResultRef>& results) {
  choose_donors(d, wanted, results);
  Finished out;
  Plan& plan = out.plan;
  plan.params = d.params;
  plan.results = results.size();
  plan.constants = std::move(d.constants);

  std::vector<std::int64_t> at(d.storages.size(), -1);  // offset in the arena
  std::vector<int> shares(d.storages.size(),
                          -1);  // how many storages an interval of the arena still serves: by its first
  std::vector<int> home(d.storages.size(), -1);  // the storage that took the interval
  Arena arena;
  std::int64_t live = 0;
  std::vector<std::vector<int>> dying(d.steps.size());
  for (std::size_t s = 0; s < d.storages.size(); ++s) {
    const Storage& st = d.storages[s];
    if (st.kind == Storage::Kind::Temporary && st.result < 0 && st.born >= 0 && st.last < Draft::kForever)
      dying[static_cast<std::size_t>(st.last)].push_back(static_cast<int>(s));
  }
  std::vector<std::int64_t> scratch(d.steps.size(), 0);
  for (std::size_t i = 0; i < d.steps.size(); ++i) {
    const DraftStep& step = d.steps[i];
    auto in_arena = [&](int s) {
      const Storage& st = d.storages[static_cast<std::size_t>(s)];
      return st.kind == Storage::Kind::Temporary && st.result < 0;
    };
    std::set<int> passed_on;
    for (std::size_t o = 0; o < step.outs.size(); ++o) {
      int s = step.outs[o].storage;
      auto us = static_cast<std::size_t>(s);
      if (!in_arena(s) || home[us] >= 0) continue;
      for (auto [result, operand] : step.in_place) {
        int from = step.ins[static_cast<std::size_t>(operand)].storage;
        auto uf = static_cast<std::size_t>(from);
        if (result != static_cast<int>(o) || !in_arena(from) || d.storages[uf].last != static_cast<int>(i) ||
            passed_on.count(from))
          continue;
        if (d.storages[uf].bytes < d.storages[us].bytes) continue;
        at[us] = at[uf];
        home[us] = home[uf];
        ++shares[static_cast<std::size_t>(home[us])];
        passed_on.insert(from);
        break;
      }
      if (home[us] < 0) {
        at[us] = arena.take(aligned(d.storages[us].bytes));
        home[us] = s;
        shares[us] = 1;
      }
      live += d.storages[us].device_bytes;
    }
    if (step.control) {
      scratch[i] = step.control->scratch_bytes() > 0 ? arena.take(aligned(step.control->scratch_bytes())) : 0;
      if (step.control->scratch_bytes() > 0) arena.give(scratch[i], aligned(step.control->scratch_bytes()));
    }
    out.peak_device_bytes = std::max(out.peak_device_bytes, live + step.extra_device_bytes);
    for (int s : dying[i]) {
      auto us = static_cast<std::size_t>(s);
      live -= d.storages[us].device_bytes;
      auto h = static_cast<std::size_t>(home[us]);
      if (--shares[h] == 0) arena.give(at[h], aligned(d.storages[h].bytes));
    }
  }
  plan.arena = arena.end();

  auto loc = [&](const Ref& r) {
    const Storage& s = d.storages[static_cast<std::size_t>(r.storage)];
    Loc l;
    l.offset = r.offset;
    if (s.kind == Storage::Kind::Constant) {
      l.offset += static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(s.data));
    } else if (s.kind == Storage::Kind::Param) {
      l.slot = s.param + 1;
    } else if (s.result >= 0) {
      l.slot = static_cast<std::int32_t>(plan.arena_slot()) + 1 + s.result;
    } else {
      l.slot = static_cast<std::int32_t>(plan.arena_slot());
      l.offset += at[static_cast<std::size_t>(r.storage)];
    }
    if (!r.terms.empty()) {
      l.terms = static_cast<std::int32_t>(plan.terms.size());
      plan.terms.push_back(r.terms);
    }
    return l;
  };
  for (std::size_t i = 0; i < d.steps.size(); ++i) {
    DraftStep& draft = d.steps[i];
    Step s;
    s.kernel = std::move(draft.kernel);
    s.control = std::move(draft.control);
    s.first = static_cast<std::uint32_t>(plan.locs.size());
    s.ins = static_cast<std::uint32_t>(draft.ins.size());
    s.outs = static_cast<std::uint32_t>(draft.outs.size());
    s.span = draft.span;
    for (const Ref& r : draft.ins) plan.locs.push_back(loc(r));
    for (const Ref& r : draft.outs) plan.locs.push_back(loc(r));
    if (s.control) plan.locs.push_back({static_cast<std::int32_t>(plan.arena_slot()), -1, scratch[i]});
    plan.steps.push_back(std::move(s));
  }
  return out;
}

}  // namespace shard::exec
