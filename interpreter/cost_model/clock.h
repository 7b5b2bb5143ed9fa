// A device's clock: when each instruction of a program begins and ends on a chip. One stream computes, in order;
// collectives of each group, and copies to the host and back, run beside it, the one that is needed first before the
// others, and a gather of what a turn of a loop is given anew may begin while the turn before runs. Loops of many
// turns: a few are played, the others are as the last of them. Nothing here knows an operation or a model:
// `instructions.h` says what there is to do.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "interpreter/cost_model/chip.h"
#include "interpreter/cost_model/instructions.h"

namespace shard::cost_model {

struct LineCost {  // of all instructions that a source line causes
  double compute = 0, exposed = 0, communication = 0, flops = 0, bytes = 0;
  double host = 0;  // copies to the host's memory and back; `exposed` has what is waited for of them too
  struct Part {
    double compute = 0, exposed = 0;
  };
  std::map<const std::string*, Part> parts = {};  // of the model (ir/origin.h); null: of none
  void add(const LineCost& more, double times = 1);
};
struct LineOrder {
  bool operator()(const grammar::Span& a, const grammar::Span& b) const {
    return std::pair(a.source, a.begin) < std::pair(b.source, b.begin);
  }
};

struct Event {  // for pictures
  double start = 0, seconds = 0;
  int stream = 0;  // 0 computes
  const ir::Node* node = nullptr;
  std::int64_t turns = 1;
};

struct Profile {
  double seconds = 0, compute = 0;
  double waits() const { return seconds > compute ? seconds - compute : 0; }  // for others
  double flops = 0;                                                           // of products, without what is made again
  double again = 0;                                                           // ... and that
  std::map<runtime::DType, double> products;                                  // `flops` by the elements' type
  // Of `seconds`, the turns of pipelines in which a device has nothing to do yet, or nothing any more; what hands on.
  double bubble = 0;
  const ir::Node* bubble_at = nullptr;
  std::map<grammar::Span, LineCost, LineOrder> lines;
  std::vector<Event> events;  // of the first turns of loops
};

Profile play(const Chip& chip, const Instructions& instructions, const runtime::Mesh* mesh, std::int64_t turns = 1);

}  // namespace shard::cost_model
