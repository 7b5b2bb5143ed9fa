// Collectives, read from the `comm` column: what combines is an all_reduce (or, where it splits, a reduce_scatter),
// what joins an all_gather or an all_to_all, pairs a collective_permute; the others only look at where the device is.
// Devices are named by their position in the mesh.
#include <algorithm>

#include "interpreter/hlo/emitter.h"
#include "interpreter/transform/distinct.h"

namespace shard::hlo {
namespace {

using runtime::AxisId;
using runtime::Mesh;

std::int64_t stride_of(const Mesh& mesh, AxisId axis) {
  std::int64_t stride = 1;
  for (std::size_t a = axis + std::size_t{1}; a < mesh.axes.size(); ++a) stride *= mesh.axes[a].size;
  return stride;
}

// The devices that stand along the axes (the first the slowest), one list for each place along the others.
std::vector<ir::Ints> lines(const Mesh& mesh, const std::vector<AxisId>& axes) {
  std::vector<ir::Ints> out;
  const std::int64_t count = mesh.size_of(axes);
  for (std::int64_t device = 0; device < mesh.size(); ++device) {
    const bool first = std::all_of(axes.begin(), axes.end(),
                                   [&](AxisId a) { return device / stride_of(mesh, a) % mesh.size_of(a) == 0; });
    if (!first) continue;
    ir::Ints line;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t at = device, rest = i;
      for (std::size_t k = axes.size(); k-- > 0; rest /= mesh.size_of(axes[k]))
        at += rest % mesh.size_of(axes[k]) * stride_of(mesh, axes[k]);
      line.push_back(at);
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::string rows_text(const std::vector<ir::Ints>& rows) {
  std::string out = "dense<[";
  for (const ir::Ints& row : rows) {
    out += &row == rows.data() ? "[" : ", [";
    for (std::size_t i = 0; i < row.size(); ++i) out += (i ? ", " : "") + std::to_string(row[i]);
    out += "]";
  }
  const std::size_t columns = rows.empty() ? 2 : rows[0].size();
  if (rows.empty()) out = "dense<";
  return out + (rows.empty() ? "" : "]") + "> : tensor<" + std::to_string(rows.size()) + "x" + std::to_string(columns) +
         "xi64>";
}

// All of a partitioned module use one channel, as JAX does; replicas have none.
std::string channel(const Writer& to, bool global_ids) {
  if (!to.partitions) return "";
  return std::string(", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>") +
         (global_ids ? ", use_global_device_ids" : "");
}

std::string dim_attribute(const char* name, std::int64_t dim) {
  return std::string(name) + " = " + std::to_string(dim) + " : i64, ";
}

std::string_view combiner(runtime::Reduce op, DType dtype) {
  if (dtype == DType::Bool) return op == runtime::Reduce::Min ? "and" : "or";
  switch (op) {
    case runtime::Reduce::Max: return "maximum";
    case runtime::Reduce::Min: return "minimum";
    case runtime::Reduce::Prod: return "multiply";
    default: return "add";
  }
}

Shape inserted(Shape shape, std::int64_t dim) {
  shape.insert(shape.begin() + dim, 1);
  return shape;
}

}  // namespace

std::string Emitter::groups(const ir::Node& n) const {
  const std::vector<AxisId> axes = transform::axes_of(n, *program_.mesh);
  std::vector<ir::Ints> all = lines(*program_.mesh, axes);
  if (n.attrs.has("groups")) {  // positions along the axes, group after group
    const ir::Ints& order = n.attrs.ints("groups");
    const auto size = static_cast<std::size_t>(n.attrs.integer("group_size"));
    std::vector<ir::Ints> some;
    for (const ir::Ints& line : all)
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (i % size == 0) some.emplace_back();
        some.back().push_back(line[static_cast<std::size_t>(order[i])]);
      }
    all = std::move(some);
  }
  return "replica_groups = " + rows_text(all);
}

Value Emitter::position(const std::vector<AxisId>& axes) {
  Value at = to_.constant(DType::I32, {}, 0);
  if (!places_.empty()) {
    for (AxisId a : axes) at = at * static_cast<double>(program_.mesh->size_of(a)) + places_.at(a);
    return at;
  }
  const Value id = to_.op(to_.partitions ? "stablehlo.partition_id" : "stablehlo.replica_id", {}, DType::U32, Shape{});
  const Value device = convert(id, DType::I32);
  for (AxisId a : axes) {
    const auto size = static_cast<double>(program_.mesh->size_of(a));
    const Value along = device / static_cast<double>(stride_of(*program_.mesh, a));
    at = at * size + binary("remainder", along, along.number(size));
  }
  return at;
}

Value Emitter::combined_over(const Value& x, runtime::Reduce op, const std::string& over) {
  return to_.op("stablehlo.all_reduce", {x}, x.dtype, x.shape, over + channel(to_, true),
                to_.combining(combiner(op, x.dtype), x.dtype));
}

Value Emitter::added(const Value& x, const runtime::Sharding& terms) {
  if (terms.unreduced.empty()) return x;
  constexpr runtime::Reduce how[] = {runtime::Reduce::Sum, runtime::Reduce::Max, runtime::Reduce::Min};
  ++to_.collectives;
  return combined_over(x, how[static_cast<std::size_t>(terms.unreduced_kind)],
                       "replica_groups = " + rows_text(lines(*program_.mesh, terms.unreduced.list())));
}

Value Emitter::collective(const ir::Node& n, std::span<const Value> in, const runtime::Type& out) {
  const ir::Collective& c = *n.op->comm;
  if (!program_.mesh) {  // one device
    return c.place ? to_.constant(out.dtype, out.shape, 0) : reshape(in[0], out.shape);
  }
  const std::vector<AxisId> axes = transform::axes_of(n, *program_.mesh);
  if (c.place) return position(axes);
  const Value& x = in[0];
  const auto dimension = [&](const char* name, std::int64_t rank) {
    const std::int64_t d = n.attrs.integer(name);
    return d < 0 ? d + rank : d;
  };
  if (!c.communicates()) {
    if (!c.split) return x;
    const auto d = static_cast<std::size_t>(dimension(c.split, x.rank()));
    Values starts(x.shape.size(), to_.constant(DType::I32, {}, 0));
    starts[d] = position(axes) * static_cast<double>(out.shape[d]);
    return dynamic_slice(x, starts, out.shape);
  }
  const bool written = !n.attrs.has("written") || n.attrs.flag("written");
  if (program_.mesh->size_of(axes) == 1 && !written) return reshape(x, out.shape);
  ++to_.collectives;
  if (c.pairs) {
    std::vector<ir::Ints> all;
    for (const ir::Ints& line : lines(*program_.mesh, axes))
      for (auto [from, to] : n.attrs.pairs("pairs"))
        all.push_back({line[static_cast<std::size_t>(from)], line[static_cast<std::size_t>(to)]});
    return to_.op("stablehlo.collective_permute", {x}, x.dtype, x.shape,
                  "source_target_pairs = " + rows_text(all) + channel(to_, false));
  }
  const std::string over = groups(n);
  const bool tiled = ir::tiled(c, n.attrs);
  if (c.combine) {
    if (!c.split) return combined_over(x, *c.combine, over);
    const std::string region = to_.combining(combiner(*c.combine, x.dtype), x.dtype);
    const std::int64_t d = dimension(c.split, x.rank());
    const Shape made = tiled ? out.shape : inserted(out.shape, d);
    return reshape(to_.op("stablehlo.reduce_scatter", {x}, x.dtype, made,
                          dim_attribute("scatter_dimension", d) + over + channel(to_, true), region),
                   out.shape);
  }
  const std::int64_t join = dimension(c.join, out.shape.empty() ? 0 : static_cast<std::int64_t>(out.shape.size()));
  if (!c.split) {
    const Value given = tiled ? x : reshape(x, inserted(x.shape, join));
    return to_.op("stablehlo.all_gather", {given}, x.dtype, out.shape,
                  dim_attribute("all_gather_dim", join) + over + channel(to_, true));
  }
  const std::int64_t split = dimension(c.split, x.rank());
  const std::int64_t count = n.attrs.has("groups") ? n.attrs.integer("group_size") : program_.mesh->size_of(axes);
  const auto exchange = [&](const Value& v, std::int64_t from, std::int64_t to, Shape made) {
    return to_.op("stablehlo.all_to_all", {v}, v.dtype, std::move(made),
                  dim_attribute("split_dimension", from) + dim_attribute("concat_dimension", to) +
                      dim_attribute("split_count", count) + over + channel(to_, false));
  };
  if (tiled) return exchange(x, split, join, out.shape);
  // The split dimension goes and a new one comes: for the time of the exchange both are there.
  const std::int64_t to = join <= split ? join : join + 1, from = join <= split ? split + 1 : split;
  Shape made = inserted(x.shape, to);
  const Value wide = reshape(x, made);
  std::swap(made[static_cast<std::size_t>(from)], made[static_cast<std::size_t>(to)]);
  return reshape(exchange(wide, from, to, made), out.shape);
}

}  // namespace shard::hlo
