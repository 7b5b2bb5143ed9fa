// Quotients by one number, of f32: the divider does one vector of AVX-512 in 16 cycles, and three products whose
// divisor is known beforehand are as good. With y = 1 / b, rounded, and q = a y, rounded, q + (a - q b) y is a / b,
// rounded, where nothing on the way is too small or too large (Brisebarre, Muller and Raina, Accelerating correctly
// rounded floating-point division when the divisor is known in advance, 2004). Where a or b is, a zero among them, the
// divider does it.
#pragma once
#include <list>

#include "runtime/kernels/generated/lanes.h"
#include "runtime/kernels/processor.h"

namespace shard::runtime::generated {

class Quotients : public Lanes {
 protected:
  using Lanes::Lanes;

  // Divisors that are the same in all turns, where vectors are those of AVX-512 and full.
  void find_divisors() {
    if (!processor().divides_slowly) return;
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      const Node& n = f_.nodes[i];
      if (lanes_ == 16 && n.op == Op::Div && n.kind == Kind::F32 && !uses_[i].empty() && is_same(n.b) && !find(n.b))
        divisors_.push_back({n.b});
    }
    more_slots_ += 2 * divisors_.size();
  }
  void begin_divisors() {
    for (Divisor& d : divisors_) {
      d.inverse = slots_++, d.allowed = slots_++;
      const Zmm b(0), other(1);
      vmovups(b, held_or_there(d.id));
      vmovups(other, constant(Kind::F32, kOne));
      vdivps(other, other, b);
      vmovups(slot(d.inverse), other);
      vandps(b, b, constant(Kind::I32, 0x7fffffffu));
      vpcmpud(k1, b, constant(Kind::I32, kLeastDivisor), 5);      // at least
      vpcmpud(k1 | k1, b, constant(Kind::I32, kMostDivisor), 2);  // at most
      vmovups(other | k1 | Xbyak::util::T_z, constant(Kind::I32, kBit));
      vmovups(slot(d.allowed), other);
    }
  }
  bool divides(NodeId id) const { return f_.at(id).op == Op::Div && find(f_.at(id).b); }
  void divide(NodeId id) {
    const Node& n = f_.at(id);
    const Divisor& d = *find(n.b);
    const Xmm a = held(n.a), b = held(n.b), q = in(take(), n.kind);
    const int r = take();
    Exception& e = exceptions_.emplace_back(Exception{{}, {}, in(r, n.kind), a, b});
    vpaddd(q, a, constant(Kind::I32, kShift));
    vptestmd(k1, q, slot(d.allowed));
    kortestw(k1, k1);
    jnc(e.begin, T_NEAR);
    vmulps(q, a, slot(d.inverse));
    vmovaps(e.to, a);
    vfnmadd231ps(e.to, q, b);
    vfmadd132ps(e.to, q, slot(d.inverse));
    L(e.end);
    give(id, r);
  }
  void end_divisors() {
    for (Exception& e : exceptions_) {
      L(e.begin);
      vdivps(e.to, e.a, e.b);
      jmp(e.end, T_NEAR);
    }
  }

 private:
  // Bits of magnitudes: divisors from 2^-25 to 2^25; dividends from 2^-100 on and below 2^28, of which adding kShift
  // sets kBit.
  static constexpr std::uint32_t kOne = 127u << 23, kLeastDivisor = kOne - (25u << 23),
                                 kMostDivisor = kOne + (25u << 23), kBit = 1u << 30,
                                 kShift = kBit - (kOne - (100u << 23));
  struct Divisor {
    NodeId id;
    int inverse = 0, allowed = 0;  // slots
  };
  struct Exception {
    Xbyak::Label begin, end;
    Xmm to, a, b;
  };
  const Divisor* find(NodeId id) const {
    const auto it = std::find_if(divisors_.begin(), divisors_.end(), [&](const Divisor& d) { return d.id == id; });
    return it == divisors_.end() ? nullptr : &*it;
  }
  std::vector<Divisor> divisors_;
  std::list<Exception> exceptions_;  // code that is beside the loop
};

}  // namespace shard::runtime::generated
