// Where the values of nodes are while code is written. Registers are given to nodes as the code goes on; where none is
// free the node that is read last gives up its own (Belady), and what it held is found again where it came from, or in
// a slot of the stack.
#pragma once
#include <xbyak/xbyak.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/kernels/generated/executable_memory.h"
#include "runtime/kernels/generated/unrolled.h"

namespace shard::runtime::generated {

using Xbyak::Address;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

class Registers : public Xbyak::CodeGenerator {
 public:
  static constexpr int how_many(bool full) { return full ? kMost : kMost / 2; }

 protected:
  // `full`: the registers of AVX-512, else those of AVX2, of which there are half of half the bytes.
  Registers(const Formula& formula, std::span<const Operand> operands, Turn turn, bool full, ExecutableMemory& memory)
      : CodeGenerator(memory.size(), memory.data()),
        f_(formula),
        operands_(operands),
        uses_(formula.nodes.size()),
        register_(formula.nodes.size(), kNone),
        slot_(formula.nodes.size(), kNone),
        registers_(how_many(full)),
        vector_(full ? 64 : 32),
        one_(turn == Turn::Element),
        ragged_(turn == Turn::Ragged) {
    holds_.fill(kNone);
    const auto wide = [](const Node& x) { return bytes_of(x.kind) == 8; };
    lanes_ = one_ ? 1 : vector_ / (std::any_of(f_.nodes.begin(), f_.nodes.end(), wide) ? 8 : 4);
  }

  static constexpr int kNone = -1;
  static constexpr std::size_t kFree = 5;
  // Registers of the operands' addresses; those of further operands are read from memory each time.
  static constexpr std::array kBases{Xbyak::Operand::RDX, Xbyak::Operand::R8,  Xbyak::Operand::R9,  Xbyak::Operand::R10,
                                     Xbyak::Operand::R11, Xbyak::Operand::RBX, Xbyak::Operand::R12, Xbyak::Operand::R13,
                                     Xbyak::Operand::R14, Xbyak::Operand::R15};

  static std::size_t index(NodeId id) { return static_cast<std::size_t>(id); }
  bool is_same(NodeId id) const { return f_.at(id).op == Op::Constant || is_spread(f_.at(id)); }  // in all turns
  // It is, and has a register of its own.
  bool stays(NodeId id) const { return register_[index(id)] >= registers_; }
  // As many of what is the same in all turns, what is read most often first, leave registers to the others.
  void keep(int most) {
    std::vector<NodeId> same;
    for (std::size_t i = 0; i < f_.nodes.size(); ++i)
      if (!uses_[i].empty() && is_same(static_cast<NodeId>(i))) same.push_back(static_cast<NodeId>(i));
    std::stable_sort(same.begin(), same.end(),
                     [&](NodeId x, NodeId y) { return uses_[index(x)].size() > uses_[index(y)].size(); });
    for (const NodeId id : same)
      if (most-- > 0) give(id, --registers_);
  }
  bool is_spread(const Node& n) const { return n.op == Op::Load && operands_[n.value].spread; }
  int next_use(NodeId id) const {
    const auto& uses = uses_[index(id)];
    const auto it = std::lower_bound(uses.begin(), uses.end(), now_);
    return it == uses.end() ? std::numeric_limits<int>::max() : *it;
  }
  bool dead(NodeId id) const {  // nothing reads it after this
    const auto& uses = uses_[index(id)];
    return !stays(id) && (uses.empty() || uses.back() <= now_);
  }

  Xmm in(int r, Kind kind) const {
    const std::size_t bytes = index(lanes_) * bytes_of(kind);
    return bytes == 64 ? static_cast<Xmm>(Zmm(r)) : bytes == 32 ? static_cast<Xmm>(Ymm(r)) : Xmm(r);
  }
  static Xmm half_of(const Xmm& x) { return x.isZMM() ? static_cast<Xmm>(Ymm(x.getIdx())) : Xmm(x.getIdx()); }
  Xmm in(NodeId id) const { return in(register_[index(id)], f_.at(id).kind); }

  Xbyak::RegExp base(std::size_t operand) {
    if (operand < kBases.size()) return Xbyak::Reg64(kBases[operand]);
    mov(rax, ptr[rdi + 8 * operand]);
    return rax;
  }
  Address element(std::size_t operand, int vector) {
    const int item = operands_[operand].bytes();
    return ptr[base(operand) + rcx * item + vector * lanes_ * item];
  }
  Address constant(Kind kind, std::uint64_t bits) {
    const auto it = std::find(constants_.begin(), constants_.end(), std::pair(kind, bits));
    const auto at = static_cast<int>(it - constants_.begin());
    if (it == constants_.end()) constants_.emplace_back(kind, bits);
    return ptr[rip + pool_ + at * vector_];
  }
  // Of vectors, on the stack: one for each node at most, and those that others want.
  std::size_t slot_bytes() const { return (f_.nodes.size() + 1 + more_slots_) * index(vector_); }
  Address slot(int s) { return ptr[rsp + s * vector_]; }
  Address on_stack(NodeId id) { return slot(slot_[index(id)]); }

  // ---- registers
  int take() {
    int best = kNone, last = kNone;
    for (int r = 0; r < registers_; ++r) {
      if (pinned_ >> r & 1) continue;
      if (holds_[static_cast<std::size_t>(r)] == kNone) return best = r, pin(best);
      const int use = next_use(holds_[static_cast<std::size_t>(r)]);
      if (use > last) last = use, best = r;
    }
    leave(best);
    return pin(best);
  }
  int pin(int r) {
    pinned_ |= 1u << r;
    return r;
  }
  void leave(int r) {
    NodeId& id = holds_[static_cast<std::size_t>(r)];
    const Node& n = f_.at(id);
    const bool elsewhere = n.op == Op::Constant || n.op == Op::Load || slot_[index(id)] != kNone;
    if (!elsewhere && !dead_before(id)) {
      slot_[index(id)] = slots_++;
      vmovups(on_stack(id), in(id));
    }
    register_[index(id)] = kNone;
    id = kNone;
  }
  bool dead_before(NodeId id) const { return uses_[index(id)].back() < now_; }
  void give(NodeId id, int r) {
    register_[index(id)] = r;
    holds_[static_cast<std::size_t>(r)] = id;
  }
  void drop(NodeId id) {
    if (const int r = register_[index(id)]; r != kNone)
      holds_[static_cast<std::size_t>(r)] = kNone, register_[index(id)] = kNone;
  }

  // ---- operands of an instruction
  Xmm held(NodeId id) {
    const Node& n = f_.at(id);
    if (register_[index(id)] == kNone) {
      const int r = take();
      const Xmm to = in(r, n.kind);
      if (n.op == Op::Constant)
        vmovups(to, constant(n.kind, n.value));
      else if (slot_[index(id)] != kNone)
        vmovups(to, on_stack(id));
      else
        load(to, n);
      give(id, r);
    }
    pin(register_[index(id)]);
    return in(id);
  }
  void load(const Xmm& to, const Node& n) {
    const Address from = element(n.value, n.vector);
    const Xmm some = ragged_ ? to | left(n.vector) | T_z : to;
    const Form form = operands_[n.value].form;
    if (form == Form::Held) {
      if (one_) return bytes_of(n.kind) == 4 ? vmovss(to, from) : vmovsd(to, from);
      return bytes_of(n.kind) == 4 ? vmovups(some, from) : vmovupd(some, from);
    }
    if (one_) return load_one(to, from, form);
    if (is_byte(form)) {
      form == Form::I8 ? vpmovsxbd(some, from) : vpmovzxbd(some, from);
    } else {
      form == Form::Half ? vcvtph2ps(some, from) : vpmovzxwd(some, from);
    }
    if (form == Form::Truth) as_mask(to);
    if (form == Form::Brain) vpslld(to, to, 16);
  }
  // A single element that memory has in another form, in the first lane.
  void load_one(const Xmm& to, const Address& from, Form form) {
    const Xbyak::RegExp at = from.getRegExp();
    form == Form::I8 ? movsx(eax, byte[at]) : movzx(eax, is_byte(form) ? byte[at] : word[at]);
    vmovd(to, eax);
    if (form == Form::Half) vcvtph2ps(to, to);
    if (form == Form::Truth) as_mask(to);
    if (form == Form::Brain) vpslld(to, to, 16);
  }
  // The lanes of this vector of the turn that there are elements for.
  static constexpr int kMostLeft = 64;
  static Xbyak::Opmask left(int vector) { return Xbyak::Opmask(2 + vector); }
  void find_left(int vectors) {
    row_ ? mov(eax, row_) : mov(rax, rsi);
    sub(rax, rcx);
    cmp(rax, kMostLeft);
    cmova(rax, constant(Kind::I64, kMostLeft));
    bzhi(rax, constant(Kind::I64, ~std::uint64_t{0}), rax);
    kmovq(left(0), rax);
    for (int v = 1; v < vectors; ++v) kshiftrq(left(v), left(0), static_cast<std::uint8_t>(v * lanes_));
  }
  void as_mask(const Xmm& x) {
    vpslld(x, x, 31);
    vpsrad(x, x, 31);
  }
  // In a register or in memory.
  const Xbyak::Operand& held_or_there(NodeId id) {
    const Node& n = f_.at(id);
    if (register_[index(id)] == kNone) {
      if (n.op == Op::Constant) return there_ = constant(n.kind, n.value);
      if (slot_[index(id)] != kNone) return there_ = on_stack(id);
      if (n.op == Op::Load && operands_[n.value].form == Form::Held && !one_ && !ragged_ && dead(id))
        return there_ = element(n.value, n.vector);
    }
    return here_ = held(id);
  }

  static constexpr int kMost = 32;
  const Formula& f_;
  std::span<const Operand> operands_;
  std::vector<std::vector<int>> uses_;  // of each node: by which, in order; the number of nodes: it is stored
  std::vector<int> register_, slot_;    // of each node
  std::array<NodeId, kMost> holds_;     // of each register
  std::vector<std::pair<Kind, std::uint64_t>> constants_;
  Xbyak::Label pool_;  // of them
  Address there_ = ptr[rsp];
  Xmm here_;
  std::uint32_t pinned_ = 0;
  std::size_t more_slots_ = 0;
  int now_ = 0, slots_ = 0, lanes_ = 0;  // now: the node whose code is written
  int row_ = 0;                          // elements of a row, where the code does row by row
  int registers_, vector_;               // their number; bytes of each
  bool one_, ragged_;
  bool one_turn_ = false;  // does a row
};

}  // namespace shard::runtime::generated
