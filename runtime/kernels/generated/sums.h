// Sums of all elements, in kSumLanes lanes, element i in lane i mod kSumLanes, the lanes by halves: the order of
// vector/reduce_loops.cpp. Of shorter rows, which are of f32 and AVX-512 alone, in kFewLanes. Lanes are in memory, or
// in registers where each turn adds to all of them: a store that is read again at once takes longer than what it adds.
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
  // Registers for their lanes, as far as `free` ones suffice; how many are left. `vectors`: of a turn; `row`: elements
  // of a row, 0 where there are none.
  int keep_sums(int vectors, std::int64_t row, int free) {
    if (one_ || vectors * lanes_ != kSumLanes || (row > 0 && row <= kSumLanes)) return free;
    for (; kept_.size() < sums_.size() && free >= vectors; free -= vectors) kept_.push_back(registers_ -= vectors);
    return free;
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
    if (is_kept(i)) {
      const Xmm sum = kept(i, s.vector);
      add_up(i, ragged_ ? sum | left(s.vector) : sum, sum, x);
      pinned_ = 0;
      return;
    }
    const Xmm sum = in(take(), operands_[s.operand].kind);
    lea(eax, ptr[rcx + s.vector * lanes_]);
    and_(eax, kSumLanes - 1);
    const Address at = ptr[sum_at(i) + rax * sum_item(i)];
    vmovups(sum, at);
    const Xmm to = ragged_ ? sum | left(s.vector) : sum;
    add_up(i, to, sum, x);
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
  bool is_kept(std::size_t i) const { return i < kept_.size(); }
  Xmm kept(std::size_t i, int vector) const { return in(kept_[i] + vector, operands_[sums_[i]].kind); }
  void add_up(std::size_t i, const Xmm& to, const Xmm& x, const Xbyak::Operand& y) {
    sum_item(i) == 4 ? vaddps(to, x, y) : vaddpd(to, x, y);
  }
  void begin_sum(std::size_t i) {  // with -0, which changes nothing that is added to it
    const bool single = sum_item(i) == 4;
    const Address none = constant(single ? Kind::F32 : Kind::F64, single ? 0x80000000u : std::uint64_t{1} << 63);
    if (is_kept(i)) {
      for (int v = 0; v < kSumLanes / lanes_; ++v) vmovups(kept(i, v), none);
      return;
    }
    vmovups(Ymm(0), none);
    for (int at = 0; at < (few() ? kFewLanes : kSumLanes) * sum_item(i); at += 32) vmovups(ptr[sum_at(i) + at], Ymm(0));
  }
  void end_sum(std::size_t i) {
    const bool single = sum_item(i) == 4;
    if (is_kept(i)) {  // of vectors of 64 bytes
      for (int v = kSumLanes / lanes_ / 2; v >= 1; v /= 2)
        for (int to = 0; to < v; ++to) add_up(i, kept(i, to), kept(i, to), kept(i, to + v));
      vextractf64x4(Ymm(0), Zmm(kept_[i]), 1);
      add_up(i, Ymm(0), Ymm(kept_[i]), Ymm(0));
    } else {
      int vectors = few() ? 0 : kSumLanes * sum_item(i) / 64;  // of the first half of the lanes
      if (few()) vmovups(Ymm(0), ptr[sum_at(i)]);
      for (int v = 0; v < vectors; ++v) {
        vmovups(Ymm(v), ptr[sum_at(i) + 32 * v]);
        add_up(i, Ymm(v), Ymm(v), ptr[sum_at(i) + 32 * (v + vectors)]);
      }
      for (vectors /= 2; vectors >= 1; vectors /= 2)
        for (int v = 0; v < vectors; ++v) add_up(i, Ymm(v), Ymm(v), Ymm(v + vectors));
    }
    vextractf128(Xmm(1), Ymm(0), 1);
    add_up(i, Xmm(0), Xmm(0), Xmm(1));
    vunpckhpd(Xmm(1), Xmm(0), Xmm(0));
    add_up(i, Xmm(0), Xmm(0), Xmm(1));
    if (single) {
      vmovshdup(Xmm(1), Xmm(0));
      add_up(i, Xmm(0), Xmm(0), Xmm(1));
    }
    const Address to = ptr[base(sums_[i])];
    single ? vmovss(to, Xmm(0)) : vmovsd(to, Xmm(0));
  }

  std::vector<std::size_t> sums_;  // operands
  std::vector<int> kept_;          // the first register of each of the first ones
};

}  // namespace shard::runtime::generated
