// from_blocks: an array from its blocks, each made by a function of where it lies. Every distinct block is made once.
#include <cstring>
#include <map>

#include "runtime/kernels/kernels.h"
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

  runtime::DeviceArray place;  // where the blocks lie
  place.type = runtime::Type::of(runtime::DType::F32, shape);
  place.type.mesh = layout.mesh;
  place.layout = layout.sharding;
  ArrayRef whole;
  std::map<std::vector<std::pair<std::int64_t, std::int64_t>>, bool> made;
  for (std::int64_t p = 0; p < (layout.mesh ? layout.mesh->size() : 1); ++p) {
    const auto index = runtime::index_of(place, p);
    if (!made.emplace(index, true).second) continue;
    std::vector<Value> ranges;
    runtime::Shape local;
    for (const auto& [begin, end] : index) ranges.emplace_back(lang::Range{begin, end}), local.push_back(end - begin);
    const Value v = in.call(a[0], std::vector<Value>{Value::tuple(std::move(ranges))}, a.span);
    const trace::Tensor t = v.is_tensor() ? v.tensor() : array_of(in, v, std::nullopt, a.span);
    ArrayRef block = c.concrete(t, "from_blocks");
    if (block->type.shape == local && !block->has_elements()) {  // types only
      const runtime::Type type = runtime::Type::of(block->type.dtype, shape);
      return Value(c.apply1(*c.table().core().shard, {c.unknown(type)}, {{"layout", layout}}));
    }
    block = runtime::to_host(c.pool(), block);
    if (block->type.shape != local)
      in.fail("shape", a.args[0].span,
              "the block has the shape " + runtime::to_string(block->type.shape) + ", " + runtime::to_string(local) +
                  " is needed here");
    if (!whole) {
      const std::string blank(
          static_cast<std::size_t>(runtime::checked_bytes(shape, runtime::size_of(block->type.dtype))), '\0');
      whole = runtime::from_host(c.pool(), block->type.dtype, shape, blank.data());
    }
    if (block->type.dtype != whole->type.dtype)
      in.fail("type", a.args[0].span,
              "blocks differ in type: " + runtime::to_string(whole->type) + " and " + runtime::to_string(block->type));
    runtime::View target = whole->view();
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) offset += index[d].first * target.strides[d];
    target.data = static_cast<char*>(target.data) + offset * static_cast<std::int64_t>(runtime::size_of(target.dtype));
    target.shape = local;
    runtime::copy(block->view(), target);
  }
  return Value(c.apply1(*c.table().core().shard, {trace::Tensor(whole)}, {{"layout", layout}}));
}

}  // namespace

void register_from_blocks(Interpreter& in) {
  in.define({"from_blocks", "from_blocks(f, shape, spec)",
             "The array whose blocks are f(index), index a tuple of ranges; each distinct block is made once.",
             from_blocks});
}

}  // namespace shard::stdlib
