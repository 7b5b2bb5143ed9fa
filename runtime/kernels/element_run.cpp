// Runs prepared elementwise programs tile by tile. Nothing is allocated while running, but for programs of very many
// registers and for transposed operands.
#include "runtime/kernels/element_run.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/kernels/gathered.h"
#include "runtime/kernels/generated/element_code.h"
#include "runtime/kernels/processor.h"
#include "runtime/kernels/types.h"

namespace shard::runtime {
namespace {

using generated::ElementCode;

constexpr std::size_t kRegisters = 64;  // more than this go through the heap

void fill_slot(std::size_t item, const void* value, std::int64_t n, void* out) {
  by_width(item,
           [&](auto t) { std::fill_n(static_cast<decltype(t)*>(out), n, *static_cast<const decltype(t)*>(value)); });
}

inline void move_one(std::size_t item, const void* from, void* to) {
  if (item == 4)
    std::memcpy(to, from, 4);
  else if (item == 1)
    std::memcpy(to, from, 1);
  else
    std::memcpy(to, from, item);
}

void move_few(std::size_t item, std::int64_t n, const void* from, void* to) {
  if (n == 1)
    move_one(item, from, to);
  else
    std::memmove(to, from, static_cast<std::size_t>(n) * item);
}

// One run over elements [from, to) in one thread.
class Run {
 public:
  Run(const ElementPlan& plan, const ElementCode* code, void* const* inputs, void* const* outputs, bool aliased,
      void** reg, unsigned char* scratch)
      : p_(plan), code_(code), inputs_(inputs), outputs_(outputs), aliased_(aliased), reg_(reg), scratch_(scratch) {}

  void range(std::int64_t from, std::int64_t to) {
    for (std::size_t r = 0; r < p_.slot.size(); ++r) reg_[r] = home(r);
    const auto turned = [](const ElementPlan::Input& in) { return in.turned; };
    if (std::any_of(p_.inputs.begin(), p_.inputs.end(), turned)) begin_panels();
    const std::int64_t widest = std::min(p_.tile, to - from);
    if (!code_ || code_->loops)
      for (const ElementPlan::Constant& c : p_.constants)
        fill_slot(c.item, c.value.data(), p_.held(c.reg, widest), reg_[c.reg]);
    for (std::size_t i = 0; i < p_.inputs.size(); ++i)
      if (p_.inputs[i].once()) fill_once(i, p_.held(p_.inputs[i].reg, widest));
    if (whole()) return tile(from, to - from);
    for (std::int64_t at = from; at < to; at += p_.tile) tile(at, std::min(p_.tile, to - at));
  }

 private:
  bool whole() const { return code_ && code_->whole; }
  bool narrow(std::uint16_t reg) const { return code_ && code_->narrow[reg]; }  // it holds what the array has
  unsigned char* home(std::size_t r) const { return scratch_ + p_.offset[r]; }

  void begin_panels() {
    thread_local std::vector<Panel> kept;  // memory for each piece would come from the system, and go back
    kept.resize(std::max(kept.size(), p_.inputs.size()));
    for (Panel& panel : kept) panel.begin();
    panels_ = kept.data();
  }

  void fill_once(std::size_t i, std::int64_t n) {
    const ElementPlan::Input& in = p_.inputs[i];
    if (in.way == ElementPlan::Way::Row) return gather(in.nest, in.item, inputs_[i], 0, n, reg_[in.reg]);
    if (!in.load) return fill_slot(in.item, inputs_[i], n, reg_[in.reg]);
    float value = 0;
    in.load(inputs_[i], nullptr, nullptr, &value, 1);
    fill_slot(sizeof value, &value, n, reg_[in.reg]);
  }

  void bring(std::size_t i, const unsigned char* data, std::int64_t at, std::int64_t n, void* out) {
    const ElementPlan::Input& in = p_.inputs[i];
    if (in.groups) return gather(*in.groups, in.nest, data, at, n, out);
    if (!in.turned) return gather(in.nest, in.item, data, at, n, out);
    const std::int64_t length = in.nest.size[in.nest.rank - 1];
    for (auto* to = static_cast<unsigned char*>(out); n > 0;) {
      const std::int64_t w = std::min(n, length - at % length);
      std::memcpy(to, panels_[i].line(in, data, at), static_cast<std::size_t>(w * in.item));
      to += w * in.item, at += w, n -= w;
    }
  }

  // Elements [at, at + n) of input i, as registers hold them.
  void fetch(std::size_t i, std::int64_t at, std::int64_t n, unsigned char* to) {
    const ElementPlan::Input& in = p_.inputs[i];
    const unsigned char* data = static_cast<const unsigned char*>(inputs_[i]);
    if (!in.load) return bring(i, data, at, n, to);
    std::uint16_t narrow[ElementPlan::kTile];
    for (std::int64_t done = 0; done < n; done += ElementPlan::kTile) {
      const std::int64_t some = std::min(ElementPlan::kTile, n - done);
      bring(i, data, at + done, some, narrow);
      in.load(narrow, nullptr, nullptr, reinterpret_cast<float*>(to) + done, some);
    }
  }

  // Of what is joined of the pieces up to the last one.
  void load_joined(std::size_t last, std::int64_t at, std::int64_t n) {
    const ElementPlan::Input& end = p_.inputs[last];
    std::size_t i = last + 1 - static_cast<std::size_t>(end.pieces);
    const auto piece = [&]() -> const ElementPlan::Input& { return p_.inputs[i]; };
    std::int64_t outer = at / end.period, skip = at % end.period;
    while (skip >= piece().begin + piece().length) ++i;
    if (skip + n <= piece().begin + piece().length)
      return load(i, outer * piece().length + skip - piece().begin, n, end.reg);
    reg_[end.reg] = home(end.reg);
    auto* to = static_cast<unsigned char*>(reg_[end.reg]);
    for (const std::int64_t held = end.load ? std::int64_t{sizeof(float)} : end.item; n > 0;) {
      const std::int64_t w = std::min(n, piece().begin + piece().length - skip);
      if (w > 0) fetch(i, outer * piece().length + skip - piece().begin, w, to);
      to += w * held, skip += w, n -= w;
      if (i == last)
        ++outer, skip = 0, i = last + 1 - static_cast<std::size_t>(end.pieces);
      else
        ++i;
    }
  }

  // Whether input i is in its place already, as another tile has left it; else it will be.
  bool left(const ElementPlan::Input& in, std::int64_t at, std::int64_t n) {
    Left& left = left_[in.memo];
    const Left now{at % in.cycle == 0 && (at + n - 1) / in.cycles == at / in.cycles ? at / in.cycles : -1, n};
    if (now.stretch >= 0 && now.stretch == left.stretch && n <= left.elements) return true;
    left = now;
    return false;
  }

  void load(std::size_t i, std::int64_t at, std::int64_t n, std::uint16_t reg) {
    const ElementPlan::Input& in = p_.inputs[i];
    if (in.cycle > 0) {
      reg_[reg] = home(reg);
      if (!left(in, at, n)) fetch(i, at, n, static_cast<unsigned char*>(reg_[reg]));
      return;
    }
    const std::size_t item = in.item;
    const unsigned char* data = static_cast<const unsigned char*>(inputs_[i]);
    const unsigned char* dense = nullptr;
    if (in.way == ElementPlan::Way::Direct) {
      dense = data + static_cast<std::size_t>(at) * item;
    } else if (in.fits) {
      const std::int64_t length = in.nest.size[in.nest.rank - 1], skip = at % length;
      if (skip + n <= length)
        dense = data + (Position<1>(in.nest, in.nest.rank - 1, at / length).offset[0] + skip) *
                           static_cast<std::int64_t>(item);
    } else if (in.turned) {
      const std::int64_t length = in.nest.size[in.nest.rank - 1];
      if (at % length + n <= length) dense = panels_[i].line(in, data, at);
    }
    const bool as_held = !in.load || narrow(reg);
    if (dense && as_held && !(p_.inputs[reg].kept && aliased_)) {
      reg_[reg] = const_cast<unsigned char*>(dense);  // read only: no step writes an input's register
      return;
    }
    reg_[reg] = home(reg);
    if (!dense) return fetch(i, at, n, static_cast<unsigned char*>(reg_[reg]));
    if (!as_held)
      in.load(dense, nullptr, nullptr, reg_[reg], n);
    else
      std::memcpy(reg_[reg], dense, static_cast<std::size_t>(n) * item);
  }

  unsigned char* target(std::size_t i, std::int64_t at) const {
    const ElementPlan::Output& o = p_.outputs[i];
    return static_cast<unsigned char*>(outputs_[i]) + static_cast<std::size_t>(p_.held(o.reg, at)) * o.item;
  }

  // Elements [from, from + n) of the tile.
  void step(const ElementPlan::Step& s, std::int64_t from, std::int64_t n) {
    const auto at = [&](std::uint16_t r, std::size_t operand) {
      return static_cast<unsigned char*>(reg_[r]) + from * s.wide[operand];
    };
    void* to = at(s.dst, 3);
    s.run(at(s.a, 0), at(s.b, 1), at(s.c, 2), to, n);
    if (s.round) s.round(to, nullptr, nullptr, to, n);
  }

  // Each row of n elements to one, or one along each row.
  void by_row(const ElementPlan::Step& s, std::int64_t n) {
    const auto* from = static_cast<const unsigned char*>(reg_[s.a]);
    auto* to = static_cast<unsigned char*>(reg_[s.dst]);
    if (s.rows)
      reduce_rows(*s.rows, from, p_.row, n / p_.row, to);
    else
      by_width(s.item, [&](auto t) {
        using T = decltype(t);
        copy_lines(reinterpret_cast<const T*>(from), 1, 0, reinterpret_cast<T*>(to), p_.row, 1, n / p_.row, p_.row);
      });
    if (s.round) s.round(reg_[s.dst], nullptr, nullptr, reg_[s.dst], p_.held(s.dst, n));
  }

  void tile(std::int64_t at, std::int64_t n) {
    for (std::size_t i = 0; i < p_.inputs.size(); ++i) {
      const ElementPlan::Input& in = p_.inputs[i];
      if (in.pieces > 0)
        load_joined(i, at, n);
      else if (!in.once() && in.period == 0)
        load(i, p_.held(in.reg, at), p_.held(in.reg, n), in.reg);
    }
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) {
      const ElementPlan::Output& o = p_.outputs[i];
      if (o.in_place && o.lines.length == 0 && !converts(o) && (whole() || !(o.early && aliased_)))
        reg_[o.reg] = target(i, at);
    }
    code_ ? generated_steps(at, n) : steps(n);
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) {
      const ElementPlan::Output& o = p_.outputs[i];
      if (o.reduce) {
        add_to_leaves(p_.leaves, *o.reduce, at, n, static_cast<const unsigned char*>(reg_[o.reg]), scratch_ + o.lanes,
                      static_cast<unsigned char*>(outputs_[i]));
        continue;
      }
      if (o.lines.length == 0)
        put(o, static_cast<const unsigned char*>(reg_[o.reg]), target(i, at), p_.held(o.reg, n));
      else
        put_lines(o, static_cast<unsigned char*>(outputs_[i]), at, n);
    }
  }

  bool converts(const ElementPlan::Output& o) const { return o.store && !narrow(o.reg); }
  void put(const ElementPlan::Output& o, const unsigned char* from, unsigned char* to, std::int64_t n) const {
    if (converts(o))
      o.store(from, nullptr, nullptr, to, n);
    else if (from != to)
      std::memmove(to, from, static_cast<std::size_t>(n) * o.item);
  }
  void put_lines(const ElementPlan::Output& o, unsigned char* to, std::int64_t at, std::int64_t n) const {
    const auto* from = static_cast<const unsigned char*>(reg_[o.reg]);
    const std::int64_t held = converts(o) ? std::int64_t{sizeof(float)} : o.item;
    std::int64_t line = at / o.lines.length, skip = at % o.lines.length;
    for (; n > 0; ++line, skip = 0) {
      const std::int64_t w = std::min(n, o.lines.length - skip);
      put(o, from, to + (line * o.lines.apart + skip) * o.item, w);
      from += w * held, n -= w;
    }
  }

  void steps(std::int64_t n) {
    const auto by_part = [&](const ElementPlan::Step& s) {
      return s.run && n > ElementPlan::kTile && !p_.of_row[s.dst];
    };
    for (auto s = p_.steps.begin(); s != p_.steps.end();) {
      const auto end = std::find_if_not(s, p_.steps.end(), by_part);
      for (std::int64_t from = 0; s != end && from < n; from += ElementPlan::kPart)
        for (auto each = s; each != end; ++each) step(*each, from, std::min(ElementPlan::kPart, n - from));
      s = end;
      if (s == p_.steps.end()) break;
      whole_step(*s, n);
      ++s;
    }
  }
  void whole_step(const ElementPlan::Step& s, std::int64_t n) {
    if (s.run)
      step(s, 0, p_.held(s.dst, n));
    else
      by_row(s, n);
  }
  void generated_steps(std::int64_t from, std::int64_t n) {
    const auto parts = static_cast<std::int64_t>(code_->parts.size());
    const bool ask = processor().stores_wait && !whole();
    for (std::int64_t k = 0; k < parts; ++k) {
      if (ask) ask_ahead(from + n, n, k, parts);
      const ElementCode::Part& part = code_->parts[static_cast<std::size_t>(k)];
      if (part.code.run)
        part.run(reg_, part.of_row ? n / p_.row : n, p_.row);
      else
        whole_step(p_.steps[part.first], n);
    }
  }

  // The k-th of `parts` shares of the lines that the next tile writes, of n elements from `at` on. All shares at once
  // would wait for each other. Inline: GCC takes a function that only asks for one that does nothing.
  [[gnu::always_inline]] inline void ask_ahead(std::int64_t at, std::int64_t n, std::int64_t k,
                                               std::int64_t parts) const {
    constexpr std::int64_t kLine = 64;
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) {
      const ElementPlan::Output& o = p_.outputs[i];
      if (!o.in_place || o.lines.length > 0) continue;
      const std::int64_t lines = p_.held(o.reg, n) * o.item / kLine;
      const unsigned char* to = target(i, at);
      for (std::int64_t l = lines * k / parts; l < lines * (k + 1) / parts; ++l) __builtin_prefetch(to + l * kLine, 1);
    }
  }

  const ElementPlan& p_;
  const ElementCode* code_;  // null: every step is a loop
  void* const* inputs_;
  void* const* outputs_;
  bool aliased_;
  void** reg_;
  unsigned char* scratch_;
  Panel* panels_ = nullptr;  // of each input, where any is transposed
  struct Left {
    std::int64_t stretch = -1, elements = 0;  // of inputs that repeat: of which one, and how many lie in their place
  };
  std::array<Left, ElementPlan::kCycles> left_ = {};
};

bool any_aliased(const ElementPlan& p, void* const* inputs, void* const* outputs) {
  void* const* const end = outputs + p.outputs.size();
  return std::any_of(inputs, inputs + p.inputs.size(),
                     [&](void* input) { return std::find(outputs, end, input) != end; });
}

}  // namespace

// Where there are few elements, as in loops of small things: nothing is cut, and results are written at the end.
void run_few_elements(const ElementPlan& p, void* const* inputs, void* const* outputs) {
  alignas(64) unsigned char scratch[ElementPlan::kFewBytes];
  unsigned char* at[ElementPlan::kFewRegisters];
  const std::int64_t n = p.count;
  for (std::size_t r = 0; r < p.slot.size(); ++r) at[r] = scratch + p.slot[r] * p.few_room();
  auto* filled = const_cast<unsigned char*>(p.filled.data());  // no step writes a constant's register, or an input's
  for (const ElementPlan::Constant& c : p.constants) {
    at[c.reg] = filled;
    filled += c.item * p.few_room();
  }
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    const ElementPlan::Input& in = p.inputs[i];
    const bool one = in.way == ElementPlan::Way::Scalar && n > 1;
    if (in.load)
      in.load(inputs[i], nullptr, nullptr, at[in.reg], one ? 1 : n);
    else if (one || in.kept)
      move_few(in.item, one ? 1 : n, inputs[i], at[in.reg]);
    else
      at[in.reg] = static_cast<unsigned char*>(inputs[i]);
    if (one) fill_slot(in.load ? sizeof(float) : in.item, at[in.reg], n, at[in.reg]);
  }
  for (const ElementPlan::Step& s : p.steps) {
    s.run(at[s.a], at[s.b], at[s.c], at[s.dst], n);
    if (s.round) s.round(at[s.dst], nullptr, nullptr, at[s.dst], n);
  }
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    const ElementPlan::Output& o = p.outputs[i];
    if (o.store)
      o.store(at[o.reg], nullptr, nullptr, outputs[i], n);
    else
      move_few(o.item, n, at[o.reg], outputs[i]);
  }
}

void run_elements(const ElementPlan& p, const ElementCode* code, void* const* inputs, void* const* outputs,
                  std::int64_t from, std::int64_t to) {
  const bool aliased = any_aliased(p, inputs, outputs);
  if (p.scratch_bytes <= ElementPlan::kScratch && p.slot.size() <= kRegisters) {
    alignas(64) unsigned char scratch[ElementPlan::kScratch];
    void* reg[kRegisters];
    Run(p, code, inputs, outputs, aliased, reg, scratch).range(from, to);
  } else {
    const std::unique_ptr<void*[]> reg(new void*[p.slot.size()]);
    const std::unique_ptr<unsigned char[]> scratch(new unsigned char[p.scratch_bytes]);
    Run(p, code, inputs, outputs, aliased, reg.get(), scratch.get()).range(from, to);
  }
}

}  // namespace shard::runtime
