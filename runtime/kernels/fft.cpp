// Stockham's transforms of mixed radix: a pass of radix r takes r elements that lie n / r apart and puts their r sums
// side by side, so that no elements change places in the end. Several lines go together as the fastest dimension.
#include "runtime/kernels/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kFourierLanes = 16, kLargestRadix = 13;

struct Rotation {
  double re, im;
};
Rotation rotation(std::int64_t k, std::int64_t n) {  // exp(-2 pi i k / n)
  const double angle = 2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), -std::sin(angle)};
}

// What every radix does: `in` gives term k of the sums, `put` takes sum t, which is turned by t * p.
template <class T>
struct FourierPass {
  std::int64_t rest, stride;  // stride: elements side by side that are treated alike
  const T *xr, *xi, *wr, *wi;
  T *yr, *yi;

  void two() const {
    for (std::int64_t p = 0; p < rest; ++p) {
      const std::int64_t a = stride * p, b = stride * (p + rest), o = 2 * stride * p;
      const T cr = wr[2 * p + 1], ci = wi[2 * p + 1];
#pragma GCC ivdep
      for (std::int64_t q = 0; q < stride; ++q) {
        const T dr = xr[a + q] - xr[b + q], di = xi[a + q] - xi[b + q];
        yr[o + q] = xr[a + q] + xr[b + q], yi[o + q] = xi[a + q] + xi[b + q];
        yr[o + stride + q] = dr * cr - di * ci, yi[o + stride + q] = dr * ci + di * cr;
      }
    }
  }
  void four() const {
    for (std::int64_t p = 0; p < rest; ++p) {
      const std::int64_t a = stride * p, step = stride * rest, o = 4 * stride * p;
      const T *cr = wr + 4 * p, *ci = wi + 4 * p;
#pragma GCC ivdep
      for (std::int64_t q = 0; q < stride; ++q) {
        const std::int64_t i = a + q;
        const T sr = xr[i] + xr[i + 2 * step], si = xi[i] + xi[i + 2 * step];
        const T dr = xr[i] - xr[i + 2 * step], di = xi[i] - xi[i + 2 * step];
        const T tr = xr[i + step] + xr[i + 3 * step], ti = xi[i + step] + xi[i + 3 * step];
        const T er = xi[i + step] - xi[i + 3 * step], ei = xr[i + 3 * step] - xr[i + step];  // times -i
        T* const r = yr + o + q;
        T* const m = yi + o + q;
        r[0] = sr + tr, m[0] = si + ti;
        const T ur = dr + er, ui = di + ei, vr = sr - tr, vi = si - ti, zr = dr - er, zi = di - ei;
        r[stride] = ur * cr[1] - ui * ci[1], m[stride] = ur * ci[1] + ui * cr[1];
        r[2 * stride] = vr * cr[2] - vi * ci[2], m[2 * stride] = vr * ci[2] + vi * cr[2];
        r[3 * stride] = zr * cr[3] - zi * ci[3], m[3 * stride] = zr * ci[3] + zi * cr[3];
      }
    }
  }
  void any(std::int64_t radix) const {
    T ar[kLargestRadix][2], sum[2];
    std::vector<T> cos(static_cast<std::size_t>(radix)), sin(cos);
    for (std::int64_t k = 0; k < radix; ++k) {
      const Rotation w = rotation(k, radix);
      cos[static_cast<std::size_t>(k)] = static_cast<T>(w.re), sin[static_cast<std::size_t>(k)] = static_cast<T>(w.im);
    }
    for (std::int64_t p = 0; p < rest; ++p)
      for (std::int64_t q = 0; q < stride; ++q) {
        for (std::int64_t k = 0; k < radix; ++k)
          ar[k][0] = xr[q + stride * (p + rest * k)], ar[k][1] = xi[q + stride * (p + rest * k)];
        for (std::int64_t t = 0; t < radix; ++t) {
          sum[0] = sum[1] = 0;
          for (std::int64_t k = 0; k < radix; ++k) {
            const auto at = static_cast<std::size_t>(k * t % radix);
            sum[0] += ar[k][0] * cos[at] - ar[k][1] * sin[at], sum[1] += ar[k][0] * sin[at] + ar[k][1] * cos[at];
          }
          const T cr = wr[radix * p + t], ci = wi[radix * p + t];
          const std::int64_t o = q + stride * (radix * p + t);
          yr[o] = sum[0] * cr - sum[1] * ci, yi[o] = sum[0] * ci + sum[1] * cr;
        }
      }
  }
};

}  // namespace

Fourier::Fourier(std::int64_t n) : n_(n) {
  std::vector<std::int64_t> radices;
  std::int64_t left = n;
  for (std::int64_t r : {4, 2, 3, 5, 7, 11, 13})
    for (; left % r == 0 && left > 1; left /= r) radices.push_back(r);
  if (left > 1) {
    std::int64_t wide = 1;
    while (wide < 2 * n - 1) wide *= 2;
    inner_ = std::make_unique<Fourier>(wide);
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
    Stage s{r, length / r, {}, {}, {}, {}};
    for (std::int64_t p = 0; p < s.rest; ++p)
      for (std::int64_t t = 0; t < r; ++t) {
        const Rotation w = rotation(p * t, length);
        s.wide_re.push_back(w.re), s.wide_im.push_back(w.im);
        s.re.push_back(static_cast<float>(w.re)), s.im.push_back(static_cast<float>(w.im));
      }
    length = s.rest;
    stages_.push_back(std::move(s));
  }
}

// From x to x, by way of y: the two change places after each pass.
template <class T>
void Fourier::transform(T** x, T** y, std::int64_t count) const {
  for (std::int64_t stride = count; const Stage& s : stages_) {
    const T *wr = nullptr, *wi = nullptr;
    if constexpr (sizeof(T) == 8)
      wr = s.wide_re.data(), wi = s.wide_im.data();
    else
      wr = s.re.data(), wi = s.im.data();
    const FourierPass<T> pass{s.rest, stride, x[0], x[1], wr, wi, y[0], y[1]};
    s.radix == 4 ? pass.four() : s.radix == 2 ? pass.two() : pass.any(s.radix);
    std::swap(x[0], y[0]), std::swap(x[1], y[1]);
    stride *= s.radix;
  }
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

template <class T>
void Fourier::lanes(const View* in, const View* out, std::int64_t from, std::int64_t count) const {
  using Work = std::conditional_t<sizeof(T) == 8, double, T>;
  const auto go = [&](auto work) {
    using W = decltype(work);
    const std::int64_t size = (inner_ ? inner_->n_ : n_) * count;
    const std::unique_ptr<W[]> memory(new W[static_cast<std::size_t>(4 * size)]);
    W *x[2] = {memory.get(), memory.get() + size}, *y[2] = {x[1] + size, x[1] + 2 * size};
    Nest<4> nest;
    for (std::size_t d = 0; d + 1 < in[0].shape.size(); ++d)
      nest.add(in[0].shape[d], {in[0].strides[d], in[1].strides[d], out[0].strides[d], out[1].strides[d]});
    for (int part : {0, 1}) {
      Position<4> line(nest, nest.rank, from);
      for (std::int64_t q = 0; q < count; ++q, line.next()) {
        const T* data = in[part].as<const T>() + line.offset[static_cast<std::size_t>(part)];
        for (std::int64_t j = 0; j < n_; ++j) x[part][j * count + q] = data[j * in[part].strides.back()];
      }
    }
    if constexpr (sizeof(W) == 8) {
      if (inner_)
        by_chirp(x, y, count);
      else
        transform(x, y, count);
    } else {
      transform(x, y, count);
    }
    for (int part : {0, 1}) {
      Position<4> line(nest, nest.rank, from);
      for (std::int64_t q = 0; q < count; ++q, line.next()) {
        T* data = out[part].as<T>() + line.offset[static_cast<std::size_t>(2 + part)];
        for (std::int64_t j = 0; j < n_; ++j)
          data[j * out[part].strides.back()] = static_cast<T>(x[part][j * count + q]);
      }
    }
  };
  inner_ ? go(double{}) : go(Work{});
}

void Fourier::run(const View& re, const View& im, const View& out_re, const View& out_im, const Stop* stop) const {
  const View in[2] = {re, im}, out[2] = {out_re, out_im};
  const std::int64_t all = numel(re.shape);
  if (all == 0) return;
  const std::int64_t lines = all / n_, groups = (lines + kFourierLanes - 1) / kFourierLanes;
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 14) / (n_ * kFourierLanes));
  spread(
      groups, grain,
      [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t g = lo; g < hi; ++g) {
          const std::int64_t from = g * kFourierLanes, count = std::min(kFourierLanes, lines - from);
          re.dtype == DType::F64 ? lanes<double>(in, out, from, count) : lanes<float>(in, out, from, count);
        }
      },
      stop);
}

}  // namespace shard::runtime
