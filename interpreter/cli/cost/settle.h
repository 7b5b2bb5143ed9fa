// Figures of a chip that are searched for: what predicts measured times best.
#pragma once
#include <functional>
#include <span>

namespace shard::cli {

struct Figure {
  double* value;
  double most;
};

// Moves one figure after another by the factor `step`, up or down, as long as that makes the cost less by `gain`, and
// no further than its `most`. `cost` reads the figures and was `best`; gives what it is then.
double settle(std::span<const Figure> figures, double step, double best, double gain,
              const std::function<double()>& cost);

// Four in five measured times lie within so much of the mean error.
inline constexpr double kSpreadOfMean = 1.5;

}  // namespace shard::cli
