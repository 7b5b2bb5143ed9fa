// Compiling for the devices of a client, and running there.
#include "runtime/pjrt/client.h"

namespace shard::runtime::pjrt {
namespace {

// ---- the little of protobuf's encoding that compile options need

void varint(std::string& to, std::uint64_t v) {
  for (; v > 127; v >>= 7) to += static_cast<char>((v & 127) | 128);
  to += static_cast<char>(v);
}
void number(std::string& to, unsigned field, std::uint64_t v) {
  varint(to, field << 3);
  varint(to, v);
}
void bytes(std::string& to, unsigned field, const std::string& content) {
  varint(to, field << 3 | 2);
  varint(to, content.size());
  to += content;
}

}  // namespace

std::optional<MemoryStats> memory_of(const Plugin& plugin, abi::Executable* executable) {
  if (!plugin.has(abi::kExecutableMemory)) return std::nullopt;
  abi::Memory m{};
  m.executable = executable;
  plugin.call(abi::kExecutableMemory, m, "asked for its memory");
  return MemoryStats{m.code, m.arguments, m.results, m.aliased, m.temporaries, m.peak};
}

abi::Program program_of(const std::string& text) {
  constexpr std::string_view kFormat = "mlir";
  return {{sizeof(abi::Program), nullptr}, text.data(), text.size(), kFormat.data(), kFormat.size()};
}

std::string compile_options(std::span<const int> ids) {
  std::string packed, computation, assignment, build, out;
  for (const int id : ids) varint(packed, static_cast<std::uint64_t>(id));
  bytes(computation, 1, packed);
  number(assignment, 1, ids.size());  // replicas
  number(assignment, 2, 1);           // partitions
  bytes(assignment, 3, computation);
  number(build, 4, ids.size());  // a plug-in aborts the process where this is missing
  number(build, 5, 1);
  bytes(build, 9, assignment);
  bytes(out, 3, build);
  return out;
}

std::shared_ptr<const Executable> Executable::compile(ClientRef client, const std::string& text,
                                                      std::vector<std::size_t> devices,
                                                      std::optional<std::vector<BlockType>> parameters) {
  std::vector<int> ids;
  for (const std::size_t d : devices) ids.push_back(client->infos_.at(d).id);
  const std::string options = compile_options(ids);
  const abi::Program program = program_of(text);
  abi::ClientCompile compile{};
  compile.client = client->client_;
  compile.program = &program;
  compile.options = options.data();
  compile.options_size = options.size();
  const Plugin& plugin = client->plugin();
  plugin.call(abi::kClientCompile, compile, "compiling");
  std::shared_ptr<Executable> out(new Executable(std::move(client), compile.executable));
  for (const std::size_t d : devices)
    if (d - out->client_->first_ < out->client_->own()) out->devices_.push_back(d);
  out->parameters_ = std::move(parameters);
  out->look_at_results();
  return out;
}

void Executable::look_at_results() {
  const Plugin& plugin = client_->plugin();
  abi::Object inner{{}, loaded_, nullptr};
  plugin.call(abi::kLoadedExecutable, inner, "asked for what it compiled");
  inner_ = static_cast<abi::Executable*>(inner.result);
  abi::OutputTypes types{};
  types.executable = inner_;
  plugin.call(abi::kExecutableOutputTypes, types, "asked for the types of results");
  abi::OutputDims dims{};
  dims.executable = inner_;
  plugin.call(abi::kExecutableOutputDims, dims, "asked for the shapes of results");
  const std::int64_t* at = dims.dims;
  for (std::size_t i = 0; i < types.count; ++i) {
    results_.push_back({types.types[i], {at, at + dims.ranks[i]}});
    at += dims.ranks[i];
  }
}

Executable::~Executable() {
  client_->plugin().drop(abi::kExecutableDestroy, inner_);
  client_->plugin().drop(abi::kLoadedDestroy, loaded_);
}

void Executable::check_arguments(const std::vector<std::vector<const Buffer*>>& arguments) const {
  const auto refuse = [](std::size_t wanted, const char* of, std::size_t given) {
    throw RuntimeError("engine", "a program with " + std::to_string(wanted) + of + " was given arguments for " +
                                     std::to_string(given));
  };
  if (arguments.size() != devices_.size()) refuse(devices_.size(), " devices", arguments.size());
  for (std::size_t d = 0; d < arguments.size() && parameters_; ++d) {
    if (arguments[d].size() != parameters_->size()) refuse(parameters_->size(), " parameters", arguments[d].size());
    for (std::size_t i = 0; i < parameters_->size(); ++i) {
      const Buffer& b = *arguments[d][i];
      const BlockType& wanted = (*parameters_)[i];
      if (b.type() != wanted || b.device() != devices_[d])
        throw RuntimeError("engine", "parameter " + std::to_string(i) + " is " + to_string(wanted) + " on device " +
                                         std::to_string(devices_[d]) + " and was given " + to_string(b.type()) +
                                         " on device " + std::to_string(b.device()));
    }
  }
}

Run Executable::begin(const std::vector<std::vector<const Buffer*>>& arguments,
                      std::span<const std::int64_t> kept) const {
  check_arguments(arguments);
  const Plugin& plugin = client_->plugin();
  const std::size_t devices = devices_.size();
  std::vector<std::vector<abi::Buffer*>> in(devices), out(devices, std::vector<abi::Buffer*>(results_.size()));
  std::vector<abi::Buffer* const*> in_lists(devices);
  std::vector<abi::Buffer**> out_lists(devices);
  std::vector<abi::Event*> done(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    for (const Buffer* b : arguments[d]) in[d].push_back(b->buffer_);
    in_lists[d] = in[d].data();
    out_lists[d] = out[d].data();
  }
  abi::ExecuteOptions options{};
  options.head.size = sizeof options;
  options.kept = kept.data();
  options.kept_count = kept.size();
  abi::Execute execute{};
  execute.executable = loaded_;
  execute.options = &options;
  execute.arguments = in_lists.data();
  execute.devices = devices;
  execute.count = arguments.empty() ? 0 : arguments[0].size();
  execute.results = out_lists.data();
  execute.done = done.data();
  plugin.call(abi::kLoadedExecute, execute, "running");
  std::vector<std::vector<Buffer>> results(devices);
  for (std::size_t d = 0; d < devices; ++d)
    for (std::size_t i = 0; i < results_.size(); ++i)
      results[d].push_back(Buffer(client_, devices_[d], results_[i], out[d][i]));
  return Run(client_, std::move(results), std::move(done));
}

std::vector<std::vector<Buffer>> Executable::run(const std::vector<std::vector<const Buffer*>>& arguments,
                                                 std::span<const std::int64_t> kept) const {
  Run run = begin(arguments, kept);
  run.wait();
  return std::move(run.results);
}

}  // namespace shard::runtime::pjrt
