// Fourier transforms against their sums in f64: of every radix, by a chirp, along lines that lie either way, and of
// more lines than go together.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/kernels/fft.h"
#include "runtime/kernels/kernels.h"
#include "tests/runtime/arrays.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

TEST_CASE("Fourier transforms of lines", "[fourier]") {
  for (const DType t : {DType::F32, DType::F64})
    for (const std::int64_t n : {1, 2, 6, 8, 12, 17, 34, 64, 77, 128, 130, 154, 320})
      for (const bool across : {false, true}) {
        constexpr std::int64_t kCount = 37;
        Array re = random_array(t, {kCount, n}, 1), im = random_array(t, {kCount, n}, 2), to_re(t, {kCount, n}),
              to_im(t, {kCount, n});
        const Strides lie = across ? Strides{1, kCount} : Strides{n, 1};
        const auto view = [&](Array& x) { return View{t, {kCount, n}, lie, x.data()}; };
        const bool real = across == (n % 3 == 0);  // lines of half the length serve those
        Array zero(t, {1});
        const View no_im{t, {kCount, n}, {0, 0}, zero.data()};
        fill(contiguous(t, {1}, zero.data()), 0, 0);
        Fourier(n).run(view(re), real ? no_im : view(im), view(to_re), view(to_im));
        double worst = 0;
        for (std::int64_t line = 0; line < kCount; ++line)
          for (std::int64_t k = 0; k < n; ++k) {
            double sum_re = 0, sum_im = 0;
            for (std::int64_t j = 0; j < n; ++j) {
              const double turn = -2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n),
                           x = at(view(re), {line, j}), y = real ? 0 : at(view(im), {line, j});
              sum_re += x * std::cos(turn) - y * std::sin(turn), sum_im += x * std::sin(turn) + y * std::cos(turn);
            }
            worst = std::max({worst, std::fabs(sum_re - at(view(to_re), {line, k})),
                              std::fabs(sum_im - at(view(to_im), {line, k}))});
          }
        INFO(name(t) << " " << n << (across ? " across" : ""));
        CHECK(worst <= (t == DType::F64 ? 1e-14 : 1e-6) * static_cast<double>(n));
      }
}
