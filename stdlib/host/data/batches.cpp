// A loader's next batch: its rows are gathered from the tables, on a thread of their own, ahead of the step that wants
// them.
#include <cstring>

#include "interpreter/lang/eval/layouts/spec.h"
#include "runtime/mesh/device_blocks.h"
#include "stdlib/host/data/loader.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {

std::optional<std::int64_t> Batches::length() const {
  return std::max<std::int64_t>(0, plan_.steps() * plan_.epochs - plan_.skip);
}

void Batches::restart() {
  at_ = plan_.skip;
  queue_.clear();
  orders_.clear();
}

std::string Batches::describe() const {
  return "loader of " + std::to_string(*length()) + " batches of " + std::to_string(plan_.batch);
}

std::optional<Value> Batches::next(Interpreter& in) {
  const std::int64_t end = plan_.steps() * plan_.epochs;
  if (at_ >= end) return std::nullopt;
  if (plan_.types_only) return blank(in);
  Rows rows;
  try {
    if (queue_.empty()) {
      rows = rows_of(in, at_, needed_);
    } else {
      rows = queue_.front().get();
      queue_.pop_front();
    }
  } catch (const runtime::RuntimeError& e) { in.fail(e.code, plan_.span, e.what()); }
  ++at_;
  if (plan_.example.is_none())
    for (std::int64_t i = at_ + static_cast<std::int64_t>(queue_.size()); i < std::min(at_ + plan_.ahead, end); ++i)
      queue_.push_back(std::async(std::launch::async,
                                  [table = plan_.rows, chosen = which(in, i), n = plan_.batch, wanted = needed_] {
                                    return Rows{table->gather(chosen, n, wanted), wanted};
                                  }));
  Value batch = made(in, rows.bytes, real_rows(at_ - 1));
  needed_ = needed_by(batch);
  if (rows.wanted.empty() || rows.wanted == needed_) return batch;
  try {  // it is laid out otherwise than the one before
    return made(in, rows_of(in, at_ - 1, needed_).bytes, real_rows(at_ - 1));
  } catch (const runtime::RuntimeError& e) { in.fail(e.code, plan_.span, e.what()); }
}

// The rows that lie in this process; empty where that is all of them.
WantedRows Batches::needed_by(const Value& batch) const {
  WantedRows out;
  bool all = true;
  const std::vector<Value> leaves = lang::leaves(batch);
  for (std::size_t i = 0; i < plan_.types.size(); ++i) {
    auto& ranges = out.emplace_back();
    const ArrayRef a = leaves[i].tensor().traced() ? nullptr : leaves[i].tensor().array();
    if (!a || !a->type.mesh || !a->type.mesh->part) {
      ranges.emplace_back(0, plan_.batch);
      continue;
    }
    const std::int64_t rows = a->local()[0];
    for (const runtime::DeviceBlock& b : runtime::device_blocks(*a))
      if (const std::int64_t first = b.origin[0]; ranges.empty() || first > ranges.back().second)
        ranges.emplace_back(first, first + rows);
      else
        ranges.back().second = std::max(ranges.back().second, first + rows);
    all = all && ranges.size() == 1 && ranges[0] == std::pair<std::int64_t, std::int64_t>(0, plan_.batch);
  }
  return all ? WantedRows() : out;
}

std::int64_t Batches::real_rows(std::int64_t at) const {
  return std::min(plan_.batch, plan_.count - at % plan_.steps() * plan_.batch);
}

ArrayRef Batches::epoch_key(Interpreter& in, std::int64_t epoch) const {
  const Value key = call_row(in, "fold_in", {Value(*plan_.shuffle), Value(epoch)}, plan_.span);
  return on_host(in, key.tensor(), "loader");
}

// The rows of batch `at`, counted over all epochs. Orders of epochs that may still be asked for are kept.
std::vector<std::int64_t> Batches::which(Interpreter& in, std::int64_t at) {
  const std::int64_t epoch = at / plan_.steps(), first = at % plan_.steps() * plan_.batch, n = real_rows(at);
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = first + i;
  if (!plan_.shuffle) return out;
  if (plan_.keyed) {
    if (!order_ || order_->first != epoch) {
      const auto* words = static_cast<const std::uint32_t*>(epoch_key(in, epoch)->buffer->data());
      order_.emplace(epoch, KeyedOrder(static_cast<std::uint64_t>(plan_.count), words[0], words[1]));
    }
    for (std::int64_t& row : out) row = static_cast<std::int64_t>(order_->second[static_cast<std::uint64_t>(row)]);
    return out;
  }
  while (!orders_.empty() && orders_.front().first < at_ / plan_.steps()) orders_.pop_front();
  if (orders_.empty() || orders_.back().first < epoch) {
    const Value key(Tensor(epoch_key(in, epoch)));
    const Value all = call_row(in, "arange", {Value(plan_.count)}, plan_.span);
    const Tensor order = call_row(in, "permutation", {key, all}, plan_.span).tensor();
    orders_.emplace_back(epoch, on_host(in, order, "loader"));
  }
  for (const auto& [e, order] : orders_)
    if (e == epoch)
      for (std::int64_t& row : out) row = static_cast<const std::int32_t*>(order->buffer->data())[row];
  return out;
}

// A function of the script is asked for all rows in every process: what it does besides is the same in all of them.
Batches::Rows Batches::rows_of(Interpreter& in, std::int64_t at, const WantedRows& wanted) {
  const std::vector<std::int64_t> rows = which(in, at);
  if (!plan_.example.is_none()) return {examples(in, rows), {}};
  return {plan_.rows->gather(rows, plan_.batch, wanted), wanted};
}

// What a function of the script gives for these rows, side by side.
Batches::Bytes Batches::examples(Interpreter& in, const std::vector<std::int64_t>& rows) const {
  Bytes out;
  for (const RowTable::RowType& type : plan_.types)
    out.emplace_back(static_cast<std::size_t>(plan_.batch) * type.bytes(), '\0');
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Value v = in.call(plan_.example, {Value(rows[i])}, plan_.span);
    const std::vector<Value> leaves = lang::leaves(v);
    const auto differs = [&](const std::string& what) {
      in.fail("shape", plan_.span,
              "the examples of a loader are alike; example " + std::to_string(rows[i]) + " " + what);
    };
    if (leaves.size() != plan_.types.size()) differs("has " + std::to_string(leaves.size()) + " arrays");
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      const RowTable::RowType& type = plan_.types[k];
      const Tensor t = as_array(in, leaves[k], plan_.span);
      if (t.type().dtype != type.dtype || t.type().shape != type.shape)
        differs("is " + runtime::to_string(t.type()) + ", the first one " +
                runtime::to_string(Type::of(type.dtype, type.shape)));
      const ArrayRef host = on_host(in, t, "loader");
      std::memcpy(out[k].data() + i * type.bytes(), host->buffer->data(), type.bytes());
    }
  }
  return out;
}

Value Batches::blank(Interpreter& in) {
  ++at_;
  std::vector<Value> out;
  for (const RowTable::RowType& type : plan_.types) {
    Shape shape = type.shape;
    shape.insert(shape.begin(), plan_.batch);
    out.push_back(call_row(in, "zeros", {{"", list_of(shape), plan_.span}, {"dtype", Value(type.dtype), plan_.span}},
                           plan_.span));
  }
  return finished(in, std::move(out), plan_.batch);
}

Value Batches::made(Interpreter& in, const Bytes& bytes, std::int64_t real) const {
  std::vector<Value> out;
  for (std::size_t a = 0; a < bytes.size(); ++a) {
    Shape shape = plan_.types[a].shape;
    shape.insert(shape.begin(), plan_.batch);
    out.emplace_back(new_array(in, plan_.types[a].dtype, std::move(shape), bytes[a].data()));
  }
  return finished(in, std::move(out), real);
}

Value Batches::finished(Interpreter& in, std::vector<Value> arrays, std::int64_t real) const {
  Value v = lang::with_leaves(plan_.tree, std::move(arrays));
  if (!plan_.spec.is_none()) v = lang::shard_tree(in, v, plan_.spec, nullptr, plan_.span);
  if (!plan_.pad) return v;
  std::string marks(static_cast<std::size_t>(plan_.batch), '\0');
  std::fill_n(marks.begin(), real, '\1');
  Value mask(new_array(in, DType::Bool, {plan_.batch}, marks.data()));
  if (plan_.spec.get<std::shared_ptr<const lang::Spec>>())
    mask = lang::shard_tree(in, mask, first_entry(), nullptr, plan_.span);
  std::vector<Value> items;
  if (v.is<std::shared_ptr<lang::Tuple>>())
    items = *v.items();
  else
    items.push_back(std::move(v));
  items.push_back(std::move(mask));
  return Value::tuple(std::move(items));
}

Value Batches::first_entry() const {  // the layout of rows alone
  lang::Spec s = **plan_.spec.get<std::shared_ptr<const lang::Spec>>();
  if (s.dims.size() > 1) s.dims.resize(1);
  return Value(std::make_shared<const lang::Spec>(std::move(s)));
}

}  // namespace shard::stdlib
