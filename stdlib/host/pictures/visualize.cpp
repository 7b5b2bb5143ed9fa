// visualize: which device holds which part of an array, at once or, in traced code, when the program runs. As text, or
// as an SVG file.
#include <algorithm>
#include <map>
#include <set>

#include "stdlib/host/host.h"
#include "stdlib/host/pictures/svg.h"

namespace shard::stdlib {
namespace {

// ---- the picture as data: which devices hold which block. Of three or more dimensions a grid for each block of the
// outer ones.

using Range = std::pair<std::int64_t, std::int64_t>;

struct Side {  // a dimension of the array
  bool drawn = false;
  std::string axes;           // that split it: "@x", "@x @y"
  std::int64_t size = 1;      // elements
  std::vector<Range> ranges;  // of the blocks, half open

  double extent() const { return std::max<double>(1, static_cast<double>(size)); }
  double share() const { return static_cast<double>(ranges[0].second - ranges[0].first) / extent(); }  // of a block
};

struct Grid {
  std::string caption;                                      // "[0..2, :, :]": the block of the outer dimensions
  std::map<std::pair<int, int>, std::vector<int>> devices;  // by row and column: who holds the block

  const std::vector<int>& at(int row, int column) const {  // nobody holds a gap
    static const std::vector<int> kNobody;
    const auto it = devices.find({row, column});
    return it == devices.end() ? kNobody : it->second;
  }
};

struct LayoutPicture {
  std::string title;  // the type, and the mesh
  Side rows, columns;
  std::vector<Grid> grids;
};

std::string text_of(const Range& r) { return std::to_string(r.first) + ".." + std::to_string(r.second); }

// The dimension `dim` of the array; -1: there is none, and it has one block.
Side side_of(const Type& type, int dim, const std::set<Range>& ranges) {
  Side s;
  s.drawn = dim >= 0;
  s.ranges.assign(ranges.begin(), ranges.end());
  if (dim < 0) return s;
  s.size = type.shape[static_cast<std::size_t>(dim)];
  if (type.mesh)
    for (const runtime::AxisId a : type.sharding.dims[static_cast<std::size_t>(dim)].axes)
      s.axes += (s.axes.empty() ? "@" : " @") + type.mesh->axes[a].name;
  return s;
}

std::string caption_of(const std::vector<Range>& outer) {
  std::string s = "[";
  for (const Range& r : outer) s += text_of(r) + ", ";
  return s + ":, :]";
}

// `type`: with the layout over all axes of its mesh.
LayoutPicture layout_picture(const Type& type) {
  runtime::DeviceArray a;  // where its blocks would lie; it has no data
  a.type = type;
  a.layout = type.sharding;
  const int rank = type.rank();
  const int row = rank - 2, column = rank - 1;
  const auto range_of = [](const std::vector<Range>& index, int dim) {
    return dim < 0 ? Range{0, 1} : index[static_cast<std::size_t>(dim)];
  };
  const std::int64_t devices = type.mesh ? type.mesh->size() : 1;
  std::vector<std::vector<Range>> indices;
  std::set<Range> row_ranges, column_ranges;
  for (std::int64_t p = 0; p < devices; ++p) {
    indices.push_back(runtime::index_of(a, p));
    row_ranges.insert(range_of(indices.back(), row));
    column_ranges.insert(range_of(indices.back(), column));
  }

  LayoutPicture out;
  out.title = runtime::to_string(type) + " on " + (type.mesh ? runtime::to_string(*type.mesh) : "one device");
  out.rows = side_of(type, row, row_ranges);
  out.columns = side_of(type, column, column_ranges);
  std::map<std::vector<Range>, Grid> grids;
  for (std::int64_t p = 0; p < devices; ++p) {
    const std::vector<Range>& index = indices[static_cast<std::size_t>(p)];
    const std::vector<Range> outer(index.begin(), index.begin() + std::max(0, row));
    Grid& g = grids[outer];
    if (!outer.empty()) g.caption = caption_of(outer);
    const auto place = [](const std::set<Range>& ranges, const Range& r) {
      return static_cast<int>(std::distance(ranges.begin(), ranges.find(r)));
    };
    g.devices[{place(row_ranges, range_of(index, row)), place(column_ranges, range_of(index, column))}].push_back(
        type.mesh ? type.mesh->devices[static_cast<std::size_t>(p)] : 0);
  }
  for (auto& [outer, g] : grids) {
    for (auto& [place, ids] : g.devices) std::sort(ids.begin(), ids.end());
    out.grids.push_back(std::move(g));
  }
  return out;
}

constexpr int kMostBlocks = 8;  // shown of a side; of more, the first and the last ones

// Which of n blocks are shown where there is room for `most`; -1: a gap.
std::vector<int> shown_blocks(std::size_t n, int most) {
  std::vector<int> out;
  const int count = static_cast<int>(n);
  if (count <= most) {
    for (int i = 0; i < count; ++i) out.push_back(i);
    return out;
  }
  for (int i = 0; i < (most + 1) / 2; ++i) out.push_back(i);
  out.push_back(-1);
  for (int i = count - most / 2; i < count; ++i) out.push_back(i);
  return out;
}

// "CPU 0,1,2,3"; shorter with each degree from 0 to 2: "CPU 0,1..3", "0..3".
std::string holders(const std::vector<int>& devices, int degree) {
  std::string s;
  for (const int d : devices) s += (s.empty() ? "" : ",") + std::to_string(d);
  const std::string first = std::to_string(devices.front()), last = std::to_string(devices.back());
  if (degree == 1 && devices.size() > 3) s = first + "," + std::to_string(devices[1]) + ".." + last;
  if (degree == 2 && devices.size() > 1) s = first + ".." + last;
  return degree == 2 ? s : "CPU " + s;
}

// What stands at block `block` of a side: "0..4"; in place of a gap "12 more".
std::string label_of(const Side& side, const std::vector<int>& shown, int block) {
  if (!side.drawn) return "";
  if (block < 0) return std::to_string(side.ranges.size() + 1 - shown.size()) + " more";
  return text_of(side.ranges[static_cast<std::size_t>(block)]);
}

// ---- as text, in box-drawing characters, one at least in every line. The proportions are those of
// jax.debug.visualize_array_sharding (scale 1, blocks 9 to 80 wide, a character 2.5 times as high as wide); ranges,
// axes, sizes and what is left out for want of room are ours.

constexpr int kHeight = 10, kLeastWidth = 9, kMostWidth = 80;
constexpr double kCharacterRatio = 2.5;

std::string repeated(const char* s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

// The text in the middle of `width` columns (of `columns` of its own), and `fill` around it.
std::string centred(const std::string& text, int columns, int width, const char* fill) {
  const int before = std::max(0, (width - columns) / 2);
  return repeated(fill, before) + text + repeated(fill, width - columns - before);
}
std::string centred(const std::string& text, int width, const char* fill = " ") {
  return centred(text, static_cast<int>(text.size()), width, fill);
}

struct Column {
  int block;  // -1: a gap
  int width;
};

// How a picture fits: which columns it shows, how wide, and how the devices are written. The same for all its grids.
struct Fit {
  std::vector<Column> columns;
  int degree = 0;
  bool axes = true;  // the names of the columns' axes stand beside
};

class GridText {
 public:
  GridText(const LayoutPicture& p, const lang::Screen& screen) : p_(p), color_(screen.color()) {
    rows_ = shown_blocks(p.rows.ranges.size(), kMostBlocks);
    if (p.rows.drawn) {
      for (const int r : rows_) margin_ = std::max(margin_, static_cast<int>(label_of(p.rows, rows_, r).size()) + 1);
      if (static_cast<int>(p.rows.axes.size()) < screen.width() / 3)
        margin_ = std::max(margin_, static_cast<int>(p.rows.axes.size()) + 1);
    }
    fit(screen.width());
  }

  std::string draw(const Grid& g) const {
    std::string out = top();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i) out += rule("├", "┼", "┤");
      const int lines = rows_[i] < 0 ? 1 : height();
      for (int k = 0; k < lines; ++k) out += line(g, rows_[i], k == (lines - 1) / 2);
    }
    return out + rule("└", "┴", "┘");
  }

 private:
  // The columns that the text of a block needs.
  int text_width(int block, int degree) const {
    std::size_t width = 1;
    for (const Grid& g : p_.grids)
      for (const int r : rows_)
        if (const auto& ids = g.at(r, block); !ids.empty()) width = std::max(width, holders(ids, degree).size());
    return static_cast<int>(width);
  }

  // As many columns as fit, with as much said of each: first the devices are written shorter, then columns are left
  // out.
  void fit(int window) {
    const double tall = (p_.rows.drawn ? p_.rows : p_.columns).extent(), wide = p_.rows.drawn ? p_.columns.extent() : 1;
    const int whole = static_cast<int>(std::min(1e6, kHeight * (wide / tall)));
    const int natural =
        std::clamp(static_cast<int>(p_.columns.share() * whole * kCharacterRatio), kLeastWidth, kMostWidth) - 2;
    for (int most = kMostBlocks; most > 0; --most)
      for (int degree = 0; degree < 3; ++degree)
        for (const bool axes : {true, false})
          if (fits(window, most, degree, axes, natural)) return;
  }

  bool fits(int window, int most, int degree, bool axes, int natural) {
    const std::vector<int> shown = shown_blocks(p_.columns.ranges.size(), most);
    int room =
        window - margin_ - 1 - (axes && !p_.columns.axes.empty() ? static_cast<int>(p_.columns.axes.size()) + 1 : 0);
    fit_ = {{}, degree, axes};
    for (const int c : shown) {
      const int label = p_.columns.drawn ? static_cast<int>(label_of(p_.columns, shown, c).size()) + 2 : 0;
      fit_.columns.push_back({c, std::max(label, text_width(c, degree))});
      room -= fit_.columns.back().width + 1;
    }
    for (Column& c : fit_.columns) {  // what is left, up to the width that the proportions ask for
      if (c.block < 0 || room <= 0) continue;
      const int more = std::clamp(natural - c.width, 0, room);
      room -= more;
      c.width += more;
    }
    return room >= 0 || (most == 1 && degree == 2 && !axes);
  }

  int height() const { return p_.rows.drawn ? std::max(1, static_cast<int>(p_.rows.share() * kHeight) - 1) : 1; }

  std::string margin(const std::string& text) const {
    if (margin_ == 0) return "";
    const int blanks = std::max(0, margin_ - 1 - static_cast<int>(text.size()));
    return std::string(static_cast<std::size_t>(blanks), ' ') + text.substr(0, static_cast<std::size_t>(margin_ - 1)) +
           " ";
  }

  std::string top() const {
    std::string s = margin(p_.rows.axes) + "┌";
    std::vector<int> shown;
    for (const Column& c : fit_.columns) shown.push_back(c.block);
    for (std::size_t j = 0; j < fit_.columns.size(); ++j) {
      const Column& c = fit_.columns[j];
      const std::string label = p_.columns.drawn ? " " + label_of(p_.columns, shown, c.block) + " " : "";
      s += (j ? "┬" : "") + centred(label, c.width, "─");
    }
    return s + "┐" + (fit_.axes && !p_.columns.axes.empty() ? " " + p_.columns.axes : "") + "\n";
  }

  std::string rule(const char* left, const char* middle, const char* right) const {
    std::string s = margin("") + left;
    for (std::size_t j = 0; j < fit_.columns.size(); ++j) s += (j ? middle : "") + repeated("─", fit_.columns[j].width);
    return s + right + "\n";
  }

  std::string line(const Grid& g, int row, bool middle) const {
    std::string s = margin(middle ? label_of(p_.rows, rows_, row) : "");
    if (!p_.rows.drawn) s.clear();
    for (const Column& c : fit_.columns) {
      s += "│";
      if (row < 0 || c.block < 0) {
        s += middle ? centred(row < 0 ? "⋮" : "…", 1, c.width, " ") : centred("", c.width);
        continue;
      }
      const auto& ids = g.at(row, c.block);
      const std::string inside = centred(middle && !ids.empty() ? holders(ids, fit_.degree) : "", c.width);
      s += color_ && !ids.empty() ? background(static_cast<std::size_t>(ids[0]), inside) : inside;
    }
    return s + "│\n";
  }

  const LayoutPicture& p_;
  bool color_;
  std::vector<int> rows_;
  int margin_ = 0;
  Fit fit_;
};

std::string as_text(const LayoutPicture& picture, const lang::Screen& screen) {
  const auto heading = [&](std::string words) {
    const auto room = static_cast<std::size_t>(screen.width() - 3);
    if (words.size() > room) words = words.substr(0, room - 2) + "..";
    return "── " + words + "\n";
  };
  const GridText text(picture, screen);
  std::string out = heading(picture.title);
  for (const int i : shown_blocks(picture.grids.size(), kMostBlocks)) {
    if (i < 0) {
      out += heading(std::to_string(picture.grids.size() - kMostBlocks) + " more");
      continue;
    }
    const Grid& g = picture.grids[static_cast<std::size_t>(i)];
    if (!g.caption.empty()) out += heading(g.caption);
    out += text.draw(g);
  }
  return out;
}

// ---- as an SVG file: a rectangle for each block, in the colour of the first device that holds it

constexpr double kLetter = 7, kLine = 20, kRowHeight = 40, kEdge = 12;

double breadth(const std::string& text) { return kLetter * static_cast<double>(text.size()); }

std::string as_svg(const LayoutPicture& p) {
  const std::vector<int> rows = shown_blocks(p.rows.ranges.size(), kMostBlocks),
                         columns = shown_blocks(p.columns.ranges.size(), kMostBlocks);
  double cell = 70, left = kEdge;
  for (const Grid& g : p.grids)
    for (const auto& [place, ids] : g.devices) cell = std::max(cell, breadth(holders(ids, 1)) + 16);
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
        const auto& ids = g.at(r, columns[c]);
        svg.rectangle(x, y, cell, kRowHeight, ids.empty() ? "white" : color_of(static_cast<std::size_t>(ids[0])));
        svg.text(x + cell / 2, y + kRowHeight / 2 + 4, ids.empty() ? "…" : holders(ids, 1));
      }
      y += kRowHeight;
    }
  }
  return svg.document(std::max(width + breadth(p.columns.axes), kEdge + breadth(p.title)) + 2 * kEdge, y + kEdge);
}

Value visualize(Interpreter& in, BoundArgs& a) {
  if (!a[0].is_tensor()) in.fail("type", a.span, "visualize takes an array, this is " + lang::kind_name(a[0]));
  const std::string path = svg_path(in, a.args[1], "visualize");
  const Tensor& x = a[0].tensor();
  if (x.traced()) {
    record_effect(in, "visualize", {}, {x},
                  {{"layout_only", true}, {"shows", true}, {"whole", ir::Ints(x.type().shape)}, {"save", path}});
    return {};
  }
  Type type = x.array()->type;
  type.sharding = x.array()->layout;
  draw_layout(in, type, path, a.span);
  return {};
}

}  // namespace

void draw_layout(Interpreter& in, const Type& type, const std::string& path, grammar::Span span) {
  if (in.context().types_only()) return;
  const LayoutPicture picture = layout_picture(type);
  if (path.empty())
    in.write(as_text(picture, in.screen()));
  else
    save_svg(in, path, as_svg(picture), span);
}

void register_visualize(Interpreter& in) {
  in.define({"visualize", "visualize(x, save = none)",
             "Draws which device holds which part of an array: blocks with their ranges, the axes that split them, as "
             "wide as the window; of more than eight blocks a side the first and the last. Of three or more dimensions "
             "a picture for each block of the outer ones. save: an SVG file instead.",
             visualize});
}

}  // namespace shard::stdlib
