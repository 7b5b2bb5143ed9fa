// from_blocks: an array from its blocks, each made by a function of where it lies. Every distinct
// block is made once, and brought together with no other.
#include "runtime/kernels/kernels.h"
#include "runtime/mesh/device_blocks.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;
using runtime::ArrayRef;

Value from_blocks(Interpreter& in, BoundArgs& a) {
  trace::Context& c = in.context();
  if (!a[0].callable())
    in.fail("type", a.args[0].span,
            "from_blocks takes a function of the index first: from_blocks(fn(index) = ..., [8, 4], P(@X))");
  const auto* items = a[1].items();
  if (!items) in.fail("type", a.args[1].span, "the shape is a list of sizes, this is " + lang::kind_name(a[1]));
  runtime::Shape shape;
  for (const Value& v : *items) {
    shape.push_back(in.integer(v, a.args[1].span, "a size"));
    if (shape.back() < 0) in.fail("shape", a.args[1].span, "a size is not negative");
  }
  const auto* spec = a[2].get<std::shared_ptr<const lang::Spec>>();
  if (!spec) in.fail("type", a.args[2].span, "the layout is a spec such as P(@X), this is " + lang::kind_name(a[2]));
  const ir::Layout layout = in.resolve(**spec, static_cast<int>(shape.size()), a.args[2].span);

  runtime::Type type = runtime::Type::of(runtime::DType::F32, shape);
  type.mesh = layout.mesh;
  type.sharding = layout.sharding;
  runtime::DeviceArray place;  // where the blocks lie; those of other processes are theirs to make
  place.type = type;
  place.layout = runtime::placement_of(type).layout;
  if (layout.mesh) place.distinct = place.layout.split_axes() | place.layout.unreduced;
  const runtime::Shape local = place.local();
  std::vector<ArrayRef> blocks;
  bool types_only = false;
  for (const runtime::DeviceBlock& where : runtime::device_blocks(place)) {
    std::vector<Value> ranges;
    for (std::size_t d = 0; d < local.size(); ++d)
      ranges.emplace_back(lang::Range{where.origin[d], where.origin[d] + local[d]});
    const Value v = in.call(a[0], std::vector<Value>{Value::tuple(std::move(ranges))}, a.span);
    const trace::Tensor t = v.is_tensor() ? v.tensor() : array_of(in, v, std::nullopt, a.span);
    ArrayRef block = c.concrete(t, "from_blocks");
    types_only = types_only || !block->has_elements();
    if (!types_only) block = runtime::to_host(c.pool(), block);
    if (block->type.shape != local)
      in.fail("shape", a.args[0].span,
              "the block has the shape " + runtime::to_string(block->type.shape) + ", " + runtime::to_string(local) +
                  " is needed here");
    if (!blocks.empty() && block->type.dtype != blocks[0]->type.dtype)
      in.fail(
          "type", a.args[0].span,
          "blocks differ in type: " + runtime::to_string(blocks[0]->type) + " and " + runtime::to_string(block->type));
    blocks.push_back(std::move(block));
  }
  type.dtype = blocks.at(0)->type.dtype;
  if (types_only) return Value(c.unknown(runtime::placement_of(type)));
  auto block = blocks.begin();
  return Value(trace::Tensor(runtime::new_placed(
      c.pool(), runtime::placement_of(type),
      [&](const runtime::Shape&, const runtime::View& to) { runtime::copy((*block++)->view(), to); })));
}

}  // namespace

void register_from_blocks(Interpreter& in) {
  in.define({"from_blocks", "from_blocks(f, shape, spec)",
             "The array whose blocks are f(index), index a tuple of ranges; each distinct block is made once.",
             from_blocks});
}

}  // namespace shard::stdlib
