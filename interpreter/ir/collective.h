// What a collective does, as data: the `comm` column of a row. Its function over blocks, its cost, which of its results
// are the same everywhere, and its name in accounts are read from this; so a new one that combines, splits and joins is
// a row and nothing else.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/ir/attrs.h"
#include "interpreter/ir/graph.h"
#include "runtime/kernels/kernels.h"

namespace shard::ir {

// What becomes of the blocks of the devices along the axes: they are combined, each device takes its part of dimension
// `split`, and the parts of all devices come together along dimension `join`.
// Attributes common to all: axes (Ints of AxisId, major first), mesh (Layout without dims; may be left out where an
// operand's type has the mesh), written (false: inserted by the partitioner; left out: by the program), groups (Ints,
// the groups one after another) with group_size: only devices of one group take part together. Of those that split or
// join: tiled (the dimension is cut, or grows; otherwise it goes, or is a new one). Dimensions count from the end, in
// the operand; those that an untiled collective joins along, in the result.
struct Collective {
  std::optional<runtime::Reduce> combine = {};  // terms: one from each device
  const char* split = nullptr;                  // the attributes with the dimensions
  const char* join = nullptr;
  bool pairs = false;  // from device to device, as attribute `pairs` says; zeros where none comes
  bool place = false;  // no operand: where the device is along the axes

  bool communicates() const { return combine || join || pairs; }  // the others only look at what is there
  bool combines_all() const { return combine && !split; }         // every device has the whole result
  bool operator==(const Collective&) const = default;
};
// Whether it takes and gives whole dimensions, as attribute `tiled` says (a part of what all have is one).
bool tiled(const Collective& c, const Attrs& attrs);

// Axes along which the blocks of the result differ from device to device, from those of the operand. `over`: its axes;
// `devices`: along all of them.
runtime::AxisSet differing(const Collective& c, const Attrs& attrs, runtime::AxisSet in, runtime::AxisSet over,
                           std::int64_t devices);

struct CommCost {
  std::int64_t bytes = 0;  // as `comm` counts: the larger of what one device gives to the collective and gets from it
  std::int64_t sent = 0;   // what one device sends to others where the devices stand in a ring
};
// The one formula, for the account of a call (transform/passes.h) and for the planner that weighs ways between
// layouts (transform/moves.cpp). `bytes`: the operand's on one device; `devices`: that take part together (of a group).
CommCost comm_cost(const Collective& c, std::int64_t bytes, std::int64_t devices);

// The first node that communicates over one of these axes, looking into regions; null where there is none.
const Node* collective_over(const Graph& g, runtime::AxisSet axes);

// ---- Varying axes where per-device code meets the code around it: along them a value may differ between devices
// (`f32[4]{V:X}`). Read by the row of per-device code and by whoever traces such code (lang/staging/manual.cpp).
// Axes among `taken` along which a result of per-device code may differ although its spec neither splits nor sums it
// there: the spec promises that it is the same.
runtime::AxisSet undeclared_axes(const Type& local, const Layout& spec, runtime::AxisSet taken);
// What to say of them; `value` is the text of the result, or x.
std::string undeclared_message(const std::string& subject, const Type& local, const Layout& spec,
                               runtime::AxisSet undeclared, const std::string& value = "x");

// The nodes that brought the pieces of all devices along `axes` together, where a value varies along them for no other
// reason: it is the same on every device, and its type does not say so. Empty where it may really differ.
std::vector<const Node*> joined_everywhere(const Graph& g, Var v, runtime::AxisSet axes);

// Whether the value holds n times the elements of something that devices passed round along these n: as many as all
// have.
bool gathered_by_hand(const Graph& g, Var v, runtime::AxisSet axes, std::int64_t devices);

// Attributes of the cast that types a value as varying along further axes.
Attrs to_varying(runtime::AxisSet axes, runtime::MeshRef mesh);

}  // namespace shard::ir
