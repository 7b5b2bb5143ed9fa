// Discrete Fourier transforms of lines: out[k] = sum over j of x[j] exp(-2 pi i j k / n). Prepared for a length, run
// often.
#pragma once
#include <memory>
#include <vector>

#include "runtime/array/stop.h"
#include "runtime/array/view.h"

namespace shard::runtime {

class Fourier {
 public:
  explicit Fourier(std::int64_t n);
  // Along the last dimension; all of one shape, f32 or f64, any strides. Results may not alias operands. Real lines, of
  // which `im` is one zero seen everywhere, take half the time where n is even.
  void run(const View& re, const View& im, const View& out_re, const View& out_im, const Stop* stop = nullptr) const;

 private:
  template <class T>
  struct Turns {
    std::vector<T> re, im;
  };
  struct AllTurns {
    Turns<double> wide;
    Turns<float> narrow;
    void add(double re, double im);
    template <class T>
    const Turns<T>& of() const;
  };
  struct Stage {
    std::int64_t radix, rest;  // the length so far is radix * rest
    AllTurns turns;            // by k of radix; then by p * t of radix * rest, t fastest
    AllTurns of_line = {};     // as FourierPass has them, where one line by itself is transformed by vectors
  };
  struct Alone {};
  Fourier(std::int64_t n, Alone);  // of complex lines only, as part of another
  template <class T, class W>
  void groups(const View* in, const View* out, std::int64_t lanes, std::int64_t lo, std::int64_t hi) const;
  template <class T>
  void pass(const Stage& s, std::int64_t stride, std::int64_t apart, const T* const* x, T* const* y) const;
  bool does_lines() const { return !stages_.empty() && !stages_[0].of_line.wide.re.empty(); }
  template <class T>
  void line(const T* const* x, T* const* y, T* work) const;
  template <class T>
  void real_line(const T* x, T* const* y, T* work) const;
  template <class T>
  void transform(T** x, T** y, std::int64_t count, std::size_t done = 0) const;
  template <class T>
  void halves(std::int64_t count, T* const* z, T* const* y) const;
  template <class T>
  void by_half(T** x, T** y, std::int64_t count) const;
  void by_chirp(double** x, double** y, std::int64_t count) const;

  std::int64_t n_;
  std::vector<Stage> stages_;
  // A length with a large prime factor is a convolution with a chirp, made of transforms of a power of two.
  std::unique_ptr<Fourier> inner_;
  // Of real lines the elements of even and of odd index are the two parts of lines half as long.
  std::unique_ptr<Fourier> half_;
  AllTurns turns_;
  std::vector<double> chirp_re_, chirp_im_, by_re_, by_im_;
};

}  // namespace shard::runtime
