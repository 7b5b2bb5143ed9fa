// What looks across the lanes of one vector.
#pragma once
#include "runtime/kernels/generated/registers.h"

namespace shard::runtime::generated {

class Lanes : public Registers {
 protected:
  using Registers::Registers;

  void fill(NodeId id) {
    const Node& n = f_.at(id);
    const Xmm x = held(n.a), to = in(take(), n.kind);
    vmovups(to, constant(n.kind, n.value));
    vmovaps(to | left(0), x);
    give(id, to.getIdx());
  }
  void lane(NodeId id) {  // of vectors of 32 bytes or more
    const Node& n = f_.at(id);
    const Xmm x = held(n.a), made = in(take(), n.kind);
    const auto spread = [&](auto to, auto from) {
      vmovups(to, constant(Kind::I32, n.value));
      vpermps(to, to, from);
    };
    made.isZMM() ? spread(Zmm(made.getIdx()), Zmm(x.getIdx())) : spread(Ymm(made.getIdx()), Ymm(x.getIdx()));
    give(id, made.getIdx());
  }
  void swap(NodeId id) {  // of 4-byte lanes
    const Node& n = f_.at(id);
    const int from = held(n.a).getIdx(), to = take();
    if (n.value < 4)
      vpermilps(in(to, n.kind), in(from, n.kind), n.value == 2 ? 0x4e : 0xb1);
    else if (in(to, n.kind).isZMM())
      vshuff64x2(Zmm(to), Zmm(from), Zmm(from), n.value == 8 ? 0x4e : 0xb1);
    else
      vperm2f128(Ymm(to), Ymm(from), Ymm(from), 1);
    give(id, to);
  }
};

}  // namespace shard::runtime::generated
