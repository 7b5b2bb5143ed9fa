// The picture of a layout as data: which devices hold which block. Of three or more dimensions a grid for each block of
// the outer ones. Drawn as text (grid_text.cpp) and as SVG (grid_svg.cpp).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "interpreter/lang/values/screen.h"
#include "runtime/mesh/type.h"

namespace shard::stdlib {

struct Side {  // a dimension of the array
  bool drawn = false;
  std::string axes;                                           // that split it: "@x", "@x @y"
  std::int64_t size = 1;                                      // elements
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  // of the blocks, half open
};

struct Grid {
  std::string caption;                                 // "[0..2, :, :]": the block of the outer dimensions
  std::vector<std::vector<std::vector<int>>> devices;  // [row][column]: who holds the block
};

struct LayoutPicture {
  std::string title;  // the type, and the mesh
  Side rows, columns;
  std::vector<Grid> grids;
};

inline constexpr int kMostBlocks = 8;  // shown of a side; of more, the first and the last ones

// `type`: with the layout over all axes of its mesh.
LayoutPicture layout_picture(const runtime::Type& type);
// Which of n blocks are shown where there is room for `most`; -1: a gap.
std::vector<int> shown_blocks(std::size_t n, int most);
std::string range_text(const Side& side, int block);  // "0..4"; of a gap "12 more"
// "CPU 0,1,2,3"; shorter with each degree from 0 to 2: "CPU 0,1..3", "0..3".
std::string holders(const std::vector<int>& devices, int degree);

std::string as_text(const LayoutPicture& picture, const lang::Screen& screen);
std::string as_svg(const LayoutPicture& picture);

}  // namespace shard::stdlib
