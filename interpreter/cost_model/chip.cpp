#include "interpreter/cost_model/chip.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace shard::cost_model {

using runtime::DType;

std::span<const ChipField> chip_fields() {
  static constexpr ChipField kFields[] = {
      {"memory", &Chip::memory, true},
      {"bandwidth", &Chip::bandwidth, true},
      {"ring_of", &Chip::ring_of},
      {"link", &Chip::link},
      {"link_latency", &Chip::link_latency},
      {"network", &Chip::network},
      {"network_latency", &Chip::network_latency},
      {"host", &Chip::host},
      {"units", &Chip::units},
      {"tile_rows", &Chip::tile_rows},
      {"tile_columns", &Chip::tile_columns},
      {"fill", &Chip::fill},
      {"block", &Chip::block},
      {"waves", &Chip::waves},
      {"product_share", &Chip::product_share},
      {"kernels", &Chip::kernels},
      {"kernel_share", &Chip::kernel_share},
      {"memory_share", &Chip::memory_share},
      {"link_share", &Chip::link_share},
      {"network_share", &Chip::network_share},
      {"launch", &Chip::launch},
      {"dispatch", &Chip::dispatch},
      {"theft", &Chip::theft},
      {"network_theft", &Chip::network_theft},
      {"woven", &Chip::woven},
      {"sums_once", &Chip::sums_once},
      {"spread", &Chip::spread},
      {"simulated", &Chip::simulated},
      {"cache", &Chip::cache},
      {"cache_bandwidth", &Chip::cache_bandwidth},
      {"points", &Chip::points},
      {"copying", &Chip::copying},
      {"call", &Chip::call},
      {"capability", &Chip::capability},
      {"lanes", &Chip::lanes},
      {"shared", &Chip::shared},
      {"clock", &Chip::clock},
      {"last_cache", &Chip::last_cache},
  };
  return kFields;
}

namespace {

// Products of `narrow` that one of `wide` is made of, where it is the sum of n numbers of that type: those that count
// are n (n + 1) / 2 (6 of bf16 for f32, as XLA has it on TPUs).
int products_of(DType wide, DType narrow) {
  const auto parts = [](auto a, auto b) { return static_cast<int>((a + b - 1) / b); };
  const auto w = runtime::float_form(wide), of = runtime::float_form(narrow);
  const int n = w && of ? parts(w->fraction + 1, of->fraction + 1)  // there is a bit before the point
                        : parts(runtime::size_of(wide), runtime::size_of(narrow));
  return n * (n + 1) / 2;
}

}  // namespace

double Chip::fastest() const {
  double out = 0;
  for (const auto& [type, rate] : flops) out = std::max(out, rate);
  return out;
}

Chip::Rate Chip::rate_of(DType t) const {
  for (const auto& [type, rate] : flops)
    if (type == t) return {rate, t};
  const auto bytes = runtime::size_of(t);
  const std::pair<DType, double>* larger = nullptr;  // of the same size, else the next larger one
  std::optional<Rate> made;                          // else of those that are smaller the one that gives most
  for (const auto& f : flops) {
    const auto size = runtime::size_of(f.first);
    if (size >= bytes && (!larger || size < runtime::size_of(larger->first))) larger = &f;
    const int products = products_of(t, f.first);
    if (const double rate = f.second / products; !made || rate > made->flops) made = Rate{rate, f.first, products};
  }
  return larger ? Rate{larger->second, larger->first} : made.value_or(Rate{});
}

namespace {

struct Dimension {
  std::int64_t size;
  bool ring;
};

// The slice of a torus that n chips are: dimensions as equal as their sizes and divisors allow, the last one filled
// first.
std::vector<Dimension> slice_of(const Chip& chip, std::int64_t n) {
  std::vector<Dimension> out(chip.domain.size());
  for (std::size_t d = out.size(); d-- > 0;) {
    const double even = std::pow(static_cast<double>(n), 1.0 / static_cast<double>(d + 1));
    std::int64_t size = 1;
    for (std::int64_t k = 2; k <= std::min(n, chip.domain[d]); ++k)
      if (n % k == 0 && (size < even - 1e-9 || d == 0)) size = k;
    n /= size;
    const auto by = static_cast<std::int64_t>(chip.ring_of);
    out[d] = {size, size == chip.domain[d] || (by > 0 && size % by == 0)};
  }
  return out;
}

// From one device to the next along an axis.
std::int64_t stride_of(const runtime::Mesh& mesh, runtime::AxisId a) {
  std::int64_t stride = 1;
  for (std::size_t later = a + std::size_t{1}; later < mesh.axes.size(); ++later) stride *= mesh.axes[later].size;
  return stride;
}
// A mesh axis as long as a dimension of the slice lies along it, as JAX's meshes do; from the last axis on. What is
// left keeps its order.
void settle(std::vector<Dimension>& slice, const runtime::Mesh& mesh) {
  auto free = slice.end();
  for (std::size_t a = mesh.axes.size(); a-- > 0 && free != slice.begin();) {
    const std::int64_t size = mesh.axes[a].size;
    if (size <= 1) continue;
    const auto own =
        std::find_if(std::reverse_iterator(free), slice.rend(), [&](const Dimension& d) { return d.size == size; });
    if (own == slice.rend()) break;
    std::rotate(std::prev(own.base()), own.base(), free);
    --free;
  }
}
// Of the devices along an axis, those that lie in one domain of so many.
std::int64_t together(std::int64_t domain, const runtime::Mesh& mesh, runtime::AxisId a) {
  return std::clamp<std::int64_t>(domain / stride_of(mesh, a), 1, mesh.size_of(a));
}

}  // namespace

std::int64_t processes_of(double processes, const runtime::Mesh& mesh, std::span<const runtime::AxisId> axes) {
  const std::int64_t domain =
      std::max<std::int64_t>(mesh.size() / std::max<std::int64_t>(std::llround(processes), 1), 1);
  std::int64_t out = 1;
  for (const runtime::AxisId a : axes) out *= mesh.size_of(a) / together(domain, mesh, a);
  return out;
}

Group group_of(const Chip& chip, const runtime::Mesh& mesh, std::span<const runtime::AxisId> axes) {
  const std::int64_t domain =
      std::accumulate(chip.domain.begin(), chip.domain.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<Dimension> slice =
      chip.domain.size() > 1 ? slice_of(chip, std::min(domain, mesh.size())) : std::vector<Dimension>{};
  settle(slice, mesh);
  Group out;
  double directions = 0;
  for (const runtime::AxisId a : axes) {
    const std::int64_t near = together(domain, mesh, a), stride = stride_of(mesh, a);
    out.devices *= mesh.size_of(a);
    out.together *= near;
    std::int64_t from = 1;
    for (std::size_t d = slice.size(); d-- > 0;) {
      const std::int64_t to = from * slice[d].size;
      const std::int64_t covered = std::min(to, stride * near) / std::max(from, stride);
      if (covered > 1) directions += covered == slice[d].size && slice[d].ring ? 2 : 1;
      from = to;
    }
  }
  out.ring = directions > 0;
  out.inside = chip.link * chip.link_share * (out.ring ? directions : 1);
  return out;
}

}  // namespace shard::cost_model
