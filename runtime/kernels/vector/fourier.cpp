// Passes of Fourier transforms. Nothing is fused: a transform has the same bits with every instruction set.
#include <type_traits>
#include <utility>

#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {
namespace {

template <class T>
void two(const FourierPass<T>& f) {
  for (std::int64_t p = 0; p < f.rest; ++p) {
    const std::int64_t a = f.apart * p, o = 2 * f.stride * p;
    const T *ar = f.xr + a, *ai = f.xi + a, *br = ar + f.apart * f.rest, *bi = ai + f.apart * f.rest;
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
  const std::int64_t step = f.apart * f.rest, side = f.stride;
  for (std::int64_t p = 0; p < f.rest; ++p) {
    const T *xr = f.xr + f.apart * p, *xi = f.xi + f.apart * p, *cr = f.wr + 4 * p, *ci = f.wi + 4 * p;
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

template <class T>
struct Lanes {
  static constexpr int kCount = kVectorBytes / static_cast<int>(sizeof(T));
  typedef T V __attribute__((vector_size(kVectorBytes)));
  typedef std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t> M __attribute__((vector_size(kVectorBytes)));
  static V load(const T* from) {
    V v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  }
};

// Where the lanes of both of two vectors come from whose blocks of S lanes lie side by side in turn, from `From` on.
template <class T, int S, int From, int... I>
auto lanes_in_turn(std::integer_sequence<int, I...>) {
  constexpr int kCount = Lanes<T>::kCount;
  return typename Lanes<T>::M{((From + I) / S % 2 * kCount + (From + I) / S / 2 * S + I % S)...};
}
template <int S, class T, class V = typename Lanes<T>::V>
SHARD_LOOP void in_turn(V& x, V& y) {
  constexpr int kCount = Lanes<T>::kCount;
  constexpr auto kNumbers = std::make_integer_sequence<int, kCount>{};
  const V first = __builtin_shuffle(x, y, lanes_in_turn<T, S, 0>(kNumbers));
  y = __builtin_shuffle(x, y, (lanes_in_turn<T, S, kCount>(kNumbers)));
  x = first;
}

// The same as `four` for S elements side by side, less than a vector has lanes: a vector has those of several p.
template <class T, int S>
void four_of_line(const FourierPass<T>& f) {
  using L = Lanes<T>;
  using V = typename L::V;
  const std::int64_t step = S * f.rest;
  const auto put = [](T * to, V a, V b, V c, V d) __attribute__((always_inline)) {
    in_turn<S, T>(a, b), in_turn<S, T>(c, d);
    in_turn<2 * S, T>(a, c), in_turn<2 * S, T>(b, d);
    const V made[] = {a, c, b, d};
    __builtin_memcpy(to, made, sizeof made);
  };
  for (std::int64_t i = 0; i < step; i += L::kCount) {
    const auto re = [&](std::int64_t k) { return L::load(f.xr + i + k * step); };
    const auto im = [&](std::int64_t k) { return L::load(f.xi + i + k * step); };
    const auto cosine = [&](std::int64_t t) { return L::load(f.line_re + (t - 1) * step + i); };
    const auto sine = [&](std::int64_t t) { return L::load(f.line_im + (t - 1) * step + i); };
    const V sr = re(0) + re(2), si = im(0) + im(2), dr = re(0) - re(2), di = im(0) - im(2);
    const V tr = re(1) + re(3), ti = im(1) + im(3), er = im(1) - im(3), ei = re(3) - re(1);  // times -i
    const V ur = dr + er, ui = di + ei, vr = sr - tr, vi = si - ti, zr = dr - er, zi = di - ei;
    const V c1 = cosine(1), s1 = sine(1), c2 = cosine(2), s2 = sine(2), c3 = cosine(3), s3 = sine(3);
    put(f.yr + 4 * i, sr + tr, ur * c1 - ui * s1, vr * c2 - vi * s2, zr * c3 - zi * s3);
    put(f.yi + 4 * i, si + ti, ur * s1 + ui * c1, vr * s2 + vi * c2, zr * s3 + zi * c3);
  }
}

// N transforms of an odd radix, from element q on. Elements k and radix - k go together, as their cosines are the same
// and their sines opposite: a sum and a difference of them, multiplied once, serve two results.
template <class T, int N>
void odd(const FourierPass<T>& f, std::int64_t p, std::int64_t q) {
  constexpr std::int64_t kMostPairs = 6;  // of radix 13
  T sum_re[kMostPairs][N], sum_im[kMostPairs][N], less_re[kMostPairs][N], less_im[kMostPairs][N];
  const std::int64_t pairs = f.radix / 2;
  const T *xr = f.xr + q + f.apart * p, *xi = f.xi + q + f.apart * p;
  T first_re[N], first_im[N];
#pragma GCC ivdep
  for (int i = 0; i < N; ++i) first_re[i] = xr[i], first_im[i] = xi[i];
  for (std::int64_t k = 0; k < pairs; ++k) {
    const std::int64_t one = f.apart * f.rest * (k + 1), other = f.apart * f.rest * (f.radix - k - 1);
#pragma GCC ivdep
    for (int i = 0; i < N; ++i) {
      sum_re[k][i] = xr[one + i] + xr[other + i], sum_im[k][i] = xi[one + i] + xi[other + i];
      less_re[k][i] = xr[one + i] - xr[other + i], less_im[k][i] = xi[one + i] - xi[other + i];
      first_re[i] += sum_re[k][i], first_im[i] += sum_im[k][i];
    }
  }
  const auto put = [&](std::int64_t t, const T* re, const T* im) {
    const T c = f.wr[f.radix * p + t], s = f.wi[f.radix * p + t];
    T *yr = f.yr + q + f.stride * (f.radix * p + t), *yi = f.yi + q + f.stride * (f.radix * p + t);
#pragma GCC ivdep
    for (int i = 0; i < N; ++i) yr[i] = re[i] * c - im[i] * s, yi[i] = re[i] * s + im[i] * c;
  };
  put(0, first_re, first_im);
  for (std::int64_t t = 1; t <= pairs; ++t) {
    T even_re[N], even_im[N], odd_re[N] = {}, odd_im[N] = {};
#pragma GCC ivdep
    for (int i = 0; i < N; ++i) even_re[i] = xr[i], even_im[i] = xi[i];
    for (std::int64_t k = 0; k < pairs; ++k) {
      const T c = f.root_re[(k + 1) * t % f.radix], s = f.root_im[(k + 1) * t % f.radix];
#pragma GCC ivdep
      for (int i = 0; i < N; ++i) {
        even_re[i] += sum_re[k][i] * c, even_im[i] += sum_im[k][i] * c;
        odd_re[i] -= less_im[k][i] * s, odd_im[i] += less_re[k][i] * s;
      }
    }
    T re[N], im[N];
#pragma GCC ivdep
    for (int i = 0; i < N; ++i) re[i] = even_re[i] + odd_re[i], im[i] = even_im[i] + odd_im[i];
    put(t, re, im);
#pragma GCC ivdep
    for (int i = 0; i < N; ++i) re[i] = even_re[i] - odd_re[i], im[i] = even_im[i] - odd_im[i];
    put(f.radix - t, re, im);
  }
}

template <class T>
void all_odd(const FourierPass<T>& f) {
  for (std::int64_t p = 0; p < f.rest; ++p) {
    std::int64_t q = 0;
    for (; q + 16 <= f.stride; q += 16) odd<T, 16>(f, p, q);
    for (; q < f.stride; ++q) odd<T, 1>(f, p, q);
  }
}

template <class T>
void pass(const FourierPass<T>& f) {
  if (f.line_re && f.stride == 1) return four_of_line<T, 1>(f);
  if constexpr (Lanes<T>::kCount > 4)
    if (f.line_re) return four_of_line<T, 4>(f);
  f.radix == 4 ? four(f) : f.radix == 2 ? two(f) : all_odd(f);
}

// The sum of z with its mirrored conjugate is twice the even part of what is wanted, the difference 2i times the odd
// one.
template <class T>
void halves(const FourierHalves<T>& f) {
  const std::int64_t n = 2 * f.half;
  // From element `at` and the mirrored one to `to` and what mirrors that.
  const auto one = [&](T c, T s, std::int64_t at, std::int64_t mirrored, std::int64_t to, std::int64_t other)
      __attribute__((always_inline)) {
    const T even_re = (f.zr[at] + f.zr[mirrored]) / 2, even_im = (f.zi[at] - f.zi[mirrored]) / 2,
            odd_re = (f.zi[at] + f.zi[mirrored]) / 2, odd_im = (f.zr[mirrored] - f.zr[at]) / 2;
    const T sum_re = even_re + (odd_re * c - odd_im * s), sum_im = even_im + (odd_im * c + odd_re * s);
    f.re[other] = sum_re, f.im[other] = T{} - sum_im;
    f.re[to] = sum_re, f.im[to] = sum_im;
  };
  const bool line = f.count == 1;  // vectors of it are of several k
  if (line)
#pragma GCC ivdep
    for (std::int64_t k = 1; k < f.half; ++k) one(f.turn_re[k], f.turn_im[k], k, f.half - k, k, n - k);
  for (std::int64_t k = 0; k <= f.half; k += line ? f.half : 1) {
    const std::int64_t at = k % f.half * f.count, mirrored = (f.half - k) % f.half * f.count, to = k * f.count,
                       other = (n - k) % n * f.count;
    const T c = f.turn_re[k], s = f.turn_im[k];
#pragma GCC ivdep
    for (std::int64_t q = 0; q < f.count; ++q) one(c, s, at + q, mirrored + q, to + q, other + q);
  }
}

}  // namespace

void fourier_halves_f32(const FourierHalves<float>& f) { halves(f); }
void fourier_halves_f64(const FourierHalves<double>& f) { halves(f); }
void fourier_f32(const FourierPass<float>& f) { pass(f); }
void fourier_f64(const FourierPass<double>& f) { pass(f); }

}  // namespace shard::runtime::SHARD_ISA
