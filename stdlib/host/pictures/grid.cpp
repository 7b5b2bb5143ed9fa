#include "stdlib/host/pictures/grid.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/mesh/device_array.h"

namespace shard::stdlib {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

std::string text_of(const Range& r) { return std::to_string(r.first) + ".." + std::to_string(r.second); }

// The dimension `dim` of the array; -1: there is none, and it has one block.
Side side_of(const runtime::Type& type, int dim, const std::set<Range>& ranges) {
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

}  // namespace

LayoutPicture layout_picture(const runtime::Type& type) {
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
    if (g.devices.empty()) {
      g.devices.assign(row_ranges.size(), std::vector<std::vector<int>>(column_ranges.size()));
      if (!outer.empty()) g.caption = caption_of(outer);
    }
    const auto place = [](const std::set<Range>& ranges, const Range& r) {
      return static_cast<std::size_t>(std::distance(ranges.begin(), ranges.find(r)));
    };
    g.devices[place(row_ranges, range_of(index, row))][place(column_ranges, range_of(index, column))].push_back(
        type.mesh ? type.mesh->devices[static_cast<std::size_t>(p)] : 0);
  }
  for (auto& [outer, g] : grids) {
    for (auto& line : g.devices)
      for (auto& ids : line) std::sort(ids.begin(), ids.end());
    out.grids.push_back(std::move(g));
  }
  return out;
}

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

std::string range_text(const Side& side, int block) { return text_of(side.ranges[static_cast<std::size_t>(block)]); }

std::string holders(const std::vector<int>& devices, int degree) {
  std::string s;
  for (const int d : devices) s += (s.empty() ? "" : ",") + std::to_string(d);
  const std::string first = std::to_string(devices.front()), last = std::to_string(devices.back());
  if (degree == 1 && devices.size() > 3) s = first + "," + std::to_string(devices[1]) + ".." + last;
  if (degree == 2 && devices.size() > 1) s = first + ".." + last;
  return degree == 2 ? s : "CPU " + s;
}

}  // namespace shard::stdlib
