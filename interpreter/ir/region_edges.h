// How data flows between a node and its regions: which operand a parameter takes, what goes round a loop, which results
// come out. The one place that knows the attributes of Structure::Scan and Structure::While that say so (op.h); passes
// ask here and need not know what kind of node it is.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/ir/op.h"

namespace shard::ir {

struct RegionPort {  // a parameter or a result of a region
  std::size_t region = 0, index = 0;
};

// One value in all the places where it is known: it flows through them unchanged.
struct RegionEdge {
  std::optional<std::size_t> operand = {};  // of the node
  std::vector<RegionPort> params = {};      // what takes it, by region
  std::vector<RegionPort> results = {};     // what gives it, by region
  std::optional<std::size_t> output = {};   // of the node
  bool rows = false;  // the operand or the output has one more dimension in front; a turn sees one row of it
  // Goes round: what a turn gives is what the next one takes, the first one the operand, the output the last.
  bool carried() const { return operand && output; }
  bool constant() const { return operand && !output && !rows; }  // the same in every turn
};

struct RegionEdges {
  std::vector<RegionEdge> edges;  // in the order of operands, then those that only have an output, in their order
  std::optional<std::size_t> chooser = {};  // the operand that chooses one of the regions; it enters none
  std::optional<RegionPort> verdict = {};   // the result that says whether there is one more turn
  bool repeats = false;                     // a loop: its regions run once a turn
  bool reverse = false;                     // ... and takes its rows from the last one to the first
  std::int64_t turns = 1;                   // as many as are known

  std::size_t carried() const;  // how many go round

  struct Operands {
    std::size_t first = 0, count = 0;
  };
  // The constants of a region: these operands of the node are its first parameters. (`first` where there are none:
  // where they would be.)
  Operands constants(std::size_t region) const;
  void add_constants(std::size_t region, std::size_t count);  // behind those that there are
};
RegionEdges region_edges(const OpDef& op, const Attrs& attrs, std::span<const GraphRef> regions, std::size_t operands);
RegionEdges region_edges(const Node& node);
// Writes the attributes that say these edges (of a node of the same operation, with some more or fewer of them).
void set_edges(const OpDef& op, Attrs& attrs, const RegionEdges& edges);

// What the attributes of the two loops hold, for those who make such nodes.
struct ScanWiring {  // operands: consts, carry, rows; results: carry, rows
  std::size_t consts = 0, carry = 0;
  std::int64_t length = 0;
  bool reverse = false;
};
ScanWiring scan_wiring(const Attrs& attrs);
Attrs with_wiring(Attrs attrs, const ScanWiring& wiring);

struct WhileWiring {  // operands: what the condition takes, what the body takes, carry; results: carry
  std::size_t cond_consts = 0, body_consts = 0;
};
WhileWiring while_wiring(const Attrs& attrs);
Attrs with_wiring(Attrs attrs, const WhileWiring& wiring);

// Structure::Manual: the attributes with the layouts that operands are cut by and results are put together by.
std::string operand_spec(std::size_t operand);
std::string result_spec(std::size_t result);

// Copies between a device's memory and the host's, as a row's nodes say with the attribute `memory`: what `remat`
// offloads. Engines whose devices are parts of this machine pass the value on; what a device holds (exec) and what a
// copy takes (cost_model) is told by it.
enum class HostCopy : std::uint8_t { None, Out, Back };
HostCopy host_copy(const Node& n);  // memory: "host" (out) or "device" (back)

// Whether result `v` of `n` lies in the host's memory: a copy there, or the rows of a loop each of which is one.
bool lies_on_host(const Node& n, Var v);

}  // namespace shard::ir
