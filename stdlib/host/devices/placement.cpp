// Where values lie: typeof, sharding, shards, device_get, from_blocks, and the devices there are.
#include "interpreter/lang/staging/jit.h"
#include "interpreter/lang/values/value_text.h"
#include "runtime/channel/processes.h"
#include "runtime/kernels/kernels.h"
#include "runtime/mesh/device_blocks.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

Value type_value(Type t) {
  t.weak = false;
  return Value(std::make_shared<const Type>(std::move(t)));
}

Value type_of(Interpreter& in, const Value& v, grammar::Span span) {
  if (v.is_tensor()) return type_value(in.context().type_of(v.tensor()));
  if (auto* t = v.get<std::shared_ptr<const Type>>())  // in place of an array
    return type_value(in.context().type_of(lang::placeholder(in, **t, span)));
  if (v.is<bool>()) return type_value(Type::of(DType::Bool, {}));
  if (v.is<std::int64_t>()) return type_value(Type::of(DType::I32, {}));
  if (v.is<double>()) return type_value(Type::of(DType::F32, {}));
  if (v.items() || v.fields())  // a tree of types
    return lang::map_leaves(v, [&](const Value& leaf) { return type_of(in, leaf, span); });
  return Value::string(lang::kind_name(v));
}

std::vector<std::string> names(const runtime::Mesh& mesh, const std::vector<runtime::AxisId>& axes) {
  std::vector<std::string> out;
  for (const auto a : axes) out.push_back(mesh.axes[a].name);
  return out;
}

Value make_spec(const runtime::MeshRef& mesh, const runtime::Sharding& s) {
  auto spec = std::make_shared<lang::Spec>();
  if (mesh) {
    for (const auto& d : s.dims) spec->dims.push_back({names(*mesh, d.axes), d.open});
    while (!spec->dims.empty() && spec->dims.back() == lang::SpecEntry{}) spec->dims.pop_back();
    spec->unreduced = names(*mesh, s.unreduced.list());
    spec->reduced = names(*mesh, s.reduced.list());
    if (!spec->unreduced.empty())
      spec->kind = s.unreduced_kind == runtime::UnreducedKind::Max   ? "max"
                   : s.unreduced_kind == runtime::UnreducedKind::Min ? "min"
                                                                     : "";
  }
  return Value(std::shared_ptr<const lang::Spec>(std::move(spec)));
}

Value sharding_of(Interpreter& in, const Value& v, grammar::Span span) {
  if (v.items() || v.fields())
    return lang::map_leaves(v, [&](const Value& leaf) { return sharding_of(in, leaf, span); });
  if (v.is_host_number() || v.is<bool>()) return make_spec(nullptr, {});
  if (auto* t = v.get<std::shared_ptr<const Type>>()) return make_spec((*t)->mesh, (*t)->sharding);
  if (!v.is_tensor()) in.fail("type", span, "sharding takes an array, this is " + lang::kind_name(v));
  const Tensor& t = v.tensor();
  const bool laid_out = !t.traced() && (t.array()->has_elements() || in.context().target().passes().partition);
  if (laid_out) return spec_of(*t.array());
  const Type& type = t.type();
  if (!t.traced() && !type.mesh) return spec_of(*t.array());
  // Where no axis is automatic, the type says all; else the partitioner decides, and a run can tell.
  if (type.mesh && type.mesh->of_kind(runtime::AxisKind::Auto).empty()) return make_spec(type.mesh, type.sharding);
  auto later = std::make_shared<lang::DeferredString>();
  later->texts = {"", ""};
  later->values = {t};
  later->formats = {std::string(lang::kLayoutFormat)};
  return Value(std::shared_ptr<const lang::DeferredString>(std::move(later)));
}

ArrayRef concrete(Interpreter& in, const Value& v, grammar::Span span, std::string_view what) {
  if (!v.is_tensor()) in.fail("type", span, std::string(what) + " takes an array, this is " + lang::kind_name(v));
  return in.context().concrete(v.tensor(), what);
}

Value shards(Interpreter& in, BoundArgs& a) {
  const ArrayRef x = runtime::whole(in.context().pool(), concrete(in, a[0], a.args[0].span, "shards"));
  const std::int64_t n = x->type.mesh ? x->type.mesh->size() : 1;
  std::vector<Value> out;
  for (std::int64_t p = 0; p < n; ++p) {
    std::vector<Value> index;
    for (const auto& [begin, end] : runtime::index_of(*x, p)) index.emplace_back(lang::Range{begin, end});
    const int id = x->type.mesh ? x->type.mesh->devices[static_cast<std::size_t>(p)] : 0;
    out.push_back(Value::record({{"device", Value(lang::Device{id})},
                                 {"index", Value::tuple(std::move(index))},
                                 {"data", Value(Tensor(runtime::block_of(in.context().pool(), x, p)))}}));
  }
  return Value::list(std::move(out));
}

Value device_get(Interpreter& in, BoundArgs& a) {
  return lang::map_leaves(a[0], [&](const Value& leaf) -> Value {
    if (leaf.is<std::shared_ptr<const Type>>())
      in.fail("type", a.span, "device_get takes arrays, this is " + lang::kind_name(leaf));
    if (!leaf.is_tensor()) return leaf;
    const ArrayRef x = in.context().concrete(leaf.tensor(), "device_get");
    const ArrayRef host = runtime::to_host(in.context().pool(), x);
    if (!host->type.mesh) return Tensor(host);
    auto bare = std::make_shared<runtime::DeviceArray>();  // the same memory without its mesh
    bare->type = Type::of(host->type.dtype, host->type.shape, host->type.weak);
    bare->layout = bare->type.sharding;
    bare->buffer = host->buffer;
    return Tensor(ArrayRef(std::move(bare)));
  });
}

Value devices(Interpreter& in, BoundArgs&) {
  std::vector<Value> out;
  for (int i = 0; i < in.context().devices(); ++i) out.emplace_back(lang::Device{i});
  return Value::list(std::move(out));
}

Value local_devices(Interpreter& in, BoundArgs&) {
  const auto& processes = in.context().processes();
  const int each = in.context().devices() / (processes ? processes->count() : 1);
  std::vector<Value> out;
  for (int i = 0; i < each; ++i) out.emplace_back(lang::Device{(processes ? processes->index() : 0) * each + i});
  return Value::list(std::move(out));
}

// A spec for each leaf, by its path and its type.
Value specs_by(Interpreter& in, BoundArgs& a) {
  if (a[0].callable() && !a[1].callable()) std::swap(a.args[0], a.args[1]);
  if (!a[1].callable())
    in.fail("type", a.span, "specs_by takes a tree and a function: specs_by(params, fn(path, type) = P(...))");
  const std::vector<std::string> paths = lang::leaf_paths(a[0]);
  std::vector<Value> leaves = lang::leaves(a[0]);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    leaves[i] = in.call(a[1], {Value::string(paths[i]), type_of(in, leaves[i], a.span)}, a.span);
    if (!leaves[i].is<std::shared_ptr<const lang::Spec>>())
      in.fail("type", a.span,
              "specs_by: the function gives a spec such as P(@X), and for " + paths[i] + " it gave " +
                  lang::kind_name(leaves[i]));
  }
  return lang::with_leaves(a[0], std::move(leaves));
}

// An array from its blocks, each made by a function of where it lies. Every distinct block is made once, and brought
// together with no other.
Value from_blocks(Interpreter& in, BoundArgs& a) {
  trace::Context& c = in.context();
  if (!a[0].callable())
    in.fail("type", a.args[0].span,
            "from_blocks takes a function of the index first: from_blocks(fn(index) = ..., [8, 4], P(@X))");
  const auto* items = a[1].items();
  if (!items) in.fail("type", a.args[1].span, "the shape is a list of sizes, this is " + lang::kind_name(a[1]));
  Shape shape;
  for (const Value& v : *items) {
    shape.push_back(in.integer(v, a.args[1].span, "a size"));
    if (shape.back() < 0) in.fail("shape", a.args[1].span, "a size is not negative");
  }
  const auto* spec = a[2].get<std::shared_ptr<const lang::Spec>>();
  if (!spec) in.fail("type", a.args[2].span, "the layout is a spec such as P(@X), this is " + lang::kind_name(a[2]));
  const ir::Layout layout = in.resolve(**spec, static_cast<int>(shape.size()), a.args[2].span);

  Type type = Type::of(DType::F32, shape);
  type.mesh = layout.mesh;
  type.sharding = layout.sharding;
  runtime::DeviceArray place;  // where the blocks lie; those of other processes are theirs to make
  place.type = type;
  place.layout = runtime::placement_of(type).layout;
  if (layout.mesh) place.distinct = place.layout.split_axes() | place.layout.unreduced;
  const Shape local = place.local();
  std::vector<ArrayRef> blocks;
  bool types_only = false;
  for (const runtime::DeviceBlock& where : runtime::device_blocks(place)) {
    std::vector<Value> ranges;
    for (std::size_t d = 0; d < local.size(); ++d)
      ranges.emplace_back(lang::Range{where.origin[d], where.origin[d] + local[d]});
    const Value v = in.call(a[0], {Value::tuple(std::move(ranges))}, a.span);
    const Tensor t = as_array(in, v, a.span);
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
  return Value(
      Tensor(runtime::new_placed(c.pool(), runtime::placement_of(type), [&](const Shape&, const runtime::View& to) {
        runtime::copy((*block++)->view(), to);
      })));
}

}  // namespace

Value spec_of(const runtime::DeviceArray& a) { return make_spec(a.type.mesh, a.layout); }

void register_placement(Interpreter& in) {
  const auto number = [&](const char* name, const char* doc, std::int64_t n) {
    in.define({name, std::string(name) + "()", doc, [n](Interpreter&, BoundArgs&) { return Value(n); }});
  };
  in.define({"typeof",
             "typeof(x)",
             "The type of an array: element type, shape and, on explicit axes, layout; of a tree, the tree of types.",
             [](Interpreter& i, BoundArgs& a) { return type_of(i, a[0], a.span); },
             {{"type", "the type of a value is `typeof(x)`"},
              {"isinstance", "the type of an array is `typeof(x)`, its element type `x.dtype`"}}});
  in.define({"specs_by", "specs_by(tree, f)",
             "A tree of specs: f(path, type) of each leaf. `shard params as specs_by(params, rule)` lays out by rules.",
             specs_by});
  in.define({"sharding", "sharding(x)",
             "The layout of an array as a spec. Inside jit on auto axes it is known when the program runs.",
             [](Interpreter& i, BoundArgs& a) { return sharding_of(i, a[0], a.span); }});
  in.define(
      {"shards", "shards(x)", "A record {device, index, data} for each device, in the order of the mesh.", shards});
  in.define({"device_get", "device_get(x)", "The whole array (or tree of arrays) as one block without a layout.",
             device_get});
  in.define({"devices", "devices()", "The devices there are; of each, `id`, `process` and `kind`.", devices});
  in.define({"local_devices", "local_devices()", "The devices of this process.", local_devices});
  in.define({"from_blocks", "from_blocks(f, shape, spec)",
             "The array whose blocks are f(index), index a tuple of ranges; each distinct block is made once.",
             from_blocks});
  number("device_count", "How many devices there are.", in.context().devices());
  const auto& processes = in.context().processes();
  number("process_index", "Which process this is, from 0.", processes ? processes->index() : 0);
  number("process_count", "How many processes run the program.", processes ? processes->count() : 1);
}

}  // namespace shard::stdlib
