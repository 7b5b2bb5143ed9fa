#include "stdlib/host/pictures/canvas.h"

#include <cstdlib>

#include "stdlib/host/pictures/svg.h"

namespace shard::stdlib {

void Canvas::dot(int x, int y, std::size_t curve) {
  if (x < 0 || y < 0 || x >= width() || y >= height()) return;
  constexpr unsigned kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};  // of braille, from U+2800
  Cell& c = cells_[static_cast<std::size_t>(marks_ ? y : y / 4) * static_cast<std::size_t>(columns_) +
                   static_cast<std::size_t>(marks_ ? x : x / 2)];
  c.dots |= marks_ ? 1u : kDots[y % 4][x % 2];
  c.curve = curve;
}

void Canvas::line(int x0, int y0, int x1, int y1, std::size_t curve) {  // Bresenham
  const int dx = std::abs(x1 - x0), dy = -std::abs(y1 - y0), sx = x0 < x1 ? 1 : -1, sy = y0 < y1 ? 1 : -1;
  for (int error = dx + dy;;) {
    dot(x0, y0, curve);
    if (x0 == x1 && y0 == y1) return;
    const int twice = 2 * error;
    if (twice >= dy) error += dy, x0 += sx;
    if (twice <= dx) error += dx, y0 += sy;
  }
}

std::string Canvas::row(int row, bool color) const {
  std::string out;
  std::size_t blanks = 0;  // before the next sign: none are left at the end of a line
  for (int x = 0; x < columns_; ++x) {
    const Cell& c =
        cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(x)];
    if (c.dots == 0) {
      ++blanks;
      continue;
    }
    out += std::string(blanks, ' ');
    blanks = 0;
    std::string sign(1, mark(c.curve));
    if (!marks_)
      sign = {static_cast<char>(0xe2), static_cast<char>(0xa0 | (c.dots >> 6)),
              static_cast<char>(0x80 | (c.dots & 63))};
    out += color ? painted(c.curve, sign) : sign;
  }
  return out;
}

}  // namespace shard::stdlib
