// What passes ask of a product before they make it of other operations.
#pragma once
#include <map>
#include <optional>

#include "interpreter/ir/contract_spec.h"
#include "interpreter/ir/core_ops.h"
#include "runtime/array/shape.h"

namespace shard::transform {

// A product of whole arrays of floats that are computed with as they are held.
struct FloatProduct {
  ir::ContractSpec spec;              // parts of the node's text
  std::map<char, std::int64_t> size;  // by letter
};
inline std::optional<FloatProduct> float_product(const ir::CoreOps& core, const ir::Graph& g, const ir::Node& n) {
  if (n.op != core.contract || n.attrs.has("out")) return std::nullopt;
  FloatProduct out{ir::read_spec(n.attrs.text("spec")), {}};
  const auto read = [&](std::string_view letters, ir::Var v) {
    const ir::Type& t = g.type(v);
    if (letters.size() != t.shape.size() || (t.dtype != runtime::DType::F32 && t.dtype != runtime::DType::F64))
      return false;
    for (std::size_t d = 0; d < letters.size(); ++d) out.size[letters[d]] = t.shape[d];
    return true;
  };
  const bool fits = read(out.spec.x, n.inputs[0]) && read(out.spec.y, n.inputs[1]) && read(out.spec.out, n.outputs[0]);
  return fits ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace shard::transform
