// Sums and largest elements of windows. What would lie in the padding is none of a window's elements; of equals the
// first is the largest, and a nan is larger than all else.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kPoolWork = 16 * 1024;  // elements that a task should look at

struct Place {
  std::int64_t x, beside;  // in the array of which windows are shown, and in another one of its shape
};

// The windows of entries [spatial..., channels] one after the other. `made` has an element for each window.
class Walk {
 public:
  Walk(const View& x, const View& beside, const View& made, const Windows& w) : w_(w) {
    const std::size_t spatial = w.size.size(), rank = x.shape.size(), lead = rank - spatial - 1;
    const auto steps = [&](std::size_t d) {
      return std::array<std::int64_t, 3>{x.strides[d], beside.strides[d], made.strides[d]};
    };
    for (std::size_t d = 0; d < lead; ++d) entries_.add(x.shape[d], steps(d));
    for (std::size_t d = lead; d + 1 < rank; ++d) {
      dims_.push_back({x.shape[d], made.shape[d], steps(d)});
      each_ *= made.shape[d];
    }
    channels = x.shape.back(), channel = steps(rank - 1);
  }

  // f(where the window's first channel is in `made`, its places in order). `apart`: no two windows write to the same
  // place, so that tasks may share an entry.
  void run(bool apart, const std::function<void(std::int64_t made, std::span<const Place>)>& f) const {
    const std::int64_t unit = apart ? 1 : each_, work = std::max<std::int64_t>(1, numel(w_.size) * channels * unit);
    if (each_ == 0 || channels == 0) return;
    spread(entries_.count(entries_.rank) * each_ / unit, std::max<std::int64_t>(1, kPoolWork / work),
           [&](std::int64_t from, std::int64_t to) {
             std::vector<Place> places, more;
             for (std::int64_t i = from * unit; i < to * unit; ++i) {
               const std::int64_t made = find(i, places, more);
               f(made, std::span<const Place>(places));
             }
           });
  }

  std::int64_t channels;
  std::array<std::int64_t, 3> channel;  // from one to the next: in x, beside it and in what is made

 private:
  struct Along {
    std::int64_t size, count;
    std::array<std::int64_t, 3> step;
  };

  std::int64_t find(std::int64_t i, std::vector<Place>& places, std::vector<Place>& more) const {
    const Position<3> entry(entries_, entries_.rank, i / each_);
    std::int64_t made = entry.offset[2], rest = i % each_;
    places.assign(1, {entry.offset[0], entry.offset[1]});
    std::int64_t behind = each_;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      const Along& along = dims_[d];
      behind /= along.count;
      const std::int64_t at = rest / behind, begin = at * w_.stride[d] - w_.before[d];
      rest %= behind;
      made += at * along.step[2];
      more.clear();
      const std::int64_t end = std::min(begin + w_.size[d], along.size);
      for (const Place& p : places)
        for (std::int64_t k = std::max<std::int64_t>(begin, 0); k < end; ++k)
          more.push_back({p.x + k * along.step[0], p.beside + k * along.step[1]});
      std::swap(places, more);
    }
    return made;
  }

  const Windows& w_;
  Nest<3> entries_;
  std::vector<Along> dims_;
  std::int64_t each_ = 1;  // windows of an entry
};

template <class C>
bool larger(C a, C b) {
  if constexpr (std::is_floating_point_v<C>)
    return a > b || (a != a && b == b);
  else
    return a > b;
}

template <class T>
const Place& largest(const T* x, std::span<const Place> places) {
  const Place* best = &places[0];
  auto most = to_compute(x[best->x]);
  for (const Place& p : places.subspan(1))
    if (const auto value = to_compute(x[p.x]); larger(value, most)) most = value, best = &p;
  return *best;
}

template <class T>
T least() {
  using C = Compute<T>;
  if constexpr (std::numeric_limits<C>::has_infinity)
    return from_compute<T>(-std::numeric_limits<C>::infinity());
  else
    return from_compute<T>(std::numeric_limits<C>::lowest());
}

View joined_rows(View v) {  // the last spatial dimension and the channels as one
  v.shape[v.shape.size() - 2] *= v.shape.back();
  v.strides[v.strides.size() - 2] = 1;
  v.shape.pop_back(), v.strides.pop_back();
  return v;
}

// Of elements that lie side by side: the rows of a window as one, then along the row.
void reduce_rows(Loop line_of, const View& x, const View& out, const Windows& w, double identity) {
  Windows outer = w;
  for (auto* numbers : {&outer.size, &outer.stride, &outer.before}) numbers->pop_back();
  const View rows = joined_rows(x), made = joined_rows(out);
  const Walk walk(rows, rows, made, outer);
  const std::size_t d = x.shape.size() - 2;
  const auto item = static_cast<std::int64_t>(size_of(x.dtype));
  const std::int64_t n = x.shape[d], count = out.shape[d], channels = x.shape.back(), step = channels * item,
                     size = w.size.back(), stride = w.stride.back(), before = w.before.back();
  walk.run(true, [&](std::int64_t at, std::span<const Place> places) {
    unsigned char* to = out.as<unsigned char>() + at * item;
    const auto nothing = [&](unsigned char* data, std::int64_t elements) {
      fill(contiguous(x.dtype, {elements}, data), identity, static_cast<std::int64_t>(identity));
    };
    if (places.empty()) return nothing(to, count * channels);
    const unsigned char* line = x.as<unsigned char>() + places[0].x * item;
    thread_local std::vector<unsigned char> sum;
    if (places.size() > 1) sum.resize(static_cast<std::size_t>(n * step));
    for (const Place& p : places.subspan(1)) {
      line_of(line, x.as<unsigned char>() + p.x * item, nullptr, sum.data(), n * channels);
      line = sum.data();
    }
    for (std::int64_t i = 0, run = 1; i < count; i += run, to += run * step) {
      const std::int64_t begin = i * stride - before, first = std::max<std::int64_t>(begin, 0),
                         end = std::min(begin + size, n);
      // Windows that are whole and one element apart are done together.
      run = stride == 1 && begin >= 0 && begin + size <= n ? std::min(count - i, n - size - begin + 1) : 1;
      if (first >= end) {
        nothing(to, channels);
        continue;
      }
      const unsigned char* window = line + first * step;
      if (end - first == 1) std::copy_n(window, run * step, to);
      for (std::int64_t k = first + 1; k < end; ++k) {
        line_of(window, line + k * step, nullptr, to, run * channels);
        window = to;
      }
    }
  });
}

template <class F>
void visit_floats(DType t, F f) {
  switch (t) {
    case DType::F16: return f(Half{});
    case DType::BF16: return f(Brain{});
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    default: throw RuntimeError("kernel", "windows are picked from of floats, not of " + std::string(name(t)));
  }
}

}  // namespace

void window_reduce(Reduce how, const View& x, const View& out, const Windows& w) {
  const std::size_t d = x.shape.size() - 1;
  const auto in_line = [&](const View& v) {
    return (v.strides[d] == 1 || v.shape[d] == 1) && (v.strides[d - 1] == v.shape[d] || v.shape[d - 1] == 1);
  };
  const Loop line_of = in_line(x) && in_line(out) && is_float(x.dtype) && !is_narrow(x.dtype)
                           ? vector_table().loop(joins(how), x.dtype)
                           : nullptr;
  if (line_of) return reduce_rows(line_of, x, out, w, how == Reduce::Max ? -HUGE_VAL : 0);
  const Walk walk(x, x, out, w);
  visit(x.dtype, [&](auto t) {
    using T = decltype(t);
    walk.run(true, [&](std::int64_t made, std::span<const Place> places) {
      const T* from = x.as<T>();
      T* to = out.as<T>() + made;
      for (std::int64_t c = 0; c < walk.channels; ++c, from += walk.channel[0], to += walk.channel[2]) {
        if (how == Reduce::Max) {
          *to = places.empty() ? least<T>() : from[largest(from, places).x];
          continue;
        }
        Compute<T> sum{};
        for (const Place& p : places) sum = add_wrapped(sum, to_compute(from[p.x]));
        *to = from_compute<T>(sum);
      }
    });
  });
}

void window_pick(const View& x, const View& u, const View& out, const Windows& w) {
  const Walk walk(x, u, out, w);
  visit_floats(x.dtype, [&](auto t) {
    using T = decltype(t);
    walk.run(true, [&](std::int64_t made, std::span<const Place> places) {
      const T *by = x.as<T>(), *from = u.as<T>();
      T* to = out.as<T>() + made;
      for (std::int64_t c = 0; c < walk.channels; ++c) {
        *to = places.empty() ? T{} : from[largest(by, places).beside];
        by += walk.channel[0], from += walk.channel[1], to += walk.channel[2];
      }
    });
  });
}

void window_put(const View& x, const View& ct, const View& out, const Windows& w) {
  fill(out, 0, 0);
  const Walk walk(x, out, ct, w);
  visit_floats(x.dtype, [&](auto t) {
    using T = decltype(t);
    walk.run(false, [&](std::int64_t made, std::span<const Place> places) {
      const T *by = x.as<T>(), *from = ct.as<T>() + made;
      T* to = out.as<T>();
      for (std::int64_t c = 0; c < walk.channels && !places.empty(); ++c) {
        T& sum = to[largest(by, places).beside];
        sum = from_compute<T>(add_wrapped(to_compute(sum), to_compute(*from)));
        by += walk.channel[0], to += walk.channel[1], from += walk.channel[2];
      }
    });
  });
}

}  // namespace shard::runtime
