// A layout as an SVG file: a rectangle for each block, in the colour of the first device that holds it.
#include <algorithm>

#include "stdlib/host/pictures/grid.h"
#include "stdlib/host/pictures/svg.h"

namespace shard::stdlib {
namespace {

constexpr double kLetter = 7, kLine = 20, kRowHeight = 40, kEdge = 12;

double breadth(const std::string& text) { return kLetter * static_cast<double>(text.size()); }

std::string label_of(const Side& side, const std::vector<int>& shown, int block) {
  if (!side.drawn) return "";
  return block < 0 ? std::to_string(side.ranges.size() + 1 - shown.size()) + " more" : range_text(side, block);
}

}  // namespace

std::string as_svg(const LayoutPicture& p) {
  const std::vector<int> rows = shown_blocks(p.rows.ranges.size(), kMostBlocks),
                         columns = shown_blocks(p.columns.ranges.size(), kMostBlocks);
  double cell = 70, left = kEdge;
  for (const Grid& g : p.grids)
    for (const auto& line : g.devices)
      for (const auto& ids : line)
        if (!ids.empty()) cell = std::max(cell, breadth(holders(ids, 1)) + 16);
  for (const int r : rows) left = std::max(left, kEdge + breadth(label_of(p.rows, rows, r)) + 8);
  left = std::max(left, kEdge + breadth(p.rows.axes) + 8);

  Svg svg;
  double y = kEdge + kLine;
  const double width = left + cell * static_cast<double>(columns.size());
  svg.text(kEdge, y - 6, p.title, "start");
  for (const int i : shown_blocks(p.grids.size(), kMostBlocks)) {
    y += kLine;
    if (i < 0) {
      svg.text(left, y, std::to_string(p.grids.size() - kMostBlocks) + " more", "start");
      continue;
    }
    const Grid& g = p.grids[static_cast<std::size_t>(i)];
    if (!g.caption.empty()) svg.text(kEdge, y, g.caption, "start"), y += kLine;
    svg.text(left - 8, y, p.rows.axes, "end");
    for (std::size_t c = 0; c < columns.size(); ++c)
      svg.text(left + cell * (static_cast<double>(c) + 0.5), y, label_of(p.columns, columns, columns[c]));
    svg.text(width + 6, y, p.columns.axes, "start");
    y += 6;
    for (const int r : rows) {
      svg.text(left - 8, y + kRowHeight / 2 + 4, label_of(p.rows, rows, r), "end");
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const double x = left + cell * static_cast<double>(c);
        const bool gap = r < 0 || columns[c] < 0;
        const std::vector<int> none;
        const auto& ids = gap ? none : g.devices[static_cast<std::size_t>(r)][static_cast<std::size_t>(columns[c])];
        svg.rectangle(x, y, cell, kRowHeight, ids.empty() ? "white" : color_of(static_cast<std::size_t>(ids[0])));
        svg.text(x + cell / 2, y + kRowHeight / 2 + 4, ids.empty() ? "…" : holders(ids, 1));
      }
      y += kRowHeight;
    }
  }
  return svg.document(std::max(width + breadth(p.columns.axes), kEdge + breadth(p.title)) + 2 * kEdge, y + kEdge);
}

}  // namespace shard::stdlib
