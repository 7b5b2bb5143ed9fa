// A program on the devices of a plug-in: compiled when it first runs, its arguments brought there, its results left
// there, and what it claims looked at.
#include "interpreter/xla/xla_target.h"

#include <algorithm>

#include "grammar/diagnostic.h"
#include "interpreter/exec/lowering.h"
#include "interpreter/hlo/module.h"
#include "interpreter/xla/full_memory.h"
#include "interpreter/xla/showing.h"
#include "runtime/mesh/device_array.h"
#include "runtime/mesh/part.h"

namespace shard::xla {
namespace {

using exec::ArrayInfo;
using runtime::ArrayRef;
using runtime::DeviceArray;

// Which of an array's distinct blocks the device at `position` has; of several processes, of those here.
std::size_t block_at(const runtime::Mesh* mesh, const runtime::DeviceArray& array, std::size_t position) {
  if (!mesh || !array.type.mesh) return 0;
  const std::vector<std::int64_t> at = runtime::coordinates_of(*mesh, static_cast<std::int64_t>(position));
  std::int64_t block = 0;
  for (const runtime::AxisId axis : array.distinct.list()) block = block * mesh->size_of(axis) + at[axis];
  return static_cast<std::size_t>(block);
}

// Arrays that lie on the devices of a plug-in: what is on each device of a mesh, by position, also where blocks are
// equal; one block where nothing was ever laid out. They come to this process when somebody looks, and then stay here
// too, so that reading element for element costs one transfer.
class Blocks final : public runtime::RemoteBlocks {
 public:
  Blocks(pjrt::ClientRef client, std::shared_ptr<InFlight> in_flight, std::vector<pjrt::Buffer> blocks)
      : client_(std::move(client)), in_flight_(std::move(in_flight)), blocks_(std::move(blocks)) {}
  runtime::BufferRef fetch(runtime::Pool& pool, const runtime::DeviceArray& array) const override {
    if (here_) return here_;
    in_flight_->wait_for_all();
    const runtime::Mesh* mesh = mesh_here(array);
    const std::size_t bytes = pjrt::bytes_of(blocks_[0].type());
    const std::int64_t all = runtime::checked_bytes(array.physical(), runtime::size_of(array.type.dtype));
    runtime::BufferRef out = pool.allocate(static_cast<std::size_t>(all));
    std::size_t next = 0;  // distinct blocks are met in their order
    for (std::size_t p = 0; p < blocks_.size() && next * bytes < static_cast<std::size_t>(all); ++p)
      if (block_at(mesh, array, p) == next) blocks_[p].to_host(static_cast<char*>(out->data()) + bytes * next++, bytes);
    return here_ = std::move(out);
  }
  void wait() const override { in_flight_->wait_for_all(); }
  bool by_block() const override { return true; }
  void copy_block(const runtime::DeviceArray& array, std::int64_t place, void* to) const override {
    std::size_t p = 0;
    while (block_at(mesh_here(array), array, p) != static_cast<std::size_t>(place)) ++p;
    blocks_.at(p).to_host(to, pjrt::bytes_of(blocks_[p].type()));
  }
  const void* owner() const override { return client_.get(); }
  const pjrt::Buffer& at(std::size_t position) const { return blocks_.at(position); }
  bool lie_on(const std::vector<std::size_t>& devices) const {
    return std::equal(blocks_.begin(), blocks_.end(), devices.begin(), devices.end(),
                      [](const pjrt::Buffer& b, std::size_t device) { return b.device() == device; });
  }

 private:
  static const runtime::Mesh* mesh_here(const runtime::DeviceArray& array) {  // what of it is in this process
    const runtime::Mesh* mesh = array.type.mesh.get();
    return mesh && mesh->part ? &mesh->part->here : mesh;
  }
  pjrt::ClientRef client_;
  std::shared_ptr<InFlight> in_flight_;
  std::vector<pjrt::Buffer> blocks_;
  mutable runtime::BufferRef here_;
};
using BlocksRef = std::shared_ptr<const Blocks>;

// Copies the blocks of an array that lies in this process to devices, which are those of the mesh by position.
BlocksRef to_devices(const pjrt::ClientRef& client, const std::shared_ptr<InFlight>& in_flight,
                     const runtime::Mesh* mesh, const std::vector<std::size_t>& devices,
                     const runtime::DeviceArray& array, const pjrt::BlockType& type) {
  const std::size_t bytes = pjrt::bytes_of(type);
  std::vector<pjrt::Buffer> blocks;
  blocks.reserve(devices.size());
  for (std::size_t p = 0; p < devices.size(); ++p)
    blocks.push_back(pjrt::Buffer::from_host(
        client, devices[p], type, static_cast<const char*>(array.buffer->data()) + bytes * block_at(mesh, array, p)));
  return std::make_shared<const Blocks>(client, in_flight, std::move(blocks));
}

class Compiled final : public exec::Measured, public std::enable_shared_from_this<Compiled> {
 public:
  Compiled(std::shared_ptr<const exec::Program> p, std::span<const ArrayInfo> arguments, const ir::OpTable& table,
           runtime::Pool& pool_given, pjrt::ClientRef client, std::shared_ptr<InFlight> in_flight,
           const grammar::SourceMap* sources, const std::function<void()>& entering)
      : Measured(std::move(p), arguments, table, pool_given),
        client_(std::move(client)),
        in_flight_(std::move(in_flight)),
        sources_(sources),
        entering_(entering),
        arguments_(arguments.begin(), arguments.end()),
        sent_(arguments.size()) {
    const runtime::Mesh* const mesh = program().mesh.get();
    here_ = mesh && mesh->part ? &mesh->part->here : mesh;
    if (mesh && (mesh->part || client_->own() == client_->devices().size()))
      devices_.assign(here_->devices.begin(), here_->devices.end());
    else  // no other process takes part
      for (std::size_t i = 0; i < (mesh ? mesh->devices.size() : 1); ++i) devices_.push_back(client_->first() + i);
    for (const ir::Var v : program().local.params) {
      const ir::Type& t = program().local.type(v);
      types_.push_back(pjrt::block_type(t.dtype, t.shape));
    }
  }

  std::vector<ArrayRef> compute(std::vector<ArrayRef>& args, const std::vector<bool>& donate,
                                const exec::Hooks& hooks) const override {
    check_shared();
    meet();
    if (entering_) entering_();
    try {
      return computed(args, donate, hooks);
    } catch (const runtime::RuntimeError& e) {
      if (e.code != "memory") throw;
      throw grammar::Error("memory", in_flight_->place(), e.what(), largest_arrays(*this, arguments_, sources_));
    }
  }

 private:
  std::vector<ArrayRef> computed(std::vector<ArrayRef>& args, const std::vector<bool>& donate,
                                 const exec::Hooks& hooks) const {
    std::vector<bool> last(args.size());  // nobody else holds it: it may be given away
    for (std::size_t i = 0; i < args.size() && i < donate.size(); ++i)
      last[i] = donate[i] && args[i].use_count() == 1 && args[i]->elsewhere.use_count() <= 1;
    const Version& version = version_for(last);
    std::vector<BlocksRef> blocks;
    std::vector<std::int64_t> kept;
    for (const std::size_t i : version.taken) {
      const bool given = version.donated[i] && last[i];
      if (version.donated[i] && !given) kept.push_back(std::ssize(blocks));
      blocks.push_back(on_devices(args[i], i, given));
    }
    std::vector<std::vector<const pjrt::Buffer*>> lists(devices_.size());
    for (std::size_t p = 0; p < devices_.size(); ++p)
      for (const BlocksRef& b : blocks) lists[p].push_back(&b->at(p));
    pool.stop().ask();
    const auto let_go = [&] {
      for (std::size_t i = 0; i < args.size(); ++i)
        if (version.donated[i] && last[i] && is_there(*args[i])) args[i] = nullptr;
    };
    std::vector<std::vector<pjrt::Buffer>> out;
    try {
      in_flight_->wait_for_room();
      pjrt::Run begun = version.executable->begin(lists, kept);
      out = std::move(begun.results);
      in_flight_->add(std::move(begun), [weak = weak_from_this()] {
        const auto call = weak.lock();
        return call ? largest_arrays(*call, call->arguments_, call->sources_) : std::vector<std::string>();
      });
    } catch (...) {
      let_go();
      throw;
    }
    let_go();
    if (!version.claims.empty()) in_flight_->wait_for_all();
    check_claims(version.claims, out);
    if (!version.shown.empty() && hooks.effect)
      Showing(program(), pool, hooks, [&](std::size_t r) {
        return blocks_of(out, r);
      }).show(version.shown, program().results.size() + version.claims.size());
    return results(out);
  }

  struct Version {  // which arguments are given away is said when compiling
    std::vector<bool> donated;
    std::vector<std::size_t> taken;  // of the arguments
    std::shared_ptr<const pjrt::Executable> executable;
    std::vector<hlo::Claim> claims;
    std::vector<hlo::Shown> shown;
  };
  struct Sent {
    ArrayRef array;
    BlocksRef blocks;
  };

  // In all processes alike, so that none waits for one that cannot.
  void check_shared() const {
    const runtime::Mesh* const mesh = program().mesh.get();
    const std::size_t all = client_->devices().size(), own = client_->own();
    if (mesh && (mesh->part ? mesh->part->grid.size() < all / own : own < all && mesh->devices.size() > own))
      throw runtime::RuntimeError(
          "engine", "a mesh of " + std::to_string(mesh->size()) + " devices is not shared out evenly to all " +
                        std::to_string(all / own) + " processes: engine xla takes one over all " + std::to_string(all) +
                        " devices, or over at most the " + std::to_string(own) +
                        " of a process, which each then has for itself");
  }

  // Before anything is compiled, and devices wait for one another: who does not come, or is at something else, is told
  // here by name.
  void meet() const {
    const runtime::Mesh* mesh = program().mesh.get();
    if (!mesh || !mesh->part || program().communication.empty()) return;
    mesh->part->processes->call_begins();
    mesh->part->processes->meet({"a compiled call"});
  }

  // Any of them runs any call: what is given away and held elsewhere is kept by name, what is held by nobody is kept
  // for nothing. So there are two at most, as often only the first call's arguments are held.
  const Version& version_for(const std::vector<bool>& last) const {
    for (const auto& v : versions_)
      if (v->donated == last) return *v;
    if (versions_.size() == 2) return *versions_[1];
    const auto flags = std::make_unique<bool[]>(last.size());
    std::copy(last.begin(), last.end(), flags.get());
    hlo::How how;
    how.arguments = arguments_;
    how.donated = {flags.get(), last.size()};
    how.sources = sources_;
    how.shows = true;
    hlo::Module module = hlo::module_of(program(), how);
    std::vector<std::size_t> all = devices_;
    if (const runtime::Mesh* mesh = program().mesh.get(); mesh && mesh->part)
      all.assign(mesh->devices.begin(), mesh->devices.end());
    std::vector<pjrt::BlockType> types;
    for (const std::size_t i : module.taken) types.push_back(types_[i]);
    auto executable = pjrt::Executable::compile(client_, module.text, std::move(all), std::move(types));
    versions_.push_back(std::make_unique<Version>(Version{last, std::move(module.taken), std::move(executable),
                                                          std::move(module.claims), std::move(module.shown)}));
    return *versions_.back();
  }

  bool is_there(const DeviceArray& a) const { return a.elsewhere && a.elsewhere->owner() == client_.get(); }
  // The blocks of an argument. Those of one that lies in this process are copied, and remembered for as long as calls
  // are given the same array: it cannot be written meanwhile, as it is held here.
  BlocksRef on_devices(const ArrayRef& array, std::size_t i, bool given) const {
    if (is_there(*array)) {
      auto blocks = std::static_pointer_cast<const Blocks>(array->elsewhere);
      if (blocks->lie_on(devices_)) return blocks;
    }
    Sent& sent = sent_[i];
    if (sent.array == array) return sent.blocks;
    BlocksRef blocks = to_devices(client_, in_flight_, here_, devices_, *runtime::here(pool, array), types_[i]);
    sent = given ? Sent{} : Sent{array, blocks};
    return blocks;
  }

  void check_claims(const std::vector<hlo::Claim>& claims, const std::vector<std::vector<pjrt::Buffer>>& out) const {
    for (std::size_t c = 0; c < claims.size(); ++c)
      for (const auto& device : out) {
        bool holds = false;
        device[program().results.size() + c].to_host(&holds, sizeof holds);
        if (!holds) throw grammar::Error("assert", claims[c].span, claims[c].message);
      }
  }

  // The r-th result of all devices.
  std::shared_ptr<const Blocks> blocks_of(std::vector<std::vector<pjrt::Buffer>>& out, std::size_t r) const {
    std::vector<pjrt::Buffer> blocks;
    blocks.reserve(out.size());
    for (auto& device : out) blocks.push_back(std::move(device[r]));
    return std::make_shared<const Blocks>(client_, in_flight_, std::move(blocks));
  }

  std::vector<ArrayRef> results(std::vector<std::vector<pjrt::Buffer>>& out) const {
    std::vector<ArrayRef> arrays;
    for (std::size_t r = 0; r < program().results.size(); ++r) {
      const ArrayInfo& info = program().results[r];
      auto array = std::make_shared<DeviceArray>();
      array->type = info.type;
      array->layout = info.layout;
      array->distinct = info.distinct;
      array->elsewhere = blocks_of(out, r);
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

  pjrt::ClientRef client_;
  std::shared_ptr<InFlight> in_flight_;
  const grammar::SourceMap* sources_;
  const std::function<void()>& entering_;  // of the engine
  std::vector<ArrayInfo> arguments_;
  const runtime::Mesh* here_ = nullptr;  // the mesh, as much of it as is in this process
  std::vector<std::size_t> devices_;     // of that, by position
  std::vector<pjrt::BlockType> types_;
  mutable std::vector<std::unique_ptr<const Version>> versions_;
  mutable std::vector<Sent> sent_;
};

}  // namespace

Engine::Engine(const ir::OpTable& table, runtime::Pool& pool, const std::string& plugin, std::optional<int> devices,
               pjrt::Nodes nodes)
    : table_(table), pool_(pool), in_flight_(std::make_shared<InFlight>(pool.stop())) {
  constexpr int kUnasked = 8;
  const int count = nodes.count;
  if (devices) nodes.each = *devices / count;
  const std::string path = pjrt::choose_plugin(plugin);
  client_ = pjrt::Client::create(pjrt::Plugin::load(path), std::max(devices.value_or(kUnasked) / count, 1), nodes);
  const int there = this->devices();
  std::vector<int> each(static_cast<std::size_t>(count));
  for (const pjrt::DeviceInfo& d : client_->devices())
    if (d.process >= 0 && d.process < count) ++each[static_cast<std::size_t>(d.process)];
  if (count > 1 && std::count(each.begin(), each.end(), static_cast<int>(client_->own())) != count)
    throw runtime::RuntimeError(
        "engine",
        "the plug-in of engine xla (" + client_->platform() + ", " + path + ") " +
            (client_->own() == client_->devices().size()
                 ? "works in one process alone, and there are " + std::to_string(count) +
                       (client_->refused().empty() ? "" : " (" + client_->refused() + ")")
                 : "has not as many devices in each of " + std::to_string(count) + " processes") +
            ": `shard run --engine xla` has all devices of a machine in one process, `shard launch` without --engine "
            "simulates devices in several");
  if (count > 1 && client_->process() != nodes.index)
    throw runtime::RuntimeError("engine", "the plug-in of engine xla calls this process " +
                                              std::to_string(client_->process()) + ", and in the job it is process " +
                                              std::to_string(nodes.index) + ": name the hosts in the plug-in's order");
  if (there == 0 || (devices && *devices > there))
    throw runtime::RuntimeError("engine", "engine xla has " + std::to_string(there) + " devices" +
                                              (there > 0 ? " (" + device_kind(0) + ")" : "") + ", and " +
                                              std::to_string(devices.value_or(1)) + " are asked for" +
                                              (there > 0 ? ": write --devices " + std::to_string(there) : ""));
}

std::optional<exec::DeviceBytes> Engine::device_bytes() const {
  in_flight_->wait_for_all();
  const auto found = client_->fullest();
  return found ? std::optional(exec::DeviceBytes{found->in_use, found->peak, found->limit}) : std::nullopt;
}

std::string Engine::device_kind(int id) const { return client_->devices().at(static_cast<std::size_t>(id)).kind; }

std::shared_ptr<const exec::Executable> Engine::compile(std::shared_ptr<const exec::Program> program,
                                                        std::span<const ArrayInfo> arguments) const {
  return std::make_shared<Compiled>(std::move(program), arguments, table_, pool_, client_, in_flight_, sources_,
                                    entering_);
}

}  // namespace shard::xla
