// What is stored, as memory has it. Where the lanes of a vector may be more than the elements that are left, those
// stores that need no mask have none: an EPYC of 2024 waits for the line of each that has one.
#pragma once
#include <functional>
#include <list>

#include "runtime/kernels/generated/sums.h"

namespace shard::runtime::generated {

class Stores : public Sums {
 protected:
  Stores(const Formula& formula, std::span<const Operand> operands, Turn turn, bool full, ExecutableMemory& memory)
      : Sums(formula, operands, turn, full, memory), masks_(full) {}

  void store(const Stored& s) {
    const Xmm x = held(s.node);
    const Operand& o = operands_[s.operand];
    if (s.first) {
      vmovss(ptr[base(s.operand)], Xmm(x.getIdx()));
      pinned_ = 0;
      return;
    }
    const bool single = bytes_of(o.kind) == 4;
    if (o.form == Form::Held) {
      put(s, [=, this](const Address& to) {
        if (one_)
          single ? vmovss(to, x) : vmovsd(to, x);
        else
          single ? vmovups(to, x) : vmovupd(to, x);
      });
    } else if (is_byte(o.form)) {
      store_bytes(s, x, o.form);
    } else {
      store_narrow(s, x, o.form);
    }
    pinned_ = 0;
  }
  // Two vectors of bf16 that fill one.
  bool go_together(const Stored& s, const Stored& next) const {
    return operands_[s.operand].form == Form::Brain && s.operand == next.operand && next.vector == s.vector + 1 &&
           lanes_ == 16 && !one_ && !ragged_;
  }
  void store_both(const Stored& s, const Stored& next) {
    const Xmm x = held(s.node), y = held(next.node), both = in(take(), Kind::I32);
    vmovups(both, ptr[rip + upper_halves_]);
    vpermi2w(both, x, y);
    vmovups(element(s.operand, s.vector), both);
    together_ = true;
    pinned_ = 0;
  }
  void end_stores() {
    if (together_) {
      align(64);
      L(upper_halves_);
      for (std::uint32_t word = 1; word < 64; word += 2) dw(word);
    }
    for (Masked& m : masked_) {
      L(m.begin);
      m.write();
      jmp(m.end, T_NEAR);
    }
  }

  const bool masks_;  // comparisons give masks of bits

 private:
  struct Masked {
    Xbyak::Label begin, end;
    std::function<void()> write;
  };
  // What fits into it already; of a mask the lowest bit.
  void store_bytes(const Stored& s, const Xmm& x, Form form) {
    const bool truth = form == Form::Truth;
    if (masks_ && !one_ && (ragged_ || !truth)) {
      const Xmm bytes = truth ? in(take(), Kind::I32) : x;
      if (truth) vpandd(bytes, x, constant(Kind::I32, 1));
      return put(s, [=, this](const Address& to) { vpmovdb(to, bytes); });
    }
    const Address to = element(s.operand, s.vector);
    const Xmm low(x.getIdx());
    if (one_) {
      vpextrb(to, low, 0);
      if (truth) and_(byte[to.getRegExp()], 1);
      return;
    }
    const Xmm packed(take());
    if (masks_) {
      vpmovdb(packed, x);
    } else if (lanes_ == 8) {
      vextracti128(packed, Ymm(x.getIdx()), 1);
      vpackssdw(packed, low, packed);
    } else {
      vpackssdw(packed, low, low);
    }
    if (!masks_) form == Form::U8 ? vpackuswb(packed, packed, packed) : vpacksswb(packed, packed, packed);
    if (truth) vandps(packed, packed, constant(Kind::I32, 0x01010101u));
    lanes_ == 16 ? vmovups(to, packed) : lanes_ == 8 ? vmovq(to, packed) : vmovd(to, packed);
  }
  // What is rounded to it already.
  void store_narrow(const Stored& s, const Xmm& x, Form form) {
    const Xmm words = in(take(), Kind::I32), low(words.getIdx());
    if (form == Form::Half && !one_) return put(s, [=, this](const Address& to) { vcvtps2ph(to, x, 0); });
    form == Form::Half ? vcvtps2ph(low, x, 0) : vpsrld(words, x, 16);
    if (masks_ && !one_) return put(s, [=, this](const Address& to) { vpmovdw(to, words); });
    const Address to = element(s.operand, s.vector);
    if (one_) return vpextrw(word[to.getRegExp()], low, 0);
    const Xmm upper(take());
    if (lanes_ == 8) vextracti128(upper, Ymm(words.getIdx()), 1);
    vpackusdw(low, low, lanes_ == 8 ? upper : low);
    lanes_ == 8 ? vmovups(to, low) : lanes_ == 4 ? vmovq(to, low) : vmovd(to, low);
  }
  // `write` to its place, without a mask where there is an element for each lane.
  void put(const Stored& s, const auto& write) {
    const Address to = element(s.operand, s.vector);
    const int most = row_ - (s.vector + 1) * lanes_;  // the last element of a row from which on all lanes have one
    if (!ragged_ || (one_turn_ && most >= 0)) return write(to);
    const Address masked = to | left(s.vector);
    if (row_ == 0 || one_turn_) return write(masked);
    Masked& m = masked_.emplace_back(Masked{{}, {}, [=] { write(masked); }});
    cmp(rcx, most);
    ja(m.begin, T_NEAR);
    write(to);
    L(m.end);
  }

  std::list<Masked> masked_;  // code that is beside the loop
  bool together_ = false;
  Xbyak::Label upper_halves_;  // the numbers of their words in two vectors
};

}  // namespace shard::runtime::generated
