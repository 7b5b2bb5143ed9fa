// Products with windows as StableHLO's convolution: what they are summed over decides. Over the windows it is a
// convolution, over the places that of its kernel's gradient, in which both change roles.
#include <algorithm>
#include <numeric>

#include "stdlib/ops/hlo.h"

namespace shard::stdlib {
namespace {

std::string conv_numbers(std::string_view name, std::span<const std::int64_t> numbers) {
  return std::string(name) + " = " + hlo::list_text(numbers) + ", ";
}

std::string conv_dims(std::string_view first, std::size_t count) {
  std::string out = "[" + std::string(first);
  for (std::size_t i = 0; i < count; ++i) out += ", " + std::to_string(i);
  return out + "]";
}

std::string conv_padding(const Pairs& padding) {
  std::string out = "padding = dense<[";
  for (const auto& [before, behind] : padding)
    out += (&before == &padding[0].first ? "[" : ", [") + std::to_string(before) + ", " + std::to_string(behind) + "]";
  return out + "]> : tensor<" + std::to_string(padding.size()) + "x2xi64>, ";
}

// The dimensions of a value in another order, some of them joined to one.
class Joined {
 public:
  explicit Joined(hlo::Value value) : value_(std::move(value)) {}
  void add(std::span<const std::int64_t> dims, bool join = false) {
    for (auto d : dims) {
      perm_.push_back(d);
      const std::int64_t n = value_.shape[static_cast<std::size_t>(d)];
      if (!join) shape_.push_back(n);
      if (join) shape_.back() *= n;
    }
  }
  void one() { shape_.push_back(1); }  // that the next ones are joined to
  hlo::Value made() const { return hlo::reshape(hlo::transpose(value_, perm_), shape_); }

 private:
  hlo::Value value_;
  Ints perm_;
  Shape shape_;
};

// Which letters of windows and y stand for what.
struct Roles {
  std::string taps, places;                 // of windows: summed with y; kept
  std::string batch, groups, summed, kept;  // of the windows alone; of both and kept; of both; of y alone
};

std::optional<Roles> roles_of(const Lettered& windows, const Lettered& y, std::string_view out) {
  const hlo::Cut& cut = *windows.value.cut;
  const std::string places = windows.letters.substr(cut.lead, cut.count),
                    window = windows.letters.substr(cut.lead + cut.count, cut.count);
  const auto given = [&](char letter) { return out.find(letter) != std::string_view::npos; };
  const auto all = [&](const std::string& letters, bool summed) {
    return std::all_of(letters.begin(), letters.end(),
                       [&](char letter) { return y.has(letter) == summed && given(letter) != summed; });
  };
  Roles r;
  if (all(window, true) && all(places, false))
    r.taps = window, r.places = places;
  else if (all(places, true) && all(window, false))
    r.taps = places, r.places = window;
  else
    return std::nullopt;
  for (char letter : windows.letters) {
    if (places.find(letter) != std::string::npos || window.find(letter) != std::string::npos) continue;
    if (!y.has(letter) && !given(letter)) return std::nullopt;  // summed by itself: rare, and a product like any other
    (y.has(letter) ? given(letter) ? r.groups : r.summed : r.batch) += letter;
  }
  for (char letter : y.letters) {
    if (windows.has(letter)) continue;
    if (!given(letter)) return std::nullopt;
    r.kept += letter;
  }
  return r;
}

}  // namespace

hlo::Value convolution(const hlo::Value& x, const hlo::Value& w, const Taps& taps, DType dtype) {
  const std::size_t count = taps.stride.size();
  const bool narrow = dtype == DType::F16 || dtype == DType::BF16;
  Shape shape{x.shape[0], w.shape[0]};
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t n = x.shape[2 + i] + taps.padding[i].first + taps.padding[i].second;
    shape.push_back((n - (w.shape[2 + i] - 1) * taps.dilation[i] - 1) / taps.stride[i] + 1);
  }
  std::string forward;
  for (std::size_t i = 0; i < count; ++i) forward += i ? ", false" : "false";
  const std::string attributes = "batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<" +
                                 conv_dims("b, f", count) + "x" + conv_dims("o, i", count) + "->" +
                                 conv_dims("b, f", count) + ">, feature_group_count = " + std::to_string(taps.groups) +
                                 " : i64, " + conv_numbers("lhs_dilation", Ints(count, 1)) +
                                 conv_padding(taps.padding) + conv_numbers("rhs_dilation", taps.dilation) +
                                 "window_reversal = array<i1: " + forward + ">, " +
                                 conv_numbers("window_strides", taps.stride) + hlo::precise();
  const DType sums = narrow ? DType::F32 : dtype;
  return hlo::convert(x.to->op("stablehlo.convolution", {x, w}, sums, std::move(shape), attributes), dtype);
}

std::optional<hlo::Value> as_convolution(const Lettered& windows, const Lettered& y, std::string_view out,
                                         DType dtype) {
  const hlo::Cut& cut = *windows.value.cut;
  const auto roles = roles_of(windows, y, out);
  if (!roles || !runtime::is_float(dtype) || runtime::numel(windows.value.shape) == 0 ||
      runtime::numel(y.value.shape) == 0)
    return std::nullopt;
  const auto from = [&](const std::string& letters) {  // dimensions of what was cut
    Ints dims;
    for (char letter : letters) {
      const auto at = static_cast<std::size_t>(windows.place(letter));
      dims.push_back(static_cast<std::int64_t>(at < cut.lead ? at : at - cut.count));
    }
    return dims;
  };
  const auto of_y = [&](const std::string& letters) {
    Ints dims;
    for (char letter : letters) dims.push_back(y.place(letter));
    return dims;
  };
  Ints spatial(cut.count);
  std::iota(spatial.begin(), spatial.end(), static_cast<std::int64_t>(cut.lead));
  Joined x(cut.from), w(y.value);
  x.one(), x.add(from(roles->batch), true), x.one(), x.add(from(roles->groups + roles->summed), true), x.add(spatial);
  w.one(), w.add(of_y(roles->groups + roles->kept), true), w.one(), w.add(of_y(roles->summed), true);
  w.add(of_y(roles->taps));
  Taps taps{cut.stride, cut.dilation, cut.padding};
  if (roles->taps == windows.letters.substr(cut.lead, cut.count)) {  // over the places: as many as there are windows
    std::swap(taps.stride, taps.dilation);
    for (std::size_t i = 0; i < cut.count; ++i) {
      const std::int64_t reach = (windows.size(roles->places[i]) - 1) * taps.stride[i] +
                                 (windows.size(roles->taps[i]) - 1) * taps.dilation[i] + 1;
      taps.padding[i].second = reach - cut.from.shape[cut.lead + i] - taps.padding[i].first;
    }
  }
  for (char letter : roles->groups) taps.groups *= windows.size(letter);
  const hlo::Value made = convolution(x.made(), w.made(), taps, dtype);
  const std::string letters = roles->batch + roles->groups + roles->kept + roles->places;
  Shape shape;
  Ints perm;
  for (char letter : letters) shape.push_back(windows.has(letter) ? windows.size(letter) : y.size(letter));
  for (char letter : out) perm.push_back(static_cast<std::int64_t>(letters.find(letter)));
  return hlo::transpose(hlo::reshape(made, shape), perm);
}

// The shorter line turned round and moved along the longer one; lines beside each other are groups of their own.
hlo::Values convolve_hlo(const hlo::Use& u) {
  const bool swap = u.in[0].shape.back() < u.in[1].shape.back();
  const hlo::Value &x = u.in[swap ? 1 : 0], &y = u.in[swap ? 0 : 1];
  const std::int64_t n = x.shape.back(), size = y.shape.back(),
                     lines = runtime::numel(x.shape) / std::max<std::int64_t>(n, 1);
  if (runtime::numel(u.out[0].shape) == 0 || size == 0) return {u.to.constant(x.dtype, u.out[0].shape, 0)};
  const hlo::Value turned = hlo::reverse(hlo::reshape(y, {lines, 1, size}), Ints{2});
  const Taps taps{{1}, {1}, {{size - 1, size - 1}}, lines};
  return {hlo::reshape(convolution(hlo::reshape(x, {1, lines, n}), turned, taps, x.dtype), u.out[0].shape)};
}

// Where places and windows stay as they are, what is behind them has the new shape before they are cut too.
hlo::Value reshaped_hlo(const hlo::Value& x, const Shape& shape) {
  const hlo::Cut* cut = x.cut.get();
  const auto front = static_cast<std::ptrdiff_t>(cut ? cut->lead + 2 * cut->count : 0);
  if (!cut || shape.size() < static_cast<std::size_t>(front) ||
      !std::equal(shape.begin(), shape.begin() + front, x.shape.begin()))
    return hlo::reshape(x, shape);
  Shape given(cut->from.shape.begin(), cut->from.shape.begin() + static_cast<std::ptrdiff_t>(cut->lead + cut->count));
  given.insert(given.end(), shape.begin() + front, shape.end());
  hlo::Cut other = *cut;
  other.from = hlo::reshape(cut->from, given);
  hlo::Value out = x;
  out.shape = shape;
  out.cut = std::make_shared<const hlo::Cut>(std::move(other));
  return out;
}

}  // namespace shard::stdlib
