// The inner problem of both divisions (symmetric.cpp, singular.cpp): a diagonal matrix that is changed by one vector.
//
//     Values::Eigen      D + rho z zᵀ has the eigenvalues x where      1 + rho sum z_j² / (d_j - x) = 0
//     Values::Singular   diag(d) with z as its first row (d_0 = 0)
//                        has the singular values x where               1 + sum z_j² / (d_j² - x²) = 0
//
// One root lies after each pole, the last one at most |z| (Eigen: rho |z|²) after the last pole. A root is kept as its
// distance from the nearest pole: differences to all poles then have full precision, and with the vector z anew from
// the roots (Gu and Eisenstat) the vectors made of them are orthogonal however close roots lie.
#pragma once
#include <vector>

#include "runtime/kernels/dense/dense.h"

namespace shard::runtime::dense {

enum class Values : bool { Eigen, Singular };

struct Roots {
  Values kind;
  std::vector<double> d, z;      // ascending and distinct; z as computed back from the roots, with the signs given
  std::vector<Index> origin;     // of root i: a pole ...
  std::vector<double> distance;  // ... and what comes after it
  Index size() const { return static_cast<Index>(d.size()); }
  double value(Index i) const {
    return d[static_cast<std::size_t>(origin[static_cast<std::size_t>(i)])] + distance[static_cast<std::size_t>(i)];
  }
  // d_j - x_i, of Singular d_j² - x_i².
  double gap(Index j, Index i) const {
    const double near = d[static_cast<std::size_t>(origin[static_cast<std::size_t>(i)])],
                 far = d[static_cast<std::size_t>(j)], by = distance[static_cast<std::size_t>(i)];
    const double apart = (far - near) - by;
    return kind == Values::Eigen ? apart : apart * (far + near + by);
  }
};

// No z_j is zero, all d differ.
Roots secular_roots(Values kind, std::vector<double> d, std::vector<double> z, double rho, const Stop* stop);

}  // namespace shard::runtime::dense
