// Layouts in the words of Shardy (the dialect sdy): where whole arrays meet what one device does. Private to this
// folder.
#pragma once
#include "interpreter/hlo/writer.h"

namespace shard::hlo {

// A whole array and how it is cut.
struct Laid {
  Value value;
  std::string sharding;  // "<@mesh, [{"data"}, {}]>"; empty where nothing is laid out
};

using AxesOfDims = std::vector<std::vector<runtime::AxisId>>;
// Of a value of this rank; dimensions that the layout does not know are whole. `open`: the engine may cut further.
std::string sharding_text(const runtime::Mesh& mesh, const runtime::Sharding& layout, std::size_t rank,
                          bool open = false);
std::string sharding_text(const runtime::Mesh& mesh, const AxesOfDims& dims, bool open = false);
std::string mesh_text(const runtime::Mesh& mesh);

// What each device along these axes does by hand: a region written between Writer::begin and end with "sdy.return".
Values by_hand(Writer& to, const runtime::Mesh& mesh, runtime::AxisSet axes, std::span<const Laid> in,
               std::span<const Laid> out, std::string_view region);

std::string list(std::span<const std::string> items);  // "a, b"

}  // namespace shard::hlo
