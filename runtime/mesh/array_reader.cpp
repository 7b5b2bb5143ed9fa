#include "runtime/mesh/array_reader.h"

#include <algorithm>

#include "runtime/kernels/kernels.h"

namespace shard::runtime {

Pieces::Pieces(Pool& pool, ArrayRef array, std::size_t bytes) : array_(std::move(array)) {
  if (!array_->layout.unreduced.empty()) array_ = to_host(pool, array_);
  far_ = !array_->buffer && array_->elsewhere && array_->elsewhere->in_parts() && !array_->type.shape.empty();
  if (!far_) array_ = whole(pool, here(pool, array_));
  view_ = far_ ? array_->view() : global_view(*array_);
  item_ = size_of(view_.dtype);
  left_ = numel(view_.shape);
  const std::int64_t most = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / item_));
  if (!far_ && is_contiguous(view_)) {
    view_.shape = {left_}, view_.strides = {1};
  } else if (left_ > 0) {
    split_ = view_.shape.size() - 1;
    while (split_ > 0 && inner_ * view_.shape[split_] <= most) inner_ *= view_.shape[split_--];
    scratch_ = pool.allocate(static_cast<std::size_t>(std::min(left_, std::max(most, inner_))) * item_);
  }
  rows_ = std::max<std::int64_t>(1, most / inner_);
  at_.assign(split_ + 1, 0);
}

std::string_view Pieces::next() {
  if (left_ == 0) return {};
  View part = view_;
  std::int64_t first = 0;
  for (std::size_t d = 0; d <= split_; ++d) {
    first += at_[d] * view_.strides[d];
    part.shape[d] = d < split_ ? 1 : std::min(rows_, view_.shape[d] - at_[d]);
  }
  if (!far_) part.data = static_cast<char*>(view_.data) + first * static_cast<std::int64_t>(item_);
  const std::int64_t count = part.shape[split_] * inner_;
  Shape origin;
  if (far_) origin = at_, origin.resize(view_.shape.size(), 0);
  at_[split_] += part.shape[split_];
  for (std::size_t d = split_; d > 0 && at_[d] == view_.shape[d]; --d) at_[d] = 0, ++at_[d - 1];
  left_ -= count;
  if (scratch_) {
    const View out = contiguous(part.dtype, part.shape, scratch_->data());
    if (far_)
      array_->elsewhere->read(origin, out);
    else
      copy(part, out);
    part.data = scratch_->data();
  }
  return {static_cast<const char*>(part.data), static_cast<std::size_t>(count) * item_};
}

}  // namespace shard::runtime
