// Varying axes where per-device code meets the code around it: along them a value may differ between devices
// (`f32[4]{V:X}`). Read by the row of per-device code and by whoever traces such code (lang/staging/manual.cpp).
#pragma once
#include <string>

#include "interpreter/ir/attrs.h"
#include "interpreter/ir/graph.h"

namespace shard::ir {

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
