// Numbers of the exponential of a matrix (Higham, "The scaling and squaring method for the matrix exponential
// revisited", 2005): coefficients of Padé approximants, and the norms up to which each is exact to the last bit; of its
// derivative in a direction a little less (Al-Mohy and Higham, "Computing the Fréchet derivative of the matrix
// exponential", 2009: where the derivative of the series of the error's sizes reaches the rounding of a number).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace shard::runtime {

// Of 1, x, x^2, ..: those of the numerator, and with alternating signs of the denominator. Whole numbers, as the last
// is 1.
template <std::size_t order>
constexpr std::array<double, order + 1> pade_numbers() {
  std::array<double, order + 1> out{};
  std::uint64_t number = 1;
  out[order] = 1;
  for (std::size_t j = order; j > 0; --j) {
    number = number * (2 * order - j + 1) * j / (order - j + 1);
    out[j - 1] = static_cast<double>(number);
  }
  return out;
}

inline constexpr auto kPade3 = pade_numbers<3>();
inline constexpr auto kPade5 = pade_numbers<5>();
inline constexpr auto kPade7 = pade_numbers<7>();
inline constexpr auto kPade9 = pade_numbers<9>();
inline constexpr auto kPade13 = pade_numbers<13>();
static_assert(kPade13[0] == 64764752532480000. && kPade13[12] == 182);

// Of f64 those of the orders 3, 5, 7, 9 and 13, of f32 of 3, 5 and 7; the last is that of what is scaled.
inline constexpr double kPadeBoundsF64[] = {1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1,
                                            2.097847961257068, 5.371920351148152};
inline constexpr double kPadeBoundsF32[] = {4.258730016922831e-1, 1.880152677804762, 3.925724783138660};
inline constexpr double kPadeAlongBoundsF64[] = {1.0813385777848366e-2, 1.998063206978949e-1, 7.834608472962044e-1,
                                                 1.7824486239692787, 4.740307543766806};
inline constexpr double kPadeAlongBoundsF32[] = {3.080330418453301e-1, 1.4825326147931446, 3.2486717552004776};
inline constexpr double kPadeBoundF64 = kPadeBoundsF64[4], kPadeBoundF32 = kPadeBoundsF32[2];

}  // namespace shard::runtime
