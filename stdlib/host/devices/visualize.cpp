// The picture of a layout: a box for each distinct block, with the devices that hold it, of about the proportions of
// the array. Sizes follow jax.debug.visualize_array_sharding (scale 1, widths 9 to 80, a character 2.5 times as high as
// wide), without colours.
#include <algorithm>
#include <map>

#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

constexpr int kHeight = 10, kLeastWidth = 9, kMostWidth = 80;
constexpr double kCharacterRatio = 2.5;

struct Cell {
  std::string text;
  int left = 0, right = 0, top = 0, bottom = 0;
};

int floor_half(int x) { return x >= 0 ? x / 2 : -((1 - x) / 2); }

void split_padding(int space, int& before, int& after) {  // negative space: none
  before = floor_half(space);
  after = std::max(0, before + (space - 2 * before));
  before = std::max(0, before);
}

std::string repeat(const char* s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

std::string rule(const std::vector<int>& widths, const char* left, const char* middle, const char* right) {
  std::string s = left;
  for (std::size_t i = 0; i < widths.size(); ++i) s += (i ? middle : "") + repeat("─", widths[i]);
  return s + right + "\n";
}

Value visualize(Interpreter& in, BoundArgs& a) {
  if (!a[0].is_tensor()) in.fail("type", a.span, "visualize takes an array, this is " + lang::kind_name(a[0]));
  const trace::Tensor& x = a[0].tensor();
  const int rank = x.type().rank();
  if (rank != 1 && rank != 2)
    in.fail("shape", a.span, "a picture has one or two dimensions, and this is " + runtime::to_string(x.type()),
            {"index or reshape it first"});
  if (x.traced())
    record_effect(in, "visualize", {}, {x}, {{"layout_only", true}, {"whole", ir::Ints(x.type().shape)}});
  else
    in.write(picture(x.type().shape, x.array()->type.mesh, x.array()->layout));
  return {};
}

}  // namespace

std::string picture(const runtime::Shape& shape, const runtime::MeshRef& mesh, const runtime::Sharding& layout) {
  runtime::DeviceArray a;  // where its blocks would lie; it has no data
  a.type = runtime::Type::of(runtime::DType::F32, shape);
  a.type.mesh = mesh;
  a.layout = layout;
  const bool flat = shape.size() == 1;
  const std::int64_t devices = mesh ? mesh->size() : 1;
  // Blocks by where they begin: (row, column) -> devices. One dimension is drawn as one row.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<int>> blocks;
  std::int64_t rows = 1, columns = 1;  // of one block
  for (std::int64_t p = 0; p < devices; ++p) {
    const auto index = runtime::index_of(a, p);
    const auto vertical = flat ? std::pair<std::int64_t, std::int64_t>{0, 1} : index[0];
    const auto horizontal = index[flat ? 0 : 1];
    rows = vertical.second - vertical.first;
    columns = horizontal.second - horizontal.first;
    blocks[{vertical.first, horizontal.first}].push_back(mesh ? mesh->devices[static_cast<std::size_t>(p)] : 0);
  }
  const double tall = std::max<double>(1, static_cast<double>(shape[0])),
               wide = flat ? 1 : std::max<double>(1, static_cast<double>(shape[1]));
  const int base_width = static_cast<int>(std::min(1e6, kHeight * (wide / tall)));
  const double share = static_cast<double>(columns) / (flat ? tall : wide);
  const int width = std::clamp(static_cast<int>(share * base_width * kCharacterRatio), kLeastWidth, kMostWidth);
  const int height = flat ? 1 : static_cast<int>(static_cast<double>(rows) / tall * kHeight);

  std::vector<std::vector<Cell>> grid;
  std::int64_t row = -1;
  for (auto& [begin, ids] : blocks) {
    if (begin.first != row) grid.emplace_back(), row = begin.first;
    std::sort(ids.begin(), ids.end());
    Cell c;
    c.text = "CPU ";
    for (std::size_t i = 0; i < ids.size(); ++i) c.text += (i ? "," : "") + std::to_string(ids[i]);
    split_padding(width - static_cast<int>(c.text.size()) - 2, c.left, c.right);
    split_padding(height - 2, c.top, c.bottom);
    grid.back().push_back(std::move(c));
  }
  std::vector<int> widths(grid[0].size(), 0);
  for (const auto& line : grid)
    for (std::size_t j = 0; j < line.size(); ++j)
      widths[j] = std::max(widths[j], line[j].left + static_cast<int>(line[j].text.size()) + line[j].right);

  std::string out = rule(widths, "┌", "┬", "┐");
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if (i) out += rule(widths, "├", "┼", "┤");
    const auto& line = grid[i];
    const int lines = line[0].top + 1 + line[0].bottom;
    for (int k = 0; k < lines; ++k) {
      for (std::size_t j = 0; j < line.size(); ++j) {
        std::string inside =
            k == line[j].top ? std::string(static_cast<std::size_t>(line[j].left), ' ') + line[j].text : "";
        inside.resize(static_cast<std::size_t>(widths[j]), ' ');
        out += "│" + inside;
      }
      out += "│\n";
    }
  }
  return out + rule(widths, "└", "┴", "┘");
}

void register_visualize(Interpreter& in) {
  in.define({"visualize", "visualize(x)", "Draws which device holds which part of an array of one or two dimensions.",
             visualize});
}

}  // namespace shard::stdlib
