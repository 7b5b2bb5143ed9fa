// plot: curves, in the window or as an SVG file. hist: how many numbers lie where, as bars.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/mesh/device_array.h"
#include "stdlib/host/host.h"
#include "stdlib/host/pictures/svg.h"

namespace shard::stdlib {
namespace {

// Curves in characters: a canvas of cells. With braille each cell has 2 x 4 dots and a colour; with marks, for several
// curves without colours, one letter a curve.
class Canvas {
 public:
  Canvas(int columns, int rows, bool marks)
      : columns_(columns),
        rows_(rows),
        marks_(marks),
        cells_(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows)) {}
  int width() const { return marks_ ? columns_ : 2 * columns_; }  // in dots
  int height() const { return marks_ ? rows_ : 4 * rows_; }
  // y counts down.
  void line(int x0, int y0, int x1, int y1, std::size_t curve) {  // Bresenham
    const int dx = std::abs(x1 - x0), dy = -std::abs(y1 - y0), sx = x0 < x1 ? 1 : -1, sy = y0 < y1 ? 1 : -1;
    for (int error = dx + dy;;) {
      dot(x0, y0, curve);
      if (x0 == x1 && y0 == y1) return;
      const int twice = 2 * error;
      if (twice >= dy) error += dy, x0 += sx;
      if (twice <= dx) error += dx, y0 += sy;
    }
  }

  std::string row(int row, bool color) const {
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

  static char mark(std::size_t curve) { return "*+ox#%&@"[curve % 8]; }

 private:
  struct Cell {
    unsigned dots = 0;
    std::size_t curve = 0;
  };
  void dot(int x, int y, std::size_t curve) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    constexpr unsigned kDots[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};  // of braille, from U+2800
    Cell& c = cells_[static_cast<std::size_t>(marks_ ? y : y / 4) * static_cast<std::size_t>(columns_) +
                     static_cast<std::size_t>(marks_ ? x : x / 2)];
    c.dots |= marks_ ? 1u : kDots[y % 4][x % 2];
    c.curve = curve;
  }

  int columns_, rows_;
  bool marks_;
  std::vector<Cell> cells_;
};

struct Curve {
  std::string name;
  std::vector<double> y;  // at 0, 1, 2, ...; what is not finite leaves a gap
};

struct Frame {  // what of the plane is shown
  double low = 0, high = 1, last = 1;
};

std::vector<double> numbers_of(Interpreter& in, const Value& v, int rank, grammar::Span span, std::string_view what) {
  const Tensor t = as_array(in, v, span);
  const Type& type = t.type();
  if (type.dtype == DType::Key || (rank > 0 && type.rank() != rank))
    in.fail("shape", span,
            std::string(what) + " takes " +
                (rank > 0 ? "the numbers of a curve: a list, or an array of one dimension"
                          : "numbers: a list or an array") +
                ", and this is " + runtime::to_string(type),
            note_if(rank > 0 && type.rank() == 2,
                    "several curves have names: `" + std::string(what) + "({a: x[0], b: x[1]})`"));
  const ArrayRef host = on_host(in, t, what);
  std::vector<double> out;
  if (!host->has_elements()) return out;  // a program that is checked
  for (std::int64_t i = 0, n = runtime::numel(type.shape); i < n; ++i) out.push_back(runtime::element_double(*host, i));
  return out;
}

std::vector<Curve> curves_of(Interpreter& in, const Value& v, grammar::Span span) {
  std::vector<Curve> out;
  if (const lang::Record* r = v.fields())
    for (const auto& [name, x] : r->fields) out.push_back({name, numbers_of(in, x, 1, span, "plot")});
  else
    out.push_back({"", numbers_of(in, v, 1, span, "plot")});
  return out;
}

Frame frame_of(Interpreter& in, const std::vector<Curve>& curves, grammar::Span span) {
  double low = INFINITY, high = -INFINITY, last = 1;
  for (const Curve& c : curves) {
    for (const double y : c.y)
      if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
    last = std::max(last, static_cast<double>(c.y.size()) - 1);
  }
  if (low > high) in.fail("call", span, "plot has no finite number to draw");
  if (low == high) {  // a level line in the middle
    const double around = low == 0 ? 1 : std::abs(low) / 2;
    return {low - around, high + around, last};
  }
  return {low, high, last};
}

// Calls piece(x0, y0, x1, y1) for each two neighbours, and for a point alone, in units of the frame: 0 to 1.
template <class Piece>
void pieces_of(const Curve& c, const Frame& f, const Piece& piece) {
  const auto at = [&](std::size_t i) { return static_cast<double>(i) / f.last; };
  const auto up = [&](std::size_t i) { return (c.y[i] - f.low) / (f.high - f.low); };
  for (std::size_t i = 0; i < c.y.size(); ++i) {
    if (!std::isfinite(c.y[i])) continue;
    const bool before = i > 0 && std::isfinite(c.y[i - 1]), behind = i + 1 < c.y.size() && std::isfinite(c.y[i + 1]);
    if (before || !behind) piece(at(before ? i - 1 : i), up(before ? i - 1 : i), at(i), up(i));
  }
}

std::string legend(const std::vector<Curve>& curves, bool color, std::size_t indent) {
  std::string out;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (curves[i].name.empty()) continue;
    const std::string sign = color ? painted(i, "──") : curves.size() == 1 ? "──" : std::string(1, Canvas::mark(i));
    out += "  " + sign + " " + curves[i].name;
  }
  return out.empty() ? "" : std::string(indent - 2, ' ') + out + "\n";
}

std::string plot_text(const std::vector<Curve>& curves, const Frame& f, const lang::Screen& screen) {
  constexpr int kRows = 13, kWidest = 120;
  const std::string labels[] = {short_number(f.high), short_number((f.low + f.high) / 2), short_number(f.low)};
  std::size_t margin = 0;
  for (const std::string& l : labels) margin = std::max(margin, l.size());
  const int columns = std::max(8, std::min(screen.width(), kWidest) - static_cast<int>(margin) - 2);
  Canvas canvas(columns, kRows, curves.size() > 1 && !screen.color());
  const auto dot = [](double part, int n) { return static_cast<int>(std::lround(part * (n - 1))); };
  for (std::size_t i = 0; i < curves.size(); ++i)
    pieces_of(curves[i], f, [&](double x0, double y0, double x1, double y1) {
      canvas.line(dot(x0, canvas.width()), dot(1 - y0, canvas.height()), dot(x1, canvas.width()),
                  dot(1 - y1, canvas.height()), i);
    });
  std::string out;
  for (int r = 0; r < kRows; ++r) {
    const int which = r == 0 ? 0 : r == kRows / 2 ? 1 : r == kRows - 1 ? 2 : -1;
    const std::string label = which < 0 ? "" : labels[which];
    out += std::string(margin - label.size(), ' ') + label + (which < 0 ? " │" : " ┤") + canvas.row(r, screen.color()) +
           "\n";
  }
  std::string axis;
  for (int i = 0; i < columns; ++i) axis += "─";
  const std::string last = short_number(f.last);
  out += std::string(margin + 1, ' ') + "└" + axis + "\n" + std::string(margin + 2, ' ') + "0" +
         std::string(static_cast<std::size_t>(std::max(1, columns - 1 - static_cast<int>(last.size()))), ' ') + last +
         "\n";
  return out + legend(curves, screen.color(), margin + 2);
}

std::string plot_svg(const std::vector<Curve>& curves, const Frame& f) {
  constexpr double kWidth = 640, kHeight = 400, kLeft = 70, kRight = 20, kTop = 30, kBottom = 40;
  const double wide = kWidth - kLeft - kRight, high = kHeight - kTop - kBottom;
  Svg svg;
  svg.line(kLeft, kTop, kLeft, kTop + high);
  svg.line(kLeft, kTop + high, kLeft + wide, kTop + high);
  for (int i = 0; i <= 4; ++i) {
    const double y = kTop + high * (1 - i / 4.0), x = kLeft + wide * i / 4.0;
    svg.line(kLeft - 4, y, kLeft, y);
    svg.text(kLeft - 8, y + 4, short_number(f.low + (f.high - f.low) * i / 4.0), "end");
    svg.line(x, kTop + high, x, kTop + high + 4);
    svg.text(x, kTop + high + 18, short_number(f.last * i / 4.0));
  }
  double name_at = kLeft + 10;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::string points;
    double ended = -1;
    const auto close = [&] {
      if (!points.empty()) svg.path(points, color_of(i));
      points.clear();
    };
    const auto point = [&](double x, double y) {
      points +=
          (points.empty() ? "" : " ") + short_number(kLeft + wide * x) + "," + short_number(kTop + high * (1 - y));
    };
    pieces_of(curves[i], f, [&](double x0, double y0, double x1, double y1) {
      if (x0 != ended || points.empty()) close(), point(x0, y0);
      point(x1, y1);
      ended = x1;
    });
    close();
    if (curves[i].name.empty()) continue;
    svg.rectangle(name_at, kTop - 20, 12, 12, color_of(i));
    svg.text(name_at + 18, kTop - 10, curves[i].name, "start");
    name_at += 40 + 7 * static_cast<double>(curves[i].name.size());
  }
  return svg.document(kWidth, kHeight);
}

Value plot(Interpreter& in, BoundArgs& a) {
  const std::string path = svg_path(in, a.args[1], "plot");
  const std::vector<Curve> curves = curves_of(in, a[0], a.args[0].span);
  if (in.context().types_only()) return {};
  const Frame frame = frame_of(in, curves, a.args[0].span);
  if (path.empty())
    in.write(plot_text(curves, frame, in.screen()));
  else
    save_svg(in, path, plot_svg(curves, frame), a.span);
  return {};
}

// ---- hist
struct Bins {
  double low = 0, high = 0;
  std::vector<std::int64_t> counts;
  std::int64_t left_out = 0;  // not finite
};

// NumPy's rule: bins of one width from the least to the largest number, half open but the last.
Bins bins_of(const std::vector<double>& numbers, std::int64_t n) {
  Bins b{INFINITY, -INFINITY, std::vector<std::int64_t>(static_cast<std::size_t>(n)), 0};
  for (const double x : numbers)
    if (std::isfinite(x)) b.low = std::min(b.low, x), b.high = std::max(b.high, x);
  if (b.low == b.high) b.low -= 0.5, b.high += 0.5;
  const auto edge = [&](std::int64_t i) {
    return b.low + (b.high - b.low) * static_cast<double>(i) / static_cast<double>(n);
  };
  for (const double x : numbers) {
    if (!std::isfinite(x)) {
      ++b.left_out;
      continue;
    }
    auto at = std::clamp(static_cast<std::int64_t>((x - b.low) / (b.high - b.low) * static_cast<double>(n)),
                         std::int64_t{0}, n - 1);
    if (at > 0 && x < edge(at)) --at;  // rounding
    if (at < n - 1 && x >= edge(at + 1)) ++at;
    ++b.counts[static_cast<std::size_t>(at)];
  }
  return b;
}

std::string bar(double cells) {  // to an eighth of a cell
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::int64_t>(std::lround(cells * 8));
  std::string out;
  for (std::int64_t i = 0; i < eighths / 8; ++i) out += "█";
  return out + kEighths[eighths % 8];
}

std::string hist_text(const Bins& b, int window) {
  const std::size_t n = b.counts.size();
  const double step = (b.high - b.low) / static_cast<double>(n);
  std::vector<std::string> names, counts;
  std::size_t margin = 0, widest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    names.push_back(short_number(b.low + step * static_cast<double>(i)) + " .. " +
                    short_number(b.low + step * static_cast<double>(i + 1)));
    counts.push_back(std::to_string(b.counts[i]));
    margin = std::max(margin, names.back().size());
    widest = std::max(widest, counts.back().size());
  }
  const double most = static_cast<double>(*std::max_element(b.counts.begin(), b.counts.end()));
  const int room = std::max(4, std::min(window, 100) - static_cast<int>(margin + widest) - 3);
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    const std::string drawn = bar(most > 0 ? room * static_cast<double>(b.counts[i]) / most : 0);
    out += std::string(margin - names[i].size(), ' ') + names[i] + " │" + drawn + (drawn.empty() ? "" : " ") +
           counts[i] + "\n";
  }
  if (b.left_out)
    out += "── " + std::to_string(b.left_out) + (b.left_out == 1 ? " number is" : " numbers are") + " not finite\n";
  return out;
}

Value hist(Interpreter& in, BoundArgs& a) {
  const std::vector<double> numbers = numbers_of(in, a[0], 0, a.args[0].span, "hist");
  // Sturges' rule where none is said.
  std::int64_t n = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::ceil(std::log2(std::max<double>(1, static_cast<double>(numbers.size()))))) + 1, 5,
      20);
  if (!a[1].is_none()) n = in.integer(a[1], a.args[1].span, "the number of bins");
  if (n < 1 || n > 1000) in.fail("call", a.args[1].span, "hist takes 1 to 1000 bins, not " + std::to_string(n));
  if (in.context().types_only()) return {};
  if (std::none_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }))
    in.fail("call", a.args[0].span, "hist has no finite number to count");
  in.write(hist_text(bins_of(numbers, n), in.screen().width()));
  return {};
}

}  // namespace

void register_plot(Interpreter& in) {
  in.define(
      {"plot",
       "plot(xs, save = none)",
       "Draws a curve through the numbers of a list or an array of one dimension, or a curve for each field of a "
       "record of them, as wide as the window. save: an SVG file instead. Numbers that are not finite leave a gap.",
       plot,
       {{"imshow", "layouts are drawn by `visualize(x)`, curves by `plot(xs)`"}}});
  in.define({"hist", "hist(x, bins = none)",
             "Draws how many of the numbers lie where: bins of one width from the least to the largest, half open but "
             "the last; of `bins` as many as said, or by the logarithm of how many numbers there are.",
             hist});
}

}  // namespace shard::stdlib
