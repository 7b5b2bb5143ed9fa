// What a graph and its regions tell besides results: what must hold, and what is shown. Each is a value that leaves a
// region behind its results. Private to this folder.
#pragma once
#include "interpreter/hlo/module.h"
#include "interpreter/hlo/writer.h"
#include "interpreter/transform/distinct.h"

namespace shard::hlo {

struct Told {  // such a value
  bool claim = false;
  runtime::DType dtype{};
  runtime::Shape shape;
  // Where nothing was told: it holds, or nothing is shown of it.
  Value nothing(Writer& to) const;
};

struct Reports {
  std::vector<Claim> claims;
  std::vector<Shown> shown;
  std::vector<Told> values;  // of both, node by node
};

// `known`: of the graph; null where nothing is.
Reports reports_of(const ir::Graph& g, const transform::Distinct* known);
std::vector<Told> told_in(const ir::Graph& g);    // its values
std::vector<Told> told_by(const ir::Node& loop);  // those of a node with regions, as they leave it

}  // namespace shard::hlo
