// A layout in box-drawing characters, one at least in every line. The proportions are those of
// jax.debug.visualize_array_sharding (scale 1, blocks 9 to 80 wide, a character 2.5 times as high as wide); ranges,
// axes, sizes and what is left out for want of room are ours.
#include <algorithm>

#include "stdlib/host/pictures/grid.h"
#include "stdlib/host/pictures/svg.h"

namespace shard::stdlib {
namespace {

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
      for (const int r : rows_) margin_ = std::max(margin_, static_cast<int>(row_label(r).size()) + 1);
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
  std::string row_label(int block) const { return block < 0 ? left_out(p_.rows, rows_) : range_text(p_.rows, block); }
  static std::string left_out(const Side& side, const std::vector<int>& shown) {
    return std::to_string(side.ranges.size() + 1 - shown.size()) + " more";
  }

  // The columns that the text of a block needs.
  int text_width(int block, int degree) const {
    std::size_t width = 1;
    for (const Grid& g : p_.grids)
      for (const int r : rows_)
        if (r >= 0 && block >= 0) {
          const auto& ids = g.devices[static_cast<std::size_t>(r)][static_cast<std::size_t>(block)];
          if (!ids.empty()) width = std::max(width, holders(ids, degree).size());
        }
    return static_cast<int>(width);
  }

  // As many columns as fit, with as much said of each: first the devices are written shorter, then columns are left
  // out.
  void fit(int window) {
    const double share = static_cast<double>(p_.columns.ranges[0].second - p_.columns.ranges[0].first) /
                         std::max<double>(1, static_cast<double>(p_.columns.size));
    const double tall = p_.rows.drawn ? std::max<double>(1, static_cast<double>(p_.rows.size))
                                      : std::max<double>(1, static_cast<double>(p_.columns.size));
    const double wide = p_.rows.drawn ? std::max<double>(1, static_cast<double>(p_.columns.size)) : 1;
    const int whole = static_cast<int>(std::min(1e6, kHeight * (wide / tall)));
    const int natural = std::clamp(static_cast<int>(share * whole * kCharacterRatio), kLeastWidth, kMostWidth) - 2;
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
      const int label =
          p_.columns.drawn
              ? static_cast<int>((c < 0 ? left_out(p_.columns, shown) : range_text(p_.columns, c)).size()) + 2
              : 0;
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

  int height() const {
    if (!p_.rows.drawn) return 1;
    const double share = static_cast<double>(p_.rows.ranges[0].second - p_.rows.ranges[0].first) /
                         std::max<double>(1, static_cast<double>(p_.rows.size));
    return std::max(1, static_cast<int>(share * kHeight) - 1);
  }

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
      const std::string label =
          !p_.columns.drawn ? ""
                            : " " + (c.block < 0 ? left_out(p_.columns, shown) : range_text(p_.columns, c.block)) + " ";
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
    std::string s = margin(middle ? row_label(row) : "");
    if (!p_.rows.drawn) s.clear();
    for (const Column& c : fit_.columns) {
      s += "│";
      if (row < 0 || c.block < 0) {
        s += middle ? centred(row < 0 ? "⋮" : "…", 1, c.width, " ") : centred("", c.width);
        continue;
      }
      const auto& ids = g.devices[static_cast<std::size_t>(row)][static_cast<std::size_t>(c.block)];
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

}  // namespace

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

}  // namespace shard::stdlib
