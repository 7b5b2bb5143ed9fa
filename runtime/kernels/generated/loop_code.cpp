// Writes the code of loops: acts one after the other, each of which finds its addresses in the table.
#include "runtime/kernels/loop_code.h"

#include <xbyak/xbyak.h>

#include <bit>
#include <cstring>
#include <list>

#include "runtime/kernels/generated/encoder.h"
#include "runtime/kernels/generated/executable_memory.h"

namespace shard::runtime::generated {
namespace {

using Context = LoopCode::Context;

void copy_bytes(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void zero_bytes(void* to, std::size_t bytes) { std::memset(to, 0, bytes); }

// rbx: the table; r12: the context.
class Writer : public Xbyak::CodeGenerator {
 public:
  explicit Writer(ExecutableMemory& memory) : CodeGenerator(memory.size(), memory.data()) {}

  void write(const LoopPart::Loop& loop) {
    push(rbx), push(r12);
    sub(rsp, 8);
    mov(rbx, rdi), mov(r12, rsi);
    Xbyak::Label again, done;
    L(again);
    for (const LoopPart::Half& half : loop.halves) {
      turn(half);
      dec(qword[r12 + offsetof(Context, turns)]);
      jz(done, T_NEAR);
      if (loop.conditional) unless(half.verdict, done);
    }
    jmp(again, T_NEAR);
    L(done);
    xor_(eax, eax);
    L(end_);
    vzeroupper();
    add(rsp, 8);
    pop(r12), pop(rbx);
    ret();
    L(ended_);
    mov(eax, 1);
    jmp(end_, T_NEAR);
    for (Look& l : looks_) {
      L(l.begin);
      mov(rdi, r12);
      call(ptr[r12 + offsetof(Context, due)]);
      test(al, al);
      jnz(ended_, T_NEAR);
      jmp(l.end, T_NEAR);
    }
  }

 private:
  static constexpr std::int64_t kInline = 512;  // bytes of a copy
  Xbyak::Address place(std::size_t i) { return ptr[rbx + static_cast<int>(8 * i)]; }
  void call_of(const void* function) {
    mov(rax, reinterpret_cast<std::uintptr_t>(function));
    call(rax);
  }
  void unless(std::size_t verdict, Xbyak::Label& to) {
    mov(rax, place(verdict));
    cmp(byte[rax], 0);
    je(to, T_NEAR);
  }

  void acts(const LoopPart::Acts& all) {
    for (const LoopPart::Act& act : all) std::visit([&](const auto& a) { write_act(a); }, act);
  }
  void turn(const LoopPart::Half& half) {
    acts(half.acts);
    for (const auto& [i, bytes] : half.advances) move_on(i, bytes);
    acts(half.condition);
  }
  void move_on(std::size_t i, std::int64_t bytes) {
    if (bytes == static_cast<std::int32_t>(bytes))
      return add(qword[rbx + static_cast<int>(8 * i)], static_cast<std::uint32_t>(bytes));
    mov(rax, static_cast<std::uint64_t>(bytes));
    add(place(i), rax);
  }

  void write_act(const LoopPart::Copy& c) {
    mov(rdi, place(c.to));
    mov(rsi, place(c.from));
    Xbyak::Label same;
    cmp(rdi, rsi);
    je(same, T_NEAR);
    copy(0, 0, c.bytes);
    L(same);
  }
  void write_act(const LoopPart::Set& s) {
    mov(rax, place(s.from));
    mov(place(s.to), rax);
  }
  void write_act(const LoopPart::Elements& e) {
    lea(rdi, place(e.first));
    mov(esi, static_cast<std::uint32_t>(e.elements));
    call_of(reinterpret_cast<const void*>(e.code));
  }
  void write_act(const LoopPart::Called& c) {
    mov(rdi, r12);
    mov(rsi, reinterpret_cast<std::uintptr_t>(c.what));
    lea(rdx, place(c.first));
    call(ptr[r12 + offsetof(Context, call)]);
    test(al, al);
    jnz(ended_, T_NEAR);
  }
  void write_act(const std::unique_ptr<LoopPart::Choice>& c) {
    Xbyak::Label otherwise, done;
    unless(c->verdict, otherwise);
    acts(c->branches[0]);
    jmp(done, T_NEAR);
    L(otherwise);
    acts(c->branches[1]);
    L(done);
  }

  // ---- loops inside
  struct Look {
    Xbyak::Label begin, end;
  };
  void look() {  // at what ends runs, now and then
    Look& l = looks_.emplace_back();
    dec(qword[r12 + offsetof(Context, ahead)]);
    jz(l.begin, T_NEAR);
    L(l.end);
  }
  void write_act(const std::unique_ptr<LoopPart::Loop>& l) {
    acts(l->begin);
    Xbyak::Label again, after_first, done;
    if (l->conditional) {
      acts(l->halves[1].condition);  // of the first turn
      unless(l->halves[1].verdict, done);
    } else {
      if (l->turns == 0) return;
      mov(rax, static_cast<std::uint64_t>(l->turns));
      mov(place(l->counter), rax);
    }
    L(again);
    for (const int half : {0, 1}) {
      turn(l->halves[half]);
      look();
      Xbyak::Label& out = half == 0 ? after_first : done;
      if (l->conditional) {
        unless(l->halves[half].verdict, out);
      } else {
        dec(qword[rbx + static_cast<int>(8 * l->counter)]);
        jz(out, T_NEAR);
      }
    }
    jmp(again, T_NEAR);
    L(after_first);
    for (const LoopPart::Copy& c : l->after_odd) write_act(c);
    L(done);
  }

  // ---- moves
  void write_act(const LoopPart::Moved& m) {
    for (const Moves::Move& move : m.moves->all) {
      Xbyak::Label absent, done;
      const bool dropped = where(m, move, absent);
      mov(rdi, place(m.first + m.operands));
      mov(rsi, place(m.first + move.operand));
      if (!move.numbers.empty()) add(move.placed_in_result ? rdi : rsi, r8);
      if (move.combine) {
        add(rdi, static_cast<std::uint32_t>(move.to));
        add(rsi, static_cast<std::uint32_t>(move.from));
        xor_(edx, edx);
        mov(rcx, rdi);
        mov(r8, static_cast<std::uint64_t>(move.elements));
        call_of(reinterpret_cast<const void*>(move.combine));
      } else {
        if (move.bytes > 8 && move.from == move.to && move.numbers.empty()) {
          cmp(rdi, rsi);
          je(done, T_NEAR);
        }
        copy(move.to, move.from, move.bytes);
      }
      if (dropped) {
        jmp(done, T_NEAR);
        L(absent);
        if (!move.placed_in_result) zeros(m, move);
      }
      L(done);
    }
  }
  // To r8, in bytes; whether nothing may be there.
  bool where(const LoopPart::Moved& m, const Moves::Move& move, Xbyak::Label& absent) {
    bool dropped = false, first = true;
    for (const Moves::Number& n : move.numbers) {
      mov(rdx, place(m.first + n.operand));
      const Xbyak::RegExp at = rdx + static_cast<int>(n.at);
      n.wide ? mov(rax, ptr[at]) : movsxd(rax, dword[at]);
      if (n.outside == Bounds::Drop) {
        mov(rcx, static_cast<std::uint64_t>(n.places));
        cmp(rax, rcx);
        jae(absent, T_NEAR);
        dropped = true;
      } else {
        if (n.outside == Bounds::Folded) {  // -1 - i of i < 0
          mov(rcx, rax);
          sar(rcx, 63);
          xor_(rax, rcx);
        }
        xor_(ecx, ecx);
        test(rax, rax);
        cmovs(rax, rcx);
        mov(rcx, static_cast<std::uint64_t>(n.places - 1));
        cmp(rax, rcx);
        cmovg(rax, rcx);
      }
      if (const auto apart = static_cast<std::uint64_t>(n.apart);
          std::has_single_bit(apart)) {  // in a third of the time
        shl(rax, std::countr_zero(apart));
      } else {
        mov(rcx, apart);
        imul(rax, rcx);
      }
      first ? mov(r8, rax) : add(r8, rax);
      first = false;
    }
    return dropped;
  }
  // From rsi to rdi, all bytes but those of a long one in registers.
  void copy(std::int64_t to, std::int64_t from, std::size_t bytes) {
    if (bytes > kInline) {
      lea(rdi, ptr[rdi + static_cast<int>(to)]);
      lea(rsi, ptr[rsi + static_cast<int>(from)]);
      mov(rdx, static_cast<std::uint64_t>(bytes));
      return call_of(reinterpret_cast<const void*>(&copy_bytes));
    }
    by_pieces(bytes, [&](std::int64_t at, std::size_t piece) {
      const Xbyak::RegExp source = rsi + static_cast<int>(from + at), target = rdi + static_cast<int>(to + at);
      if (piece == 32) vmovups(ymm0, ptr[source]), vmovups(ptr[target], ymm0);
      if (piece == 16) vmovups(xmm0, ptr[source]), vmovups(ptr[target], xmm0);
      if (piece == 8) mov(rax, ptr[source]), mov(ptr[target], rax);
      if (piece == 4) mov(eax, ptr[source]), mov(ptr[target], eax);
      if (piece == 2) mov(ax, ptr[source]), mov(ptr[target], ax);
      if (piece == 1) mov(al, ptr[source]), mov(ptr[target], al);
    });
    if (bytes >= 32) vzeroupper();
  }
  void zeros(const LoopPart::Moved& m, const Moves::Move& move) {
    mov(rdi, place(m.first + m.operands));
    add(rdi, static_cast<std::uint32_t>(move.to));
    mov(rsi, static_cast<std::uint64_t>(move.bytes));
    call_of(reinterpret_cast<const void*>(&zero_bytes));
  }
  template <class Do>
  static void by_pieces(std::size_t bytes, const Do& each) {
    std::size_t at = 0;
    for (const std::size_t piece : {32u, 16u, 8u, 4u, 2u, 1u})
      for (; bytes - at >= piece; at += piece) each(static_cast<std::int64_t>(at), piece);
  }

  Xbyak::Label end_, ended_;
  std::list<Look> looks_;
};

struct Written : LoopCode {
  ExecutableMemory memory;
};

}  // namespace
}  // namespace shard::runtime::generated

namespace shard::runtime {

std::unique_ptr<const LoopCode> make_loop_code(const LoopPart::Loop& loop) {
  using namespace generated;
  constexpr std::size_t kFirst = 16 << 10, kMost = 1 << 20;  // bytes
  if (!can_encode()) return nullptr;
  for (std::size_t bytes = kFirst; bytes <= kMost; bytes *= 4) {
    auto made = std::make_unique<Written>();
    made->memory = ExecutableMemory(bytes);
    if (!made->memory.data()) return nullptr;
    try {
      Writer writer(made->memory);
      writer.write(loop);
      writer.ready();
      if (!made->memory.seal()) return nullptr;
      made->run = reinterpret_cast<LoopCode::Run>(made->memory.data());
      return made;
    } catch (const Xbyak::Error&) {}  // more room, then
  }
  return nullptr;
}

}  // namespace shard::runtime
