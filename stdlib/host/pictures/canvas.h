// Curves in characters: a canvas of cells. With braille each cell has 2 x 4 dots and a colour; with marks, for several
// curves without colours, one letter a curve.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace shard::stdlib {

class Canvas {
 public:
  Canvas(int columns, int rows, bool marks)
      : columns_(columns),
        rows_(rows),
        marks_(marks),
        cells_(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows)) {}
  int width() const { return marks_ ? columns_ : 2 * columns_; }  // in dots
  int height() const { return marks_ ? rows_ : 4 * rows_; }
  void line(int x0, int y0, int x1, int y1, std::size_t curve);  // y counts down
  std::string row(int row, bool color) const;

  static char mark(std::size_t curve) { return "*+ox#%&@"[curve % 8]; }

 private:
  struct Cell {
    unsigned dots = 0;
    std::size_t curve = 0;
  };
  void dot(int x, int y, std::size_t curve);

  int columns_, rows_;
  bool marks_;
  std::vector<Cell> cells_;
};

}  // namespace shard::stdlib
