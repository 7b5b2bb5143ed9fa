// Functions whose formula holds but for rare operands, of which the C library computes them: it is called from beside
// the loop where a vector has such a lane.
#pragma once
#include <array>
#include <bit>
#include <list>

#include "runtime/kernels/generated/quotients.h"

namespace shard::runtime::generated {

struct Library {  // by what nodes of Op::Rare have as `value`
  Code code;
  float (*of)(float);
  float limit;  // the formula holds for magnitudes up to it
};
extern const std::array<Library, 3> kLibrary;

class Rare : public Quotients {
 protected:
  using Quotients::Quotients;

  void rare(NodeId id) {
    const Node& n = f_.at(id);
    const auto limit = std::bit_cast<std::uint32_t>(kLibrary[n.value].limit);
    const Xmm usual = held(n.a), x = held(n.b), size = held(n.c), to = in(take(), n.kind);
    Case& c = cases_.emplace_back();
    c.what = static_cast<std::uint32_t>(x.getIdx() | to.getIdx() << 8 | lanes_ << 24) |
             static_cast<std::uint32_t>(n.value) << 16;
    vmovaps(to, usual);
    if (vector_ == 64) {
      vcmpps(k1, size, constant(Kind::F32, limit), kAbove);
      kortestw(k1, k1);
      jnz(c.begin, T_NEAR);
    } else {
      const Xmm above = in(take(), n.kind);
      vcmpps(above, size, constant(Kind::F32, limit), kAbove);
      vmovmskps(eax, above);
      test(eax, eax);
      jnz(c.begin, T_NEAR);
    }
    L(c.end);
    give(id, to.getIdx());
  }
  void end_rare() {
    for (Case& c : cases_) {
      L(c.begin);
      mov(eax, c.what);
      call(patch_);
      jmp(c.end, T_NEAR);
    }
    if (!cases_.empty()) patch();
  }

 private:
  static constexpr std::uint8_t kAbove = 0x1e;  // false of nan
  struct Case {
    Xbyak::Label begin, end;
    std::uint32_t what = 0;
  };
  // All registers that the code may use go to the stack and come back, the result's as the function made it.
  void patch() {
    constexpr std::array kSaved{Xbyak::Operand::RCX, Xbyak::Operand::RDX, Xbyak::Operand::RSI, Xbyak::Operand::RDI,
                                Xbyak::Operand::R8,  Xbyak::Operand::R9,  Xbyak::Operand::R10, Xbyak::Operand::R11};
    constexpr int kMasks = 4;
    const bool full = vector_ == 64;
    const int vectors = how_many(full) * vector_,
              bytes = vectors + kMasks * 8 + 8;  // with what is pushed, 16 times some
    const auto each = [&](auto of) {
      for (int r = 0; r < how_many(full); ++r) of(full ? static_cast<Xmm>(Zmm(r)) : Ymm(r), ptr[rsp + r * vector_]);
    };
    L(patch_);
    for (const int r : kSaved) push(Xbyak::Reg64(r));
    sub(rsp, bytes);
    each([&](const Xmm& r, const Address& at) { vmovups(at, r); });
    for (int v = 0; full && v < kMasks; ++v) kmovq(ptr[rsp + vectors + 8 * v], left(v));
    mov(edi, eax);
    mov(rsi, rsp);
    mov(edx, vector_);
    mov(rax, reinterpret_cast<std::uint64_t>(&compute));
    vzeroupper();
    call(rax);
    each([&](const Xmm& r, const Address& at) { vmovups(r, at); });
    for (int v = 0; full && v < kMasks; ++v) kmovq(left(v), ptr[rsp + vectors + 8 * v]);
    add(rsp, bytes);
    for (std::size_t i = kSaved.size(); i-- > 0;) pop(Xbyak::Reg64(kSaved[i]));
    ret();
  }
  // `what`: by byte the registers of operand and result, the function, the lanes. `vector`: bytes of each register.
  static void compute(std::uint32_t what, unsigned char* registers, std::uint32_t vector);

  std::list<Case> cases_;  // code that is beside the loop
  Xbyak::Label patch_;
};

}  // namespace shard::runtime::generated
