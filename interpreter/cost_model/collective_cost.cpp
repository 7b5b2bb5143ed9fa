#include <algorithm>

#include "interpreter/cost_model/chip.h"

namespace shard::cost_model {

double collective_seconds(const Chip& chip, const Group& group, const ir::Collective& kind, double bytes) {
  const auto n = static_cast<double>(group.devices), m = static_cast<double>(group.together), domains = n / m;
  if (group.devices <= 1) return 0;
  const double network = chip.network * chip.network_share;
  const auto over = [](double amount, double rate) { return amount > 0 ? amount / std::max(rate, 1.0) : 0; };
  if (kind.pairs) {
    const bool far = domains > 1;
    return chip.dispatch + (far ? chip.network_latency : chip.link_latency) + over(bytes, far ? network : group.inside);
  }
  const double hops = (m - 1) * chip.link_latency + (domains - 1) * chip.network_latency;
  if (kind.split && kind.join)  // each device sends a part to each other one
    return chip.dispatch + hops / n +
           std::max(over(bytes * (m - 1) / n, group.inside), over(bytes * (n - m) / n, network));
  const double turns = kind.combines_all() ? 2 : 1;
  const double whole = kind.join ? bytes * n : bytes;  // what is gathered, or summed
  const double inside = group.ring ? whole : whole * (n - 1) / n;
  const double slow = domains > 1 ? over(whole * (domains - 1) / domains / m, network) : 0;
  return chip.dispatch + turns * (hops + std::max(m > 1 ? over(inside, group.inside) : 0, slow));
}

double channel_seconds(const Chip& machine, const runtime::Mesh& mesh, std::span<const runtime::AxisId> axes,
                       const ir::Collective& kind, double given) {
  Group group;
  group.devices = processes_of(machine.simulated, mesh, axes);
  if (group.devices <= 1) return 0;
  double bytes = given / std::max(machine.simulated, 1.0);
  if (kind.combine || kind.pairs) {  // of devices that hand on to a neighbour, one stands at the border
    bytes *= static_cast<double>(group.devices);
    for (const runtime::AxisId a : axes) bytes /= static_cast<double>(mesh.size_of(a));
  }
  return collective_seconds(machine, group, kind, bytes);
}

}  // namespace shard::cost_model
