// A program as StableHLO text that XLA and other engines compile: transform::Program is what one device does, a local
// graph with explicit collectives, and is printed as it is; or the graph that it was made of, with its layouts. Tested
// with StableHLO 1.13 (a PJRT plug-in of the CPU) and 1.17 (jaxlib 0.10.2).
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grammar/source.h"
#include "interpreter/transform/factor_layout.h"
#include "interpreter/transform/program.h"

namespace shard::hlo {

enum class Form : std::uint8_t {
  // Shapes of one device, `replica_groups` over replicas, no Shardy: any consumer of StableHLO. Replica i is the device
  // at position i of the mesh (row-major); each passes and gets its own block.
  Replica,
  // Global shapes; one sdy.manual_computation over all axes of the mesh around the same local graph. Partition i is the
  // device at position i.
  Manual,
  // The whole graph with the layouts that propagation found: the engine's own partitioner cuts it and chooses the
  // collectives, but for those of per-device code.
  Auto,
};
std::string_view name_of(Form form);            // "replica"
std::optional<Form> form_of(std::string_view);  // by its name

struct Whole {  // a graph before it is cut, and a layout for each of its values
  ir::Graph graph;
  transform::Layouts layouts;
};

struct How {
  Form form = Form::Replica;
  std::string name = "main";                             // of the module
  std::span<const transform::ArrayInfo> arguments = {};  // of the program, as they were given to `lower`
  std::span<const bool> donated = {};                    // by argument; none: nothing is
  const grammar::SourceMap* sources = nullptr;           // for locations
  const Whole* whole = nullptr;                          // of the form Auto
  // Of the form Replica: who runs it can show things afterwards, else they are refused, and gives what is read alone.
  bool shows = false;
};

// A condition that the script asserts: one more result of @main, a truth value (tensor<i1>) behind those of the
// program, in this order. In replica form each device has its own, in manual form there is one element a device.
struct Claim {
  std::string message;
  grammar::Span span;
};

// What the script shows while the program runs (effects that say `shows`): who runs it acts afterwards, in this order.
struct Shown {
  // An effect: of program.local or of one of its regions. By operand, which is a result of @main: its type on a device,
  // and the axes along which devices have different ones.
  const ir::Node* node = nullptr;
  std::vector<ir::Type> types;
  std::vector<runtime::AxisSet> differs;
  // Or what is shown in a loop of so many turns: each operand has a dimension of them in front. Or, with two lists, in
  // a branch, before whose operands there is a truth value: whether the first was taken.
  std::vector<std::vector<Shown>> inside;
  std::int64_t turns = 1;
};

struct Module {
  std::string text;
  std::vector<std::size_t> taken;  // the program's parameters that @main has, by number; all, but where How::shows
  std::vector<Claim> claims;
  std::vector<Shown> shown;
  int collectives = 0;  // in the text
};

// `public @main`: parameters in the order of program.local.params, results in that of its results, then the claims,
// then what is shown. A key is ui32[..., 2] there. Throws grammar::Error("engine") with the span of what no engine
// could do.
Module module_of(const transform::Program& program, const How& how);

}  // namespace shard::hlo
