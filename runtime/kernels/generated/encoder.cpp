#include "runtime/kernels/generated/encoder.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/kernels/generated/stores.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime::generated {
namespace {

// Writes the code. AVX-512, whose comparisons give masks of bits, has twice the registers and the bytes of AVX2.
class Encoder : public Stores {
 public:
  Encoder(const Formula& formula, std::span<const Operand> operands, std::span<const Stored> stored, Turn turn,
          bool full, int free, std::int64_t row, ExecutableMemory& memory)
      : Stores(formula, operands, turn, full, memory), stored_(stored), waits_(formula.nodes.size()) {
    const std::size_t n = f_.nodes.size();
    for (std::size_t i = 0; i < n; ++i) {
      const Node& node = f_.nodes[i];
      for (const NodeId from : {node.a, node.b, node.c})
        if (from >= 0) uses_[index(from)].push_back(static_cast<int>(i));
    }
    for (const Stored& s : stored_) uses_[index(s.node)].push_back(static_cast<int>(n));
    // A formula writes what it may not need (the other result of a function): its nodes are left out.
    for (std::size_t i = n; i-- > 0;)
      if (uses_[i].empty())
        for (const NodeId from : {f_.nodes[i].a, f_.nodes[i].b, f_.nodes[i].c})
          if (from >= 0) std::erase(uses_[index(from)], static_cast<int>(i));
    for (std::size_t i = 0; i < n; ++i) wait_for_picks(i);
    find_sums(stored_);
    keep(keep_sums(vectors(), row, free));
    find_divisors();
  }

  int lanes() const { return lanes_ * vectors(); }  // of a turn
  // Whether the code does rows of so many elements one after the other.
  bool does_rows(std::int64_t row) const { return row < kLongestRow && (ragged_ || row % lanes() == 0); }

  void write(std::int64_t row) {
    row_ = static_cast<int>(row);
    // Of the registers of addresses, a caller wants the last ones back.
    const std::size_t bases = std::min(operands_.size(), kBases.size()), saved = std::max(bases, kFree) - kFree;
    push(rbp);
    mov(rbp, rsp);
    for (std::size_t i = 0; i < saved; ++i) push(Xbyak::Reg64(kBases[kFree + i]));
    sub(rsp, static_cast<std::uint32_t>(slot_bytes() + sum_bytes()));
    and_(rsp, -vector_);
    for (std::size_t i = 0; i < bases; ++i) mov(Xbyak::Reg64(kBases[i]), ptr[rdi + 8 * i]);
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      const Node& node = f_.nodes[i];
      const auto id = static_cast<NodeId>(i);
      if (node.op == Op::Constant && stays(id)) vmovups(in(id), constant(node.kind, node.value));
    }
    xor_(ecx, ecx);
    one_turn_ = row_ > 0 && row_ <= lanes();
    if (ragged_ && one_turn_) find_left(vectors());
    Xbyak::Label next_row, again;
    L(next_row);
    for (std::size_t i = 0; i < f_.nodes.size(); ++i)
      if (!uses_[i].empty() && is_spread(f_.nodes[i])) spread(static_cast<NodeId>(i));
    begin_divisors();
    begin_sums();
    align(32);
    L(again);
    if (ragged_ && !one_turn_) find_left(vectors());
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      const Node& node = f_.nodes[i];
      now_ = static_cast<int>(i);
      if (!uses_[i].empty() && !waits_[i] && node.op != Op::Load && node.op != Op::Constant)
        compute(static_cast<NodeId>(i));
    }
    now_ = static_cast<int>(f_.nodes.size());
    for (std::size_t i = 0; i < stored_.size(); ++i) {
      const Stored& s = stored_[i];
      if (i + 1 < stored_.size() && go_together(s, stored_[i + 1]))
        store_both(s, stored_[++i]);
      else
        s.sum ? add_to_sum(s) : store(s);
    }
    if (!one_turn_) {
      add(rcx, lanes());
      row_ ? cmp(rcx, row_) : cmp(rcx, rsi);
      jb(again, T_NEAR);
    }
    end_sums();
    if (row_) {
      to_next_row();
      if (!one_turn_) xor_(ecx, ecx);
      sub(rsi, row_);
      ja(next_row, T_NEAR);
    }
    lea(rsp, ptr[rbp - static_cast<int>(8 * saved)]);
    for (std::size_t i = saved; i-- > 0;) pop(Xbyak::Reg64(kBases[kFree + i]));
    pop(rbp);
    vzeroupper();
    ret();
    end_stores();
    end_divisors();
    end_rare();
    align(static_cast<std::size_t>(vector_));
    L(pool_);
    for (const auto& [kind, bits] : constants_)
      for (int at = 0; at < vector_; at += static_cast<int>(bytes_of(kind)))
        bytes_of(kind) == 4 ? dd(static_cast<std::uint32_t>(bits)) : dq(bits);
  }

 private:
  static constexpr std::int64_t kLongestRow = 1 << 24;  // what lies between two rows is a displacement
  int vectors() const { return stored_.back().vector + 1; }
  void to_next_row() {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const auto bytes = static_cast<std::uint32_t>(operands_[i].apart);  // of backward ones too
      if (bytes != 0 && i < kBases.size())
        add(Xbyak::Reg64(kBases[i]), bytes);
      else if (bytes != 0)
        add(qword[rdi + 8 * i], bytes);
    }
  }
  static bool compares(Op op) { return op == Op::Less || op == Op::AtMost || op == Op::Equal || op == Op::Differs; }
  // A comparison that only chooses is done where it chooses, so that its bits need not become lanes.
  void wait_for_picks(std::size_t i) {
    const Node& n = f_.nodes[i];
    const auto picks = [&](int by) { return index(by) < f_.nodes.size() && f_.at(by).op == Op::Pick; };
    waits_[i] = masks_ && compares(n.op) && std::all_of(uses_[i].begin(), uses_[i].end(), picks);
    if (!waits_[i]) return;
    for (const NodeId from : {n.a, n.b}) {
      auto& uses = uses_[index(from)];
      uses.insert(uses.end(), uses_[i].begin(), uses_[i].end());
      std::sort(uses.begin(), uses.end());
    }
  }
  // What the code of a node reads.
  std::array<NodeId, 4> read_by(const Node& n) const {
    if (n.a < 0 || !waits_[index(n.a)]) return {n.a, n.b, n.c, kNone};
    return {f_.at(n.a).a, f_.at(n.a).b, n.b, n.c};
  }

  // One element for all, to the register that it keeps or to the stack.
  void spread(NodeId id) {
    const Node& n = f_.at(id);
    const Xmm to = stays(id) ? in(id) : one_ ? Xmm(0) : in(0, n.kind);
    const Address from = ptr[base(n.value)];
    if (const Form form = operands_[n.value].form; form != Form::Held) {
      load_one(Xmm(0), from, form);
      vbroadcastss(to, Xmm(0));
    } else if (bytes_of(n.kind) == 4) {
      vbroadcastss(to, from);
    } else {
      vpbroadcastq(to, from);
    }
    if (stays(id)) return;
    slot_[index(id)] = slots_++;
    vmovups(on_stack(id), to);
  }

  void compute(NodeId id) {
    const Node& n = f_.at(id);
    NodeId a = n.a, b = n.b;
    const bool commutes = n.op == Op::Add || n.op == Op::Mul || n.op == Op::And || n.op == Op::Or || n.op == Op::Xor ||
                          n.op == Op::Equal || n.op == Op::Differs;
    if (commutes && register_[index(a)] == kNone && register_[index(b)] != kNone) std::swap(a, b);
    if (n.op == Op::Pick && masks_) {
      pick(id);
    } else if (n.op == Op::Pick) {
      const Xmm mask = held(a), otherwise = held(n.c);
      const Xbyak::Operand& chosen = held_or_there(b);
      const Xmm to = result(id);
      is_float(n.kind)
          ? (n.kind == Kind::F32 ? vblendvps(to, otherwise, chosen, mask) : vblendvpd(to, otherwise, chosen, mask))
          : vpblendvb(to, otherwise, chosen, mask);
    } else if (n.op == Op::Fused) {
      fused(id);
    } else if (divides(id)) {
      divide(id);
    } else if (n.op == Op::Upper) {
      upper(id);
    } else if (n.op == Op::Merge) {
      merge(id);
    } else if (n.op == Op::Brain) {
      brain(id);
    } else if (n.op == Op::Rare) {
      rare(id);
    } else if (compares(n.op)) {
      compare(id, a, b);
    } else if (b >= 0) {
      const Xmm x = held(a);
      const Xbyak::Operand& y = held_or_there(b);
      binary(n, result(id), x, y);
    } else {
      unary(id);
    }
    pinned_ = 0;
    for (const NodeId from : read_by(n))
      if (from >= 0 && dead(from)) drop(from);
  }
  Xmm result(NodeId id) {
    // An operand that is read for the last time leaves its register to the result.
    const Node& n = f_.at(id);
    for (const NodeId from : read_by(n))
      if (from >= 0 && ends(from)) return over(from, id);
    give(id, take());
    return in(id);
  }
  // It is in a register, and read for the last time.
  bool ends(NodeId from) const { return dead(from) && register_[index(from)] != kNone; }
  Xmm over(NodeId from, NodeId id) {
    const int r = register_[index(from)];
    drop(from);
    give(id, r);
    return in(id);
  }

  // Overwrites an operand that is read for the last time, else a copy of what is added.
  void fused(NodeId id) {
    const Node& n = f_.at(id);
    if (ends(n.a) || ends(n.b)) {
      const auto [last, by] = ends(n.a) ? std::pair(n.a, n.b) : std::pair(n.b, n.a);
      held(last);
      const Xmm y = held(by);
      const Xbyak::Operand& z = held_or_there(n.c);
      return vfmadd213ps(over(last, id), y, z);
    }
    const Xmm x = held(n.a);
    if (ends(n.c)) {
      held(n.c);
      const Xbyak::Operand& y = held_or_there(n.b);
      return vfmadd231ps(over(n.c, id), x, y);
    }
    const Xmm y = held(n.b);
    const Xbyak::Operand& z = held_or_there(n.c);
    give(id, take());
    vmovups(in(id), z);
    vfmadd231ps(in(id), x, y);
  }

  // Processors multiply every other lane to twice its width.
  void upper(NodeId id) {
    const Node& n = f_.at(id);
    const auto factor = [&] { return constant(Kind::I32, f_.at(n.b).value); };
    const auto by = static_cast<std::uint8_t>(n.value);
    const Xmm x = held(n.a);
    if (one_) {
      const Xmm to = result(id);
      vpmuludq(to, x, factor());
      return vpsrlq(to, to, 32 + by);
    }
    const Xmm even = in(take(), n.kind);
    const int r = take();
    const Xmm odd = in(r, n.kind);
    vpmuludq(even, x, factor());
    vpsrlq(odd, x, 32);
    vpmuludq(odd, odd, factor());
    vpsrlq(even, even, 32 + by);
    vpsrlq(odd, odd, by);
    vandps(odd, odd, constant(Kind::I64, 0xffffffff00000000u));
    vorps(odd, odd, even);
    give(id, r);
  }

  // As rounded_to_bf16 (vector/functions.h) has it: ties to even, and nan stays one.
  void brain(NodeId id) {
    const Xmm x = held(f_.at(id).a);
    give(id, take());
    const Xmm to = in(id);
    vptestmd(k1, x, constant(Kind::I32, 0x10000));
    vpaddd(to, x, constant(Kind::I32, 0x7fff));
    vpaddd(to | k1, to, constant(Kind::I32, 1));
    vcmpps(k1, x, x, 3);
    vorps(to | k1, x, constant(Kind::I32, 0x400000));
  }

  // The bits of the third operand choose: of both others one is overwritten.
  void merge(NodeId id) {
    constexpr std::uint8_t kFirst = 0xe4, kSecond = 0xd8;  // of what is overwritten and what is not, where a bit is set
    const Node& n = f_.at(id);
    const bool second = !ends(n.a) && ends(n.b);
    const NodeId from = second ? n.b : n.a;
    Xmm to = held(from);
    const Xmm other = held(second ? n.a : n.b);
    const Xbyak::Operand& chooses = held_or_there(n.c);
    if (ends(from)) {
      over(from, id);
    } else {
      give(id, take());
      vmovups(in(id), to);
      to = in(id);
    }
    vpternlogd(to, other, chooses, second ? kSecond : kFirst);
  }

  void binary(const Node& n, const Xmm& to, const Xmm& x, const Xbyak::Operand& y) {
    const bool wide = bytes_of(n.kind) == 8, single = n.kind == Kind::F32;
    switch (n.op) {
      case Op::Add:
        if (is_float(n.kind)) return single ? vaddps(to, x, y) : vaddpd(to, x, y);
        return wide ? vpaddq(to, x, y) : vpaddd(to, x, y);
      case Op::Sub:
        if (is_float(n.kind)) return single ? vsubps(to, x, y) : vsubpd(to, x, y);
        return wide ? vpsubq(to, x, y) : vpsubd(to, x, y);
      case Op::Mul:
        if (is_float(n.kind)) return single ? vmulps(to, x, y) : vmulpd(to, x, y);
        return vpmulld(to, x, y);
      case Op::Larger:
        if (is_float(n.kind)) return single ? vmaxps(to, x, y) : vmaxpd(to, x, y);
        return vpmaxsd(to, x, y);
      case Op::Smaller:
        if (is_float(n.kind)) return single ? vminps(to, x, y) : vminpd(to, x, y);
        return vpminsd(to, x, y);
      case Op::Scale: return vscalefps(to, x, y);
      case Op::Div: return single ? vdivps(to, x, y) : vdivpd(to, x, y);
      case Op::And: return vandps(to, x, y);
      case Op::Or: return vorps(to, x, y);
      default: return vxorps(to, x, y);
    }
  }
  // The number of a comparison of floats; its low bits are those of integers.
  static std::uint8_t number_of(Op op) {
    return op == Op::Less ? 0x11 : op == Op::AtMost ? 0x12 : op == Op::Equal ? 0 : 4;
  }
  void compare_bits(const Node& n) {
    const auto of = static_cast<Kind>(n.value);
    const std::uint8_t how = number_of(n.op);
    const Xmm x = held(n.a);
    const Xbyak::Operand& y = held_or_there(n.b);
    switch (of) {
      case Kind::F32: return vcmpps(k1, x, y, how);
      case Kind::F64: return vcmppd(k1, x, y, how);
      case Kind::I32: return vpcmpd(k1, x, y, how & 7);
      case Kind::I64: return vpcmpq(k1, x, y, how & 7);
    }
  }
  void pick(NodeId id) {
    const Node& n = f_.at(id);
    const bool wide = bytes_of(n.kind) == 8;
    if (waits_[index(n.a)]) {
      compare_bits(f_.at(n.a));
    } else {
      const Xmm mask = held(n.a);
      wide ? vpmovq2m(k1, mask) : vpmovd2m(k1, mask);
    }
    const Xmm otherwise = held(n.c);
    const Xbyak::Operand& chosen = held_or_there(n.b);
    const Xmm to = result(id);
    wide ? vblendmpd(to | k1, otherwise, chosen) : vblendmps(to | k1, otherwise, chosen);
  }
  void compare(NodeId id, NodeId a, NodeId b) {
    const Node& n = f_.at(id);
    const auto of = static_cast<Kind>(n.value);
    if (masks_) {
      compare_bits(n);
      const Xmm to = result(id);
      return bytes_of(n.kind) == 8 ? vpmovm2q(to, k1) : vpmovm2d(to, k1);
    }
    if (is_float(of)) {
      const std::uint8_t how = number_of(n.op);
      const Xmm x = held(a);
      const Xbyak::Operand& y = held_or_there(b);
      return of == Kind::F32 ? vcmpps(result(id), x, y, how) : vcmppd(result(id), x, y, how);
    }
    if (n.op == Op::Less) std::swap(a, b);  // there is only "greater"
    const Xmm x = held(a);
    const Xbyak::Operand& y = held_or_there(b);
    const Xmm to = result(id);
    if (n.op == Op::Less || n.op == Op::AtMost)
      bytes_of(of) == 4 ? vpcmpgtd(to, x, y) : vpcmpgtq(to, x, y);
    else
      bytes_of(of) == 4 ? vpcmpeqd(to, x, y) : vpcmpeqq(to, x, y);
    if (n.op == Op::AtMost || n.op == Op::Differs) vxorps(to, to, constant(n.kind, ~std::uint64_t{0}));
  }
  void unary(NodeId id) {
    const Node& n = f_.at(id);
    const bool wide = bytes_of(n.kind) == 8, single = n.kind == Kind::F32;
    const auto by = static_cast<std::uint8_t>(n.value);
    if (n.op == Op::Left || n.op == Op::Right || n.op == Op::Down) {
      const Xmm x = held(n.a), to = result(id);
      if (n.op == Op::Left) return wide ? vpsllq(to, x, by) : vpslld(to, x, by);
      if (n.op == Op::Right) return vpsrad(to, x, by);
      return wide ? vpsrlq(to, x, by) : vpsrld(to, x, by);
    }
    if (n.op == Op::Narrower) return narrower(id);
    if (n.op == Op::Fill) return fill(id);
    if (n.op == Op::Lane) return lane(id);
    if (n.op == Op::Swap) return swap(id);
    const Xmm x = held(n.a), to = result(id);
    switch (n.op) {
      case Op::Root: return single ? vsqrtps(to, x) : vsqrtpd(to, x);
      case Op::Floor: return round(to, x, single, 9);
      case Op::Ceil: return round(to, x, single, 10);
      case Op::Round: return round(to, x, single, 8);
      case Op::Half: vcvtps2ph(half_of(to), x, 0); return vcvtph2ps(to, half_of(to));
      case Op::Whole:
        if (n.kind == Kind::I32 && f_.at(n.a).kind == Kind::F32) return vcvttps2dq(to, x);
        if (n.kind == Kind::I32) return whole_part(to, x, by == 1);
        return single ? vcvtdq2ps(to, x) : vcvtdq2pd(to, x);
      case Op::Wider: return is_float(n.kind) ? vcvtps2pd(to, x) : vpmovsxdq(to, x);
      default: return vmovaps(to, x);  // Kept
    }
  }
  void whole_part(const Xmm& to, const Xmm& x, bool down) {
    if (down && masks_) return vcvtpd2dq(to, x | T_rd_sae);
    if (!down) return vcvttpd2dq(to, x);
    const Xmm rounded = in(to.getIdx(), Kind::F64);
    vroundpd(rounded, x, 9);
    vcvttpd2dq(to, rounded);
  }
  void round(const Xmm& to, const Xmm& x, bool single, std::uint8_t how) {
    if (masks_) return single ? vrndscaleps(to, x, how) : vrndscalepd(to, x, how);
    single ? vroundps(to, x, how) : vroundpd(to, x, how);
  }
  void narrower(NodeId id) {
    const Node& n = f_.at(id);
    const Xmm x = held(n.a);
    if (is_float(n.kind)) return vcvtpd2ps(result(id), x);
    if (masks_) return vpmovqd(result(id), x);
    const int r = take();
    vextracti128(Xmm(r), Ymm(x.getIdx()), 1);
    vshufps(Xmm(r), Xmm(x.getIdx()), Xmm(r), 0x88);
    give(id, r);
  }

  std::span<const Stored> stored_;
  std::vector<bool> waits_;  // of each node: it is computed where it is read
};

}  // namespace

bool has_avx512() { return vector_table().isa == std::string_view("avx512"); }

bool can_encode() {
  static const bool can = [] {
    const char* wish = std::getenv("SHARD_KERNELS");
    return vector_table().isa != std::string_view("sse2") && !(wish && wish == std::string_view("loops"));
  }();
  return can;
}

namespace {

constexpr int kSpare = 6;  // registers of operands that are read where they are needed

// As many vectors side by side as the registers hold.
std::pair<Unrolled, int> unrolled(const Formula& given, std::span<const Operand> operands,
                                  std::span<const Stored> stored, int vectors, int registers) {
  for (;; vectors /= 2) {
    Unrolled out = side_by_side(given, operands, stored, vectors);
    const int free = registers - kSpare - held_at_most(out, operands);
    if (vectors == 1 || free >= 0) return {std::move(out), std::max(free, 0)};
  }
}

}  // namespace

MachineCode encode(const Formula& given, std::span<const Operand> operands, std::span<const Stored> given_stored,
                   Turn turn, std::int64_t elements, bool by_row) {
  // Few elements hardly fill vectors of half the width.
  const bool many = turn >= Turn::Vectors, full = many && has_avx512();
  int vectors = !many ? 1 : full ? 4 : 2;
  while (vectors > 1 && elements <= vectors / 2 * (full ? 16 : 8)) vectors /= 2;
  const auto touched = [&](int v) { return (elements + v * 16 - 1) / (v * 16) * (v * 16); };
  while (turn == Turn::Ragged && touched(vectors) - touched(1) > elements / 8) vectors /= 2;
  const auto [made, free] = unrolled(given, operands, given_stored, vectors, Encoder::how_many(full));
  const auto& [formula, stored] = made;
  constexpr std::size_t kEach = 200, kSum = 1024,
                        kFrame = 3072;  // bytes of a node with its constant; of a sum; of all else
  const auto sums =
      static_cast<std::size_t>(std::count_if(stored.begin(), stored.end(), [](auto& s) { return s.sum; }));
  MachineCode code{
      ExecutableMemory(kFrame + kEach * (formula.nodes.size() + operands.size() + stored.size()) + kSum * sums)};
  if (!code.memory.data()) return code;
  try {
    Encoder encoder(formula, operands, stored, turn, full, many ? free : 0, by_row ? elements : 0, code.memory);
    code.rows = by_row && encoder.does_rows(elements);
    encoder.write(code.rows ? elements : 0);
    encoder.ready();
    code.lanes = turn == Turn::Ragged ? 1 : encoder.lanes();
    if (code.memory.seal()) code.run = reinterpret_cast<MachineCode::Function>(code.memory.data());
  } catch (const Xbyak::Error&) {}  // the loops do it
  return code;
}

}  // namespace shard::runtime::generated
