// The instructions of one device: a local graph as what runs one after another and side by side. Products stand alone;
// between them everything pointwise, and reductions of rows, that feeds one another is one stretch that reads what
// comes from outside and writes what goes out; views cost nothing; collectives run beside. Loops and branches hold
// instructions of their own. What a kernel of the user's own is (attribute `kernel` of a loop): one instruction, with
// the loop in it where software has no such kernel. Copies to the host's memory and back (ir/region_edges.h) stand
// alone.
#pragma once
#include <memory>
#include <vector>

#include "interpreter/exec/executable.h"
#include "interpreter/ir/graph.h"
#include "interpreter/transform/program.h"

namespace shard::cost_model {

struct Product {  // as one chip does it: `batch` products of m x k and k x n
  double batch = 1, m = 1, n = 1, k = 1;
  runtime::DType dtype = runtime::DType::F32;
  bool again = false;  // made once more for a backward part (remat)
  double flops() const { return 2 * batch * m * n * k; }
};

struct Instructions;
struct Instruction {
  enum class Kind : std::uint8_t { Product, Stretch, Kernel, Collective, Loop, ToHost, FromHost };
  Kind kind = Kind::Stretch;
  const ir::Node* node = nullptr;      // that it is, or the last of those that it is
  std::vector<Product> products = {};  // one; of a kernel all of its turns
  double bytes = 0;                    // read and written; of a collective what the device gives to it
  double given = 0;                    // of a collective of simulated devices: what all of them give to it
  double copied = 0;                   // bytes that lie otherwise than it wants them (exec::Copies)
  double points = 0;                   // of pointwise work, in additions
  // What it waits for: earlier instructions, and parameters of the graph (as -1 - index) that a loop hands on.
  std::vector<int> after = {};
  // A copy from the host: the instruction that reads what the copy before it brought. It begins when that does, no
  // sooner, as the device has room for one that is waited for.
  int beside = -1;
  bool early = false;  // hangs on nothing that a turn of a loop makes but by the way: it may run a turn before
  std::shared_ptr<Instructions> body = {};
  std::int64_t turns = 1;
  // Of the turns of a loop around, the share that does it: what a loop only adds up is summed over devices once behind
  // it, as compilers do (XLA: while-loop all-reduce code motion).
  double share = 1;
  double share_once = 1;  // ... and with software that takes gradients of all turns together before they are scattered
};

struct Instructions {
  std::vector<Instruction> list;  // in an order that they may run in
  std::vector<int> given;  // by result of the graph: the instruction that makes it, -1 - index for a parameter, kNobody
  static constexpr int kNobody = -1 << 30;
  struct Carried {
    std::size_t param, result;
  };
  std::vector<Carried> carried;  // of a loop's body: what goes round
};

// Of one device; or of a machine that simulates all of them in so many processes (0: of one device): what is the same
// on several is done once in each.
std::shared_ptr<const Instructions> instructions_of(const transform::Program& program);
std::shared_ptr<const Instructions> instructions_of(const exec::Executable& plan, double processes);

}  // namespace shard::cost_model
