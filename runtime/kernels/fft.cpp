// Stockham's transforms of mixed radix: a pass of radix r takes r elements that lie n / r apart and puts their r sums
// side by side, so that no elements change places in the end. Several lines go together as the fastest dimension.
#include "runtime/kernels/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/kernels/line.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/transpose.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kMostLanes = 16, kLeastLanes = 4;
constexpr std::int64_t kWorkBytes = 1 << 20;  // of the lines that go together: for the second cache

struct Rotation {
  double re, im;
};
Rotation rotation(std::int64_t k, std::int64_t n) {  // exp(-2 pi i k / n), quarters exactly
  constexpr Rotation kQuarters[] = {{1, 0}, {0, -1}, {-1, 0}, {0, 1}};
  k %= n;
  if (4 * k % n == 0) return kQuarters[4 * k / n];
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), -std::sin(angle)};
}

}  // namespace

void Fourier::AllTurns::add(double re, double im) {
  wide.re.push_back(re), wide.im.push_back(im);
  narrow.re.push_back(static_cast<float>(re)), narrow.im.push_back(static_cast<float>(im));
}
template <class T>
const Fourier::Turns<T>& Fourier::AllTurns::of() const {
  if constexpr (sizeof(T) == 8)
    return wide;
  else
    return narrow;
}

Fourier::Fourier(std::int64_t n) : Fourier(n, Alone()) {
  if (inner_ || n % 2 != 0) return;
  half_.reset(new Fourier(n / 2, Alone()));
  for (std::int64_t k = 0; k <= n / 2; ++k) {
    const Rotation w = rotation(k, n);
    turns_.add(w.re, w.im);
  }
}

Fourier::Fourier(std::int64_t n, Alone) : n_(n) {
  std::vector<std::int64_t> radices;
  std::int64_t left = n;
  for (std::int64_t r : {4, 2, 3, 5, 7, 11, 13})
    for (; left % r == 0 && left > 1; left /= r) radices.push_back(r);
  if (left > 1) {
    std::int64_t wide = 1;
    while (wide < 2 * n - 1) wide *= 2;
    inner_.reset(new Fourier(wide, Alone()));
    std::vector<double> re(static_cast<std::size_t>(wide), 0), im(re), work_re(re), work_im(re);
    for (std::int64_t j = 0; j < n; ++j) {
      const Rotation w = rotation(j * j % (2 * n), 2 * n);
      chirp_re_.push_back(w.re), chirp_im_.push_back(w.im);
      for (const std::int64_t at : {j, (wide - j) % wide})
        re[static_cast<std::size_t>(at)] = w.re, im[static_cast<std::size_t>(at)] = -w.im;
    }
    double *x[2] = {re.data(), im.data()}, *y[2] = {work_re.data(), work_im.data()};
    inner_->transform<double>(x, y, 1);
    by_re_.assign(x[0], x[0] + wide), by_im_.assign(x[1], x[1] + wide);
    return;
  }
  for (std::int64_t length = n; const std::int64_t r : radices) {
    Stage s{r, length / r, {}};
    const auto add = [](AllTurns& to, const Rotation& w) { to.add(w.re, w.im); };
    for (std::int64_t k = 0; k < r; ++k) add(s.turns, rotation(k, r));
    for (std::int64_t p = 0; p < s.rest; ++p)
      for (std::int64_t t = 0; t < r; ++t) add(s.turns, rotation(p * t, length));
    // Both first passes of such a length are of radix 4, and fill vectors.
    for (std::int64_t t = 1; n % 64 == 0 && stages_.size() < 2 && t < 4; ++t)
      for (std::int64_t i = 0; i < n / 4; ++i) add(s.of_line, rotation(i / (n / length) * t, length));
    length = s.rest;
    stages_.push_back(std::move(s));
  }
}

// From x to y, of elements that are so far apart in x.
template <class T>
void Fourier::pass(const Stage& s, std::int64_t stride, std::int64_t apart, const T* const* x, T* const* y) const {
  const Turns<T>&turns = s.turns.of<T>(), &of_line = s.of_line.of<T>();
  const T *re = turns.re.data(), *im = turns.im.data();
  FourierPass<T> f{s.radix, s.rest, stride, apart, x[0], x[1], re + s.radix, im + s.radix, re, im, y[0], y[1]};
  if (stride == n_ / (s.radix * s.rest) && stride == apart && !of_line.re.empty())
    f.line_re = of_line.re.data(), f.line_im = of_line.im.data();
  if constexpr (sizeof(T) == 8)
    vector_table().fourier_f64(f);
  else
    vector_table().fourier_f32(f);
}

// From x to x, by way of y: the two change places after each pass. `done`: passes that have been done.
template <class T>
void Fourier::transform(T** x, T** y, std::int64_t count, std::size_t done) const {
  std::int64_t stride = count;
  for (std::size_t i = 0; i < stages_.size(); stride *= stages_[i++].radix) {
    if (i < done) continue;
    pass(stages_[i], stride, stride, x, y);
    std::swap(x[0], y[0]), std::swap(x[1], y[1]);
  }
}

// One line from x to y, where its elements lie side by side; by way of 4 n elements.
template <class T>
void Fourier::line(const T* const* x, T* const* y, T* work) const {
  T* const between[2][2] = {{work, work + n_}, {work + 2 * n_, work + 3 * n_}};
  const T* from[2] = {x[0], x[1]};
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    T* const* const to = i + 1 == stages_.size() ? y : between[i % 2];
    const std::int64_t stride = n_ / (stages_[i].radix * stages_[i].rest);
    pass(stages_[i], stride, stride, from, to);
    from[0] = to[0], from[1] = to[1];
  }
}
template <class T>
void Fourier::real_line(const T* x, T* const* y, T* work) const {
  T *const parts[2] = {work, work + n_ / 2}, *const z[2] = {work + n_, work + n_ + n_ / 2};
  for (const int part : {0, 1}) read_line(x + part, 2, parts[part], n_ / 2);
  half_->line<T>(parts, z, work + 2 * n_);
  halves(1, z, y);
}

// Elements of even and of odd index are the parts of complex lines half as long, which the first pass reads where they
// lie.
template <class T>
void Fourier::by_half(T** x, T** y, std::int64_t count) const {
  T* const parts[] = {y[0], y[0] + count};
  if (half_->stages_.empty())
    for (const int part : {0, 1}) std::copy_n(parts[part], count, x[part]);
  else
    half_->pass(half_->stages_[0], count, 2 * count, parts, x);
  half_->transform(x, y, count, 1);
  halves(count, x, y);
  std::swap(x[0], y[0]), std::swap(x[1], y[1]);
}
template <class T>
void Fourier::halves(std::int64_t count, T* const* z, T* const* y) const {
  const Turns<T>& turns = turns_.of<T>();
  const FourierHalves<T> f{n_ / 2, count, z[0], z[1], turns.re.data(), turns.im.data(), y[0], y[1]};
  if constexpr (sizeof(T) == 8)
    vector_table().fourier_halves_f64(f);
  else
    vector_table().fourier_halves_f32(f);
}

void Fourier::by_chirp(double** x, double** y, std::int64_t count) const {
  const std::int64_t wide = inner_->n_;
  const auto turned = [&](double** v, std::int64_t j, double re, double im) {
    for (std::int64_t q = j * count; q < (j + 1) * count; ++q) {
      const double r = v[0][q], m = v[1][q];
      v[0][q] = r * re - m * im, v[1][q] = r * im + m * re;
    }
  };
  const auto at = [](std::int64_t j) { return static_cast<std::size_t>(j); };
  for (std::int64_t j = 0; j < n_; ++j) turned(x, j, chirp_re_[at(j)], chirp_im_[at(j)]);
  for (int part : {0, 1}) std::fill(x[part] + n_ * count, x[part] + wide * count, 0.0);
  inner_->transform<double>(x, y, count);
  for (std::int64_t j = 0; j < wide; ++j) turned(x, j, by_re_[at(j)], by_im_[at(j)]);
  std::swap(x[0], x[1]), std::swap(y[0], y[1]);  // the parts exchanged: the inverse, but for the factor
  inner_->transform<double>(x, y, count);
  std::swap(x[0], x[1]), std::swap(y[0], y[1]);
  const double by = 1.0 / static_cast<double>(wide);
  for (std::int64_t j = 0; j < n_; ++j) turned(x, j, chirp_re_[at(j)] * by, chirp_im_[at(j)] * by);
}

namespace {

// Some lines of an array: where each begins, and how far apart its elements are.
struct Lines {
  std::int64_t first[kMostLanes], count, n, step;
  bool by_lines() const {  // elements side by side, and lines equally far apart
    bool even = step == 1;
    for (std::int64_t q = 2; q < count; ++q) even = even && first[q] - first[q - 1] == first[1] - first[0];
    return even;
  }
  std::int64_t apart() const { return count > 1 ? first[1] - first[0] : n; }
};

// `lines` of n elements become columns.
template <class T>
void turn(const T* from, std::int64_t line, T* to, std::int64_t column, std::int64_t lines, std::int64_t n) {
  if constexpr (sizeof(T) == 4)
    vector_table().turned(reinterpret_cast<const std::uint32_t*>(from), line, reinterpret_cast<std::uint32_t*>(to),
                          column, lines, n);
  else
    transpose(from, line, to, column, n, lines);
}

// Element j of line q is side[j * count + q].
template <class T, class W>
void gather(const Lines& l, const T* data, W* side) {
  if constexpr (std::is_same_v<T, W>)
    if (l.by_lines()) return turn(data + l.first[0], l.apart(), side, l.count, l.count, l.n);
  for (std::int64_t j = 0; j < l.n; ++j)
    for (std::int64_t q = 0; q < l.count; ++q) side[j * l.count + q] = data[l.first[q] + j * l.step];
}
template <class T, class W>
void scatter(const Lines& l, const W* side, T* data) {
  if constexpr (std::is_same_v<T, W>)
    if (l.by_lines()) return turn(side, l.count, data + l.first[0], l.apart(), l.n, l.count);
  for (std::int64_t j = 0; j < l.n; ++j)
    for (std::int64_t q = 0; q < l.count; ++q) data[l.first[q] + j * l.step] = static_cast<T>(side[j * l.count + q]);
}

}  // namespace

template <class T, class W>
void Fourier::groups(const View* in, const View* out, std::int64_t lanes, std::int64_t lo, std::int64_t hi) const {
  const std::int64_t size = (inner_ ? inner_->n_ : n_) * lanes, lines = numel(in[0].shape) / n_;
  const std::unique_ptr<W[]> memory(new W[static_cast<std::size_t>(4 * size)]);
  const auto& im = in[1].strides;
  const bool real = half_ && in[1].as<const T>()[0] == 0 && std::count(im.begin(), im.end(), 0) == std::ssize(im);
  Nest<4> nest;
  for (std::size_t d = 0; d + 1 < in[0].shape.size(); ++d)
    nest.add(in[0].shape[d], {in[0].strides[d], in[1].strides[d], out[0].strides[d], out[1].strides[d]});
  Position<4> line(nest, nest.rank, lo * lanes);
  for (std::int64_t from = lo * lanes; from < std::min(hi * lanes, lines); from += lanes) {
    W *x[2] = {memory.get(), memory.get() + size}, *y[2] = {x[1] + size, x[1] + 2 * size};
    Lines of[4];
    const std::int64_t count = std::min(lanes, lines - from);
    for (std::size_t v = 0; v < 4; ++v)
      of[v].count = count, of[v].n = n_, of[v].step = (v < 2 ? in[v] : out[v - 2]).strides.back();
    for (std::int64_t q = 0; q < count; ++q, line.next())
      for (std::size_t v = 0; v < 4; ++v) of[v].first[q] = line.offset[v];
    if constexpr (std::is_same_v<T, W>) {
      const auto dense = [&](std::size_t v) { return of[v].step == 1; };
      const bool alone = dense(0) && (real || dense(1)) && dense(2) && dense(3);
      if (alone && (real ? half_->does_lines() : does_lines())) {
        for (std::int64_t q = 0; q < count; ++q) {
          const T* const line_x[2] = {in[0].as<const T>() + of[0].first[q], in[1].as<const T>() + of[1].first[q]};
          T* const line_y[2] = {out[0].as<T>() + of[2].first[q], out[1].as<T>() + of[3].first[q]};
          real ? real_line(line_x[0], line_y, memory.get()) : this->line(line_x, line_y, memory.get());
        }
        continue;
      }
    }
    if (real) {
      gather(of[0], in[0].as<const T>(), y[0]);
      by_half(x, y, count);
    } else {
      for (std::size_t part : {0, 1}) gather(of[part], in[part].as<const T>(), x[part]);
      if constexpr (sizeof(W) == 8) {
        inner_ ? by_chirp(x, y, count) : transform(x, y, count);
      } else {
        transform(x, y, count);
      }
    }
    for (std::size_t part : {0, 1}) scatter(of[2 + part], x[part], out[part].as<T>());
  }
}

void Fourier::run(const View& re, const View& im, const View& out_re, const View& out_im, const Stop* stop) const {
  const View in[2] = {re, im}, out[2] = {out_re, out_im};
  const std::int64_t all = numel(re.shape);
  if (all == 0) return;
  const bool wide = re.dtype == DType::F64;
  const std::int64_t lines = all / n_, each = (inner_ ? inner_->n_ : n_) * 4 * (wide || inner_ ? 8 : 4);
  std::int64_t lanes = kMostLanes;
  while (lanes > kLeastLanes && lanes * each > kWorkBytes) lanes /= 2;
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 14) / (n_ * lanes));
  spread((lines + lanes - 1) / lanes, grain,
         [&](std::int64_t lo, std::int64_t hi) {
           if (wide) return groups<double, double>(in, out, lanes, lo, hi);
           inner_ ? groups<float, double>(in, out, lanes, lo, hi) : groups<float, float>(in, out, lanes, lo, hi);
         },
         stop);
}

}  // namespace shard::runtime
