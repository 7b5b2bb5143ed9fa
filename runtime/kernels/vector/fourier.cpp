// Passes of Fourier transforms. Nothing is fused: a transform has the same bits with every instruction set.
#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {
namespace {

template <class T>
void two(const FourierPass<T>& f) {
  for (std::int64_t p = 0; p < f.rest; ++p) {
    const std::int64_t a = f.stride * p, o = 2 * f.stride * p;
    const T *ar = f.xr + a, *ai = f.xi + a, *br = ar + f.stride * f.rest, *bi = ai + f.stride * f.rest;
    T *sr = f.yr + o, *si = f.yi + o, *tr = sr + f.stride, *ti = si + f.stride;
    const T cr = f.wr[2 * p + 1], ci = f.wi[2 * p + 1];
#pragma GCC ivdep
    for (std::int64_t q = 0; q < f.stride; ++q) {
      const T dr = ar[q] - br[q], di = ai[q] - bi[q];
      sr[q] = ar[q] + br[q], si[q] = ai[q] + bi[q];
      tr[q] = dr * cr - di * ci, ti[q] = dr * ci + di * cr;
    }
  }
}

template <class T>
void four(const FourierPass<T>& f) {
  const std::int64_t step = f.stride * f.rest, side = f.stride;
  for (std::int64_t p = 0; p < f.rest; ++p) {
    const T *xr = f.xr + side * p, *xi = f.xi + side * p, *cr = f.wr + 4 * p, *ci = f.wi + 4 * p;
    T *r = f.yr + 4 * side * p, *m = f.yi + 4 * side * p;
    const T c1 = cr[1], s1 = ci[1], c2 = cr[2], s2 = ci[2], c3 = cr[3], s3 = ci[3];
#pragma GCC ivdep
    for (std::int64_t q = 0; q < side; ++q) {
      const T sr = xr[q] + xr[q + 2 * step], si = xi[q] + xi[q + 2 * step];
      const T dr = xr[q] - xr[q + 2 * step], di = xi[q] - xi[q + 2 * step];
      const T tr = xr[q + step] + xr[q + 3 * step], ti = xi[q + step] + xi[q + 3 * step];
      const T er = xi[q + step] - xi[q + 3 * step], ei = xr[q + 3 * step] - xr[q + step];  // times -i
      r[q] = sr + tr, m[q] = si + ti;
      const T ur = dr + er, ui = di + ei, vr = sr - tr, vi = si - ti, zr = dr - er, zi = di - ei;
      r[q + side] = ur * c1 - ui * s1, m[q + side] = ur * s1 + ui * c1;
      r[q + 2 * side] = vr * c2 - vi * s2, m[q + 2 * side] = vr * s2 + vi * c2;
      r[q + 3 * side] = zr * c3 - zi * s3, m[q + 3 * side] = zr * s3 + zi * c3;
    }
  }
}

// N transforms, from element q on.
template <class T, int N>
void any_of(const FourierPass<T>& f, std::int64_t p, std::int64_t q) {
  for (std::int64_t t = 0; t < f.radix; ++t) {
    T re[N] = {}, im[N] = {};
    for (std::int64_t k = 0, turn = 0; k < f.radix; ++k, turn = turn + t < f.radix ? turn + t : turn + t - f.radix) {
      const T *xr = f.xr + q + f.stride * (p + f.rest * k), *xi = f.xi + q + f.stride * (p + f.rest * k);
      const T c = f.root_re[turn], s = f.root_im[turn];
#pragma GCC ivdep
      for (int i = 0; i < N; ++i) re[i] += xr[i] * c - xi[i] * s, im[i] += xr[i] * s + xi[i] * c;
    }
    const T c = f.wr[f.radix * p + t], s = f.wi[f.radix * p + t];
    T *yr = f.yr + q + f.stride * (f.radix * p + t), *yi = f.yi + q + f.stride * (f.radix * p + t);
#pragma GCC ivdep
    for (int i = 0; i < N; ++i) yr[i] = re[i] * c - im[i] * s, yi[i] = re[i] * s + im[i] * c;
  }
}

template <class T>
void any(const FourierPass<T>& f) {
  for (std::int64_t p = 0; p < f.rest; ++p) {
    std::int64_t q = 0;
    for (; q + 16 <= f.stride; q += 16) any_of<T, 16>(f, p, q);
    for (; q < f.stride; ++q) any_of<T, 1>(f, p, q);
  }
}

template <class T>
void pass(const FourierPass<T>& f) {
  f.radix == 4 ? four(f) : f.radix == 2 ? two(f) : any(f);
}

}  // namespace

void fourier_f32(const FourierPass<float>& f) { pass(f); }
void fourier_f64(const FourierPass<double>& f) { pass(f); }

}  // namespace shard::runtime::SHARD_ISA
