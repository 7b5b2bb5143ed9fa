// Sums of all elements, in kSumLanes lanes in memory, element i in lane i mod kSumLanes, the lanes by halves: the order
// of vector/reduce_loops.cpp. Of shorter rows, which are of f32 and AVX-512 alone, in kFewLanes.
#pragma once
#include "runtime/kernels/generated/rare.h"

namespace shard::runtime::generated {

class Sums : public Rare {
 protected:
  using Rare::Rare;

  void find_sums(std::span<const Stored> stored) {
    for (const Stored& s : stored)
      if (s.sum && s.vector == 0) sums_.push_back(s.operand);
  }
  std::size_t sum_bytes() const { return sums_.size() * kSumBytes; }
  void begin_sums() {
    for (std::size_t i = 0; i < sums_.size() && !once(); ++i) begin_sum(i);
  }
  void add_to_sum(const Stored& s) {
    const auto i = static_cast<std::size_t>(std::find(sums_.begin(), sums_.end(), s.operand) - sums_.begin());
    const Xmm x = held(s.node);
    if (once()) {
      vmovups(ptr[sum_at(i) + rcx * sum_item(i) + s.vector * lanes_ * sum_item(i)], x);
      pinned_ = 0;
      return;
    }
    if (few()) return add_to_few(i, x, s.vector);
    const Xmm sum = in(take(), operands_[s.operand].kind);
    lea(eax, ptr[rcx + s.vector * lanes_]);
    and_(eax, kSumLanes - 1);
    const Address at = ptr[sum_at(i) + rax * sum_item(i)];
    vmovups(sum, at);
    const Xmm to = ragged_ ? sum | left(s.vector) : sum;
    sum_item(i) == 4 ? vaddps(to, sum, x) : vaddpd(to, sum, x);
    vmovups(at, sum);
    pinned_ = 0;
  }
  void end_sums() {
    for (std::size_t i = 0; i < sums_.size(); ++i) end_sum(i);
  }

 private:
  static constexpr int kSumLanes = 64, kFewLanes = 8;
  bool few() const { return row_ > 0 && row_ < kSumLanes; }
  void add_to_few(std::size_t i, const Xmm& x, int vector) {
    const Ymm sum(take()), low(x.getIdx()), high(take());
    vmovups(sum, ptr[sum_at(i)]);
    vaddps(ragged_ ? sum | left(vector) : sum, sum, low);
    if (x.isZMM()) {
      if (ragged_) kshiftrw(k1, left(vector), kFewLanes);
      vextractf64x4(high, Zmm(x.getIdx()), 1);
      vaddps(ragged_ ? sum | k1 : sum, sum, high);
    }
    vmovups(ptr[sum_at(i)], sum);
    pinned_ = 0;
  }
  bool once() const { return row_ == kSumLanes; }  // each lane has one element
  static constexpr std::uint32_t kSumBytes = kSumLanes * 8;
  Xbyak::RegExp sum_at(std::size_t i) const { return rsp + static_cast<int>(slot_bytes() + i * kSumBytes); }
  int sum_item(std::size_t i) const { return static_cast<int>(bytes_of(operands_[sums_[i]].kind)); }
  void begin_sum(std::size_t i) {  // with -0, which changes nothing that is added to it
    const bool single = sum_item(i) == 4;
    vmovups(Ymm(0), constant(single ? Kind::F32 : Kind::F64, single ? 0x80000000u : std::uint64_t{1} << 63));
    for (int at = 0; at < (few() ? kFewLanes : kSumLanes) * sum_item(i); at += 32) vmovups(ptr[sum_at(i) + at], Ymm(0));
  }
  void end_sum(std::size_t i) {
    const bool single = sum_item(i) == 4;
    const auto add_up = [&](const Xmm& x, const Xbyak::Operand& y) { single ? vaddps(x, x, y) : vaddpd(x, x, y); };
    int vectors = few() ? 0 : kSumLanes * sum_item(i) / 64;  // of the first half of the lanes
    if (few()) vmovups(Ymm(0), ptr[sum_at(i)]);
    for (int v = 0; v < vectors; ++v) {
      vmovups(Ymm(v), ptr[sum_at(i) + 32 * v]);
      add_up(Ymm(v), ptr[sum_at(i) + 32 * (v + vectors)]);
    }
    for (vectors /= 2; vectors >= 1; vectors /= 2)
      for (int v = 0; v < vectors; ++v) add_up(Ymm(v), Ymm(v + vectors));
    vextractf128(Xmm(1), Ymm(0), 1);
    add_up(Xmm(0), Xmm(1));
    vunpckhpd(Xmm(1), Xmm(0), Xmm(0));
    add_up(Xmm(0), Xmm(1));
    if (single) {
      vmovshdup(Xmm(1), Xmm(0));
      add_up(Xmm(0), Xmm(1));
    }
    const Address to = ptr[base(sums_[i])];
    single ? vmovss(to, Xmm(0)) : vmovsd(to, Xmm(0));
  }

  std::vector<std::size_t> sums_;  // operands
};

}  // namespace shard::runtime::generated
