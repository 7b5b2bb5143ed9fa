// Where the slots of a loop's plans lie from turn to turn, said once for those who run turns and for those who write
// their code: `At` is an address, or what stands for one. Slots take: set(slot, in even turns, in odd ones);
// moving(slot, in turn 0, bytes a turn); start(where it lies in turn 0, the operand, bytes).
#pragma once
#include "interpreter/exec/turns.h"

namespace shard::exec {

// `moved(at, bytes)` is found where `At` is. `mine`: the loop's scratch.
template <class At, class Slots>
void wire(const ScanLoop& l, const At* in, const At* out, At mine, Slots& slots) {
  for (std::size_t i = 0; i < l.consts; ++i) slots.set(1 + i, in[i], in[i]);
  slots.set(l.body.arena_slot(), mine, mine);
  for (std::size_t i = 0; i < l.carry; ++i) {
    At now = out[i], next = now;
    if (!l.in_place[i]) (l.length % 2 ? now : next) = moved(mine, l.buffers[i]);  // the last turn writes the result
    slots.set(1 + l.consts + i, now, next);
    slots.set(l.body.result_slot(i), next, now);
    slots.start(now, in[l.consts + i], l.carry_bytes[i]);
  }
  const auto rows_of = [&](std::size_t slot, const At& all, std::int64_t step) {
    slots.moving(slot, l.reverse ? moved(all, (l.length - 1) * step) : all, l.reverse ? -step : step);
  };
  const std::size_t first = l.consts + l.carry;
  for (std::size_t i = 0; i < l.rows; ++i) rows_of(1 + first + i, in[first + i], l.row_step[i]);
  for (std::size_t i = 0; i < l.stacked; ++i)
    rows_of(l.body.result_slot(l.carry + i), out[l.carry + i], l.stacked_step[i]);
}

// Of the condition, which is asked before the turn, and of the body.
template <class At, class Asked, class Slots>
void wire(const WhileLoop& l, const At* in, const At* out, At mine, Asked& asked, Slots& slots) {
  for (std::size_t i = 0; i < l.condition_consts; ++i) asked.set(1 + i, in[i], in[i]);
  for (std::size_t i = 0; i < l.body_consts; ++i)
    slots.set(1 + i, in[l.condition_consts + i], in[l.condition_consts + i]);
  const At arena = moved(mine, l.condition_at), verdict = moved(mine, l.verdict);
  asked.set(l.condition.arena_slot(), arena, arena);
  asked.set(l.condition.result_slot(0), verdict, verdict);
  slots.set(l.body.arena_slot(), mine, mine);
  for (std::size_t i = 0; i < l.carry; ++i) {
    const At now = out[i], next = l.in_place[i] ? now : moved(mine, l.buffers[i]);
    asked.set(1 + l.condition_consts + i, now, next);
    slots.set(1 + l.body_consts + i, now, next);
    slots.set(l.body.result_slot(i), next, now);
    slots.start(now, in[l.condition_consts + l.body_consts + i], l.carry_bytes[i]);
  }
}

}  // namespace shard::exec
