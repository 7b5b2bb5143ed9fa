#include "runtime/mesh/between.h"

#include <algorithm>
#include <cstring>

namespace shard::runtime {
namespace {

constexpr std::int64_t kWhole = 64 << 10;   // up to here every process gets all terms: one step less
constexpr std::int64_t kPiece = 128 << 10;  // the bytes that one process combines in one round

}  // namespace

ReduceBetween::ReduceBetween(const Mesh& mesh, std::span<const AxisId> over, Reduce op, DType dtype,
                             std::int64_t elements)
    : processes_(mesh.part->processes), op_(op), dtype_(dtype), elements_(elements) {
  members_ = members_along(mesh, over);
  sorted_ = members_;
  std::sort(sorted_.begin(), sorted_.end());
  place_ =
      static_cast<std::size_t>(std::find(members_.begin(), members_.end(), processes_->index()) - members_.begin());
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  slice_ = elements * item <= kWhole ? elements : std::min((elements + count() - 1) / count(), kPiece / item);
}

std::int64_t ReduceBetween::scratch_bytes() const {
  return slice_ * count() * static_cast<std::int64_t>(size_of(dtype_));
}

void ReduceBetween::combine(const char* own, std::size_t bytes, void* out, char* scratch) const {
  const auto item = static_cast<std::int64_t>(size_of(dtype_));
  if (bytes == 0) return;
  std::memcpy(scratch + static_cast<std::int64_t>(place_) * slice_ * item, own, bytes);
  const std::int64_t n = static_cast<std::int64_t>(bytes) / item;
  reduce_blocks(op_, View{dtype_, {count(), n}, {slice_, 1}, scratch}, 1, contiguous(dtype_, {n}, out));
}

ReduceBetween::Range ReduceBetween::slice(std::int64_t round, std::size_t member) const {
  const auto item = static_cast<std::int64_t>(size_of(dtype_));
  const std::int64_t at = std::min(elements_, (round * count() + static_cast<std::int64_t>(member)) * slice_);
  const std::int64_t n = std::min(slice_, elements_ - at);
  return {static_cast<std::size_t>(at * item), static_cast<std::size_t>(n * item)};
}

void ReduceBetween::run(const Meeting& meeting, const void* mine, void* out, char* scratch) const {
  const auto item = static_cast<std::int64_t>(size_of(dtype_));
  const auto bytes = static_cast<std::size_t>(elements_ * item);
  const char* own = static_cast<const char*>(mine);
  char* made = static_cast<char*>(out);
  const auto slot = [&](std::size_t i) { return scratch + static_cast<std::int64_t>(i) * slice_ * item; };
  std::vector<Outgoing> sent;
  std::vector<Incoming> got;
  const bool whole = slice_ == elements_;
  const auto give = [&](std::int64_t round) {  // each its slice of this process's term
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (i == place_) continue;
      const Range theirs = whole ? Range{0, bytes} : slice(round, i), ours = whole ? theirs : slice(round, place_);
      if (theirs.size > 0) sent.push_back({members_[i], own + theirs.at, theirs.size});
      if (ours.size > 0) got.push_back({members_[i], slot(i), ours.size});
    }
  };
  give(0);
  processes_->begin(meeting, sorted_, bytes, sent, got);
  if (whole) return combine(own, bytes, out, scratch);
  const std::int64_t round_elements = slice_ * count(), rounds = (elements_ + round_elements - 1) / round_elements;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const Range ours = slice(round, place_);
    combine(own + ours.at, ours.size, made + ours.at, scratch);
    sent.clear(), got.clear();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (i == place_) continue;
      const Range theirs = slice(round, i);
      if (ours.size > 0) sent.push_back({members_[i], made + ours.at, ours.size});
      if (theirs.size > 0) got.push_back({members_[i], made + theirs.at, theirs.size});
    }
    if (round + 1 < rounds) give(round + 1);
    processes_->go_on(sent, got);
  }
}

void ReduceBetween::run_parts(const Meeting& meeting, const void* mine, void* out, char* scratch) const {
  const auto item = static_cast<std::int64_t>(size_of(dtype_));
  const auto bytes = static_cast<std::size_t>(elements_ * item);
  const auto part = [&](std::size_t i) { return static_cast<const char*>(mine) + i * bytes; };
  std::vector<Outgoing> sent;
  std::vector<Incoming> got;
  // Round after round, so that the scratch stays small: in each a stretch of everybody's part.
  for (std::int64_t first = 0; first == 0 || first < elements_; first += slice_) {
    const auto at = static_cast<std::size_t>(first * item);
    const auto size = static_cast<std::size_t>(std::min(slice_, elements_ - first) * item);
    sent.clear(), got.clear();
    for (std::size_t i = 0; i < members_.size() && size > 0; ++i) {
      if (i == place_) continue;
      sent.push_back({members_[i], part(i) + at, size});
      got.push_back({members_[i], scratch + static_cast<std::int64_t>(i) * slice_ * item, size});
    }
    if (first == 0)
      processes_->begin(meeting, sorted_, bytes, sent, got);
    else
      processes_->go_on(sent, got);
    combine(part(place_) + at, size, static_cast<char*>(out) + at, scratch);
    if (elements_ == 0) return;
  }
}

}  // namespace shard::runtime
