#include "interpreter/lang/eval/index/masks.h"

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

using runtime::DType;
using trace::Tensor;

namespace {

// How many elements a mask picks from each part only a run knows: what it picks from is whole.
void refuse_split_under(const runtime::Type& x, const runtime::Type& mask, std::size_t first) {
  for (std::size_t d = first; d < first + mask.shape.size() && d < x.sharding.dims.size(); ++d) {
    const auto& axes = x.sharding.dims[d].axes;
    if (axes.empty()) continue;
    throw runtime::RuntimeError(
        "layout", "a mask " + runtime::to_string(mask) + " picks from " + runtime::to_string(x) + ", whose dimension " +
                      std::to_string(d) + " is split over " + ir::axes_text(*x.mesh, axes) +
                      ": how many elements each part gives only a run knows. `shard` the array first");
  }
}

}  // namespace

bool is_mask(const IndexItem& item) {
  auto* t = item.value.get<Tensor>();
  return !item.slice && !item.ellipsis && t && t->type().dtype == DType::Bool;
}

void check_mask(Interpreter& in, const IndexItem& item, const runtime::Type& x, std::size_t first) {
  const runtime::Type& t = item.value.tensor().type();
  for (std::size_t k = 0; k < t.shape.size(); ++k)
    if (first + k < x.shape.size() && x.shape[first + k] != t.shape[k])
      in.fail("index", item.span,
              "the mask " + runtime::to_string(t) + " does not fit the array " + runtime::to_string(x) +
                  ": dimension " + std::to_string(first + k) + " has size " + std::to_string(x.shape[first + k]));
  refuse_split_under(x, t, first);
}

std::vector<Tensor> positions_of(ArrayOps& ops, const Tensor& mask) {
  auto& ctx = ops.in().context();
  if (mask.traced())
    throw runtime::RuntimeError("trace",
                                "a mask picks as many elements as are true, and inside a traced function that is not "
                                "known; use where(mask, x, y), or x * mask");
  if (Checker* checker = ops.in().impl().checker; checker && !mask.array()->has_elements()) {
    const runtime::Shape some{checker->fresh_size()};
    return std::vector<Tensor>(static_cast<std::size_t>(mask.type().rank()),
                               ctx.unknown(runtime::Type::of(DType::I32, some)));
  }
  runtime::ArrayRef host = runtime::to_host(ctx.pool(), mask.array());
  const runtime::Shape shape = mask.type().shape;
  std::vector<std::vector<std::int32_t>> at(shape.size());
  runtime::Shape index(shape.size(), 0);
  const std::int64_t n = runtime::numel(shape);
  for (std::int64_t flat = 0; flat < n; ++flat) {
    if (runtime::element_int(*host, flat))
      for (std::size_t d = 0; d < shape.size(); ++d) at[d].push_back(static_cast<std::int32_t>(index[d]));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  std::vector<Tensor> out;
  for (auto& positions : at)
    out.emplace_back(
        runtime::from_host(ctx.pool(), DType::I32, {static_cast<std::int64_t>(positions.size())}, positions.data()));
  return out;
}

}  // namespace shard::lang
