// A chip and how such chips are joined, as numbers: what the clock (clock.h) prices instructions with. Scripts write
// one as a record (stdlib/chips.shard); the fields and their units are the table in chip.cpp. No figure hangs on a
// model or a program.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/ir/collective.h"
#include "runtime/array/dtype.h"
#include "runtime/mesh/mesh.h"

namespace shard::cost_model {

struct Chip {
  std::string name;
  std::string stack;                                     // of software, where one was asked for: whose shares these are
  std::vector<std::pair<runtime::DType, double>> flops;  // of products, by the elements' type
  double memory = 0, bandwidth = 0;                      // bytes that a program may use; bytes/s
  // The mesh fills domains of chips from its last axis on. One number: all chips of a domain reach one another alike,
  // `link` bytes/s a chip and direction. More: a torus of at most these sizes, `link` bytes/s for each of the two
  // directions of a dimension; fewer chips are a slice of it, as even as can be. A dimension is a ring where it is
  // whole, or a multiple of `ring_of` (of switches that close it there; 0: none).
  std::vector<std::int64_t> domain = {1};
  double ring_of = 0;
  double link = 0, link_latency = 0;        // inside a domain: bytes/s, seconds a hop
  double network = 0, network_latency = 0;  // between domains: bytes/s a chip and direction, seconds a hop
  double host = 25e9;  // bytes/s a chip and direction to the host's memory: as of PCIe 4.0 x16 where nobody says

  // Products run as tiles, `units` of them at once; a tile's pipeline fills while `fill` terms are summed of the type
  // that the chip is fastest with, of others in the same seconds.
  double units = 1, tile_rows = 128, tile_columns = 128, fill = 0;
  double block = 0;           // rows and columns of a result that are made at once beside the units; 0: enough
  double waves = 1;           // how much of a last wave that is not full is lost: 0 nothing, 1 all of it
  double product_share = 1;   // of `flops` that large products reach
  double kernels = 1;         // 0: a loop of blocks in a rule of custom_vjp runs as it is written, not as one kernel
  double kernel_share = 0.5;  // ... and the products inside a kernel of the user's own (a loop of blocks)
  double memory_share = 0.8;  // of `bandwidth` that pointwise stretches reach
  double link_share = 0.8, network_share = 0.8;
  double launch = 0, dispatch = 0;  // seconds: of a kernel; of a collective
  double theft = 0;                 // of the time of a hidden collective that computing loses
  double network_theft = 0;         // ... of one between domains
  // 1: software that sums gradients over devices once a step, whatever the number of micro batches. 0: where sums are
  // scattered (`psum_scatter`), in each.
  double sums_once = 0;
  double woven = 0;  // of a collective whose neighbour is a product: the share that runs in parts beside its parts

  // A machine that simulates all devices, as the engine `lockstep` does, in so many processes: the figures are of all
  // of it, devices run one after another, what is the same on several is done once a process, and what those of one
  // process say to one another is memory; processes communication over `network`. 0: a chip.
  double simulated = 0;
  double cache = 0, cache_bandwidth = 0;  // a program that reads and writes no more than this does it so fast
  double points = 0;                      // additions a second of pointwise work; 0: as fast as its bytes
  double copying = 0;  // bytes a second of what lies otherwise than an instruction wants it; 0: it costs nothing
  double call = 0;     // seconds before the first instruction and behind the last

  // What was measured of such chips: four steps in five are expected between seconds / (1 + spread) and
  // seconds * (1 + spread) (stdlib/chips.shard).
  double spread = 0.5;
  std::string basis = "a record of your own, nothing measured";
  std::pair<double, double> range(double seconds) const { return {seconds / (1 + spread), seconds * (1 + spread)}; }

  // Of a GPU that programs are compiled for without it (runtime/pjrt/topology.h).
  std::string described;             // as its driver names it; empty: of no such GPU
  double capability = 0;             // of CUDA: 9.0
  double lanes = 0;                  // f32 additions a cycle of a unit
  double shared = 0;                 // bytes of memory that the threads of a unit share
  double clock = 0, last_cache = 0;  // cycles a second; bytes

  // Of products of a type, and what says so: `products` products of the type `of` for each (README.md).
  struct Rate {
    double flops = 1;
    runtime::DType of = runtime::DType::F32;
    int products = 1;
  };
  Rate rate_of(runtime::DType t) const;
  double fastest() const;  // of `flops`
};

struct ChipField {
  std::string_view name;
  double Chip::*value;
  bool required = false;
};
std::span<const ChipField> chip_fields();  // those that are one number each

// How the devices that take part in a collective lie: `together` of them in one domain, and the bytes/s that each can
// send to the others there.
struct Group {
  std::int64_t devices = 1, together = 1;
  double inside = 0;
  bool ring = false;  // links of a torus: bytes pass all of it whatever the number of chips
};
Group group_of(const Chip& chip, const runtime::Mesh& mesh, std::span<const runtime::AxisId> axes);
// Seconds that one collective takes, by kind, bytes, and where the devices of its group lie (collective_cost.cpp).
// `bytes`: the operand's on one device. Rings: each of n devices passes on n - 1 parts of n, twice where all of them
// sum; between domains of m devices m rings share the way, so that each of the m ports passes a part of it. Sources:
// the formulas of NCCL's rings (nccl tuning.cc) and of a torus (the Scaling Book, chapter 3).
double collective_seconds(const Chip& chip, const Group& group, const ir::Collective& kind, double bytes);

// Between the processes of a machine that simulates devices, over the channel that the figures of its `network` are of.
// `given`: bytes of the operand of all devices. A process adds its own devices' terms before it sends them.
double channel_seconds(const Chip& machine, const runtime::Mesh& mesh, std::span<const runtime::AxisId> axes,
                       const ir::Collective& kind, double given);
// Over how many of `processes`, which own equal slices of the devices, these axes reach.
std::int64_t processes_of(double processes, const runtime::Mesh& mesh, std::span<const runtime::AxisId> axes);

}  // namespace shard::cost_model
