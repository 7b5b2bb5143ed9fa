#include "interpreter/cli/cost/settle.h"

namespace shard::cli {

double settle(std::span<const Figure> figures, double step, double best, double gain,
              const std::function<double()>& cost) {
  for (bool moved = true; moved;) {
    moved = false;
    for (const Figure& f : figures)
      for (const double by : {step, 1 / step}) {
        const double before = *f.value;
        if (before <= 0 || before * by > f.most) continue;
        *f.value = before * by;
        if (const double now = cost(); now < best - gain)
          best = now, moved = true;
        else
          *f.value = before;
      }
  }
  return best;
}

}  // namespace shard::cli
