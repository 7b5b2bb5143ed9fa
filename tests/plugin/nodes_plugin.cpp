// A plug-in of PJRT for tests, whose client has the devices of several processes, as those for GPUs have: it checks
// what it is told when it is made (options, the three functions by which processes find each other), numbers devices
// with gaps, begins runs and lets them end later, and takes part in a run only with its own devices. What computes is a
// plug-in for the CPU (SHARD_TEST_INNER_PLUGIN) in the first of the processes, behind a hub (hub.h).
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>

#include "runtime/pjrt/client.h"
#include "tests/plugin/hub.h"

namespace abi = shard::runtime::pjrt::abi;
using shard::test::Ask;
using shard::test::Message;

constexpr int kInvalid = 3, kDeadline = 4, kNotFound = 5, kExhausted = 8, kInternal = 13;

namespace {

struct Refused : std::runtime_error {
  Refused(int c, const std::string& why) : std::runtime_error(why), code(c) {}
  int code;
};

}  // namespace

// ---- what is behind the names of the interface

namespace shard::runtime::pjrt::abi {

struct Error {
  int code;
  std::string message;
};

struct Event {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
    std::string failed;
    int code = kInternal;
    std::vector<std::function<void(const std::string& failed)>> then;
  };
  std::shared_ptr<State> state;
};

struct Device {
  int id, process;
};

struct Client {
  int index = 0;
  std::vector<Device> devices;
  std::vector<Device*> all, own;
  int socket = -1, running = -1;  // of the second: one run after another
  std::mutex asking, runs;        // of the second: over what follows
  std::deque<std::function<void()>> begun;
  std::map<int, std::pair<std::int64_t, std::int64_t>> held;  // bytes by device: now, at most
  const std::int64_t limit = [] {
    const char* given = std::getenv("SHARD_TEST_DEVICE_BYTES");
    return given ? std::atoll(given) : 1LL << 30;
  }();
  void want_room(int device, std::int64_t bytes) {
    if (held[device].first + bytes > limit)
      throw Refused(kExhausted, "out of memory allocating " + std::to_string(bytes) + " bytes");
  }
  void hold(int device, std::int64_t bytes) {
    auto& [now, most] = held[device];
    now += bytes;
    most = std::max(most, now);
  }
  bool running_them = false;
  std::atomic<std::int64_t> next{0};
  std::int64_t new_id() { return (static_cast<std::int64_t>(index) << 40) + ++next; }
};

struct Executable {
  std::int64_t number = 0;
  std::vector<ElementType> types;
  std::vector<std::int64_t> dims;
  std::vector<std::size_t> ranks;
  std::vector<std::int64_t> result_bytes() const {
    std::vector<std::int64_t> out;
    const std::int64_t* at = dims.data();
    for (std::size_t i = 0; i < types.size(); at += ranks[i++])
      out.push_back(static_cast<std::int64_t>(bytes_of(BlockType{types[i], {at, at + ranks[i]}})));
    return out;
  }
};

struct LoadedExecutable {
  Client* client;
  std::shared_ptr<Executable> executable;
};

struct Buffer {
  Client* client;
  std::int64_t id;
  int device;
  std::int64_t bytes;
};

}  // namespace shard::runtime::pjrt::abi

namespace {

template <class Arguments, void (*Body)(Arguments&)>
abi::Error* entry(void* arguments) {
  try {
    Body(*static_cast<Arguments*>(arguments));
    return nullptr;
  } catch (const Refused& e) { return new abi::Error{e.code, e.what()}; } catch (const std::exception& e) {
    return new abi::Error{kInternal, e.what()};
  }
}

template <class T>
T* of(const void* object) {
  return const_cast<T*>(static_cast<const T*>(object));
}

Message asked(int socket, const Message& question) {
  Message answer;
  if (!question.send(socket) || !answer.receive(socket)) throw Refused(kInternal, "the hub of the devices has gone");
  if (answer.number() != 0) throw Refused(kInternal, answer.bytes);
  return answer;
}

Message question(Ask what) {
  Message out;
  out.add(static_cast<std::int64_t>(what));
  return out;
}

Message asked(abi::Client& client, const Message& question) {
  const std::scoped_lock lock(client.asking);
  return asked(client.socket, question);
}

void asked_quietly(int socket, const Message& question) {
  try {
    asked(socket, question);
  } catch (const Refused&) {  // the hub has gone, and all buffers with it
  }
}

abi::Event* ended() {
  auto state = std::make_shared<abi::Event::State>();
  state->over = true;
  return new abi::Event{state};
}

// ---- values that all processes see, by the functions of whoever makes the client

class Values {
 public:
  explicit Values(const abi::ClientCreate& c) : c_(c) {}
  void put(const std::string& key, const std::string& value) const {
    abi::KeyPut a{};
    a.head.size = sizeof a;
    a.key = key.data(), a.key_size = key.size(), a.value = value.data(), a.value_size = value.size();
    a.fail = &fail_, a.argument = c_.put_argument;
    check(reinterpret_cast<abi::Error* (*)(abi::KeyPut*)>(c_.put)(&a));
  }
  std::string get(const std::string& key, int milliseconds) const {
    abi::KeyGet a{};
    a.head.size = sizeof a;
    a.key = key.data(), a.key_size = key.size(), a.timeout = milliseconds, a.fail = &fail_;
    a.argument = c_.get_argument;
    check(reinterpret_cast<abi::Error* (*)(abi::KeyGet*)>(c_.get)(&a));
    return taken(a);
  }
  std::string try_get(const std::string& key) const {
    abi::KeyTryGet a{};
    a.head.size = sizeof a;
    a.key = key.data(), a.key_size = key.size(), a.fail = &fail_, a.argument = c_.try_get_argument;
    check(reinterpret_cast<abi::Error* (*)(abi::KeyTryGet*)>(c_.try_get)(&a));
    return taken(a);
  }

 private:
  template <class Arguments>
  static std::string taken(const Arguments& a) {
    std::string out(a.value, a.value_size);
    a.drop(a.value);
    return out;
  }
  static void check(abi::Error* error) {
    const std::unique_ptr<abi::Error> owned(error);
    if (error) throw Refused(error->code, error->message);
  }
  const abi::ClientCreate& c_;
  abi::Fail mutable fail_ = [](std::int32_t code, const char* message, std::size_t size) {
    return new abi::Error{code, {message, size}};
  };
};

void wants(int code, const std::function<void()>& body) {
  try {
    body();
  } catch (const Refused& e) {
    if (e.code == code) return;
    throw;
  }
  throw Refused(kInternal, "a value is found that nobody put");
}

// ---- the functions

void error_destroy(abi::Plain& a) { delete of<abi::Error>(a.object); }
void error_message(abi::Text& a) {
  const auto& message = of<abi::Error>(a.object)->message;
  a.text = message.data(), a.size = message.size();
}
void error_code(abi::Number& a) { a.number = of<abi::Error>(a.object)->code; }
void initialize(abi::Plain&) {}
void event_destroy(abi::Plain& a) { delete of<abi::Event>(a.object); }
void event_when_ready(abi::WhenReady& a) {
  const auto state = a.event->state;
  std::unique_lock lock(state->mutex);
  state->then.emplace_back([over = a.over, argument = a.argument, own = state.get()](const std::string& failed) {
    over(failed.empty() ? nullptr : new abi::Error{own->code, failed}, argument);
  });
  const auto then = state->over ? std::exchange(state->then, {}) : decltype(state->then)();
  lock.unlock();
  for (const auto& f : then) f(state->failed);
}
void event_await(abi::Plain& a) {
  const auto state = of<abi::Event>(a.object)->state;
  std::unique_lock lock(state->mutex);
  state->changed.wait(lock, [&] { return state->over; });
  if (!state->failed.empty()) throw Refused(state->code, state->failed);
}

abi::Client* last_client = nullptr;

int connected(const std::string& path) {
  const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  path.copy(at.sun_path, sizeof at.sun_path - 1);
  if (connect(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    throw Refused(kInternal, "there is no hub at " + path);
  return s;
}

void client_create(abi::ClientCreate& a) {
  std::int64_t count = 4, index = 0, nodes = 1;
  for (std::size_t i = 0; i < a.count; ++i) {
    const abi::NamedValue& v = a.options[i];
    const std::string name(v.name, v.name_size);
    std::int64_t* const to = name == "cpu_device_count" ? &count
                             : name == "node_id"        ? &index
                             : name == "num_nodes"      ? &nodes
                                                        : nullptr;
    if (!to) throw Refused(kInvalid, "unknown option: " + name);
    if (v.kind != abi::NamedValue::Int64) throw Refused(kInvalid, "option " + name + " takes a number");
    *to = v.number;
  }
  const char* const inner = std::getenv("SHARD_TEST_INNER_PLUGIN");
  if (!inner) throw Refused(kInvalid, "SHARD_TEST_INNER_PLUGIN names no plug-in for the CPU");
  if (index < 0 || index >= nodes || count < 1) throw Refused(kInvalid, "no such node, or no devices");
  if (nodes > 1 && (!a.get || !a.put || !a.try_get)) throw Refused(kInvalid, "several nodes need values that all see");
  std::vector<int> counts(static_cast<std::size_t>(nodes), static_cast<int>(count));
  std::string path = "/tmp/shard_nodes_" + std::to_string(getpid());
  if (nodes > 1) {
    const Values values(a);
    wants(kNotFound, [&] { values.try_get("nobody puts this"); });
    wants(kDeadline, [&] { values.get("nor this", 20); });
    values.put("devices of " + std::to_string(index), std::to_string(count));
    for (std::size_t i = 0; i < counts.size(); ++i)
      counts[i] = std::stoi(values.get("devices of " + std::to_string(i), 30'000));
    if (index == 0) {
      shard::test::open_hub(path, inner, counts);
      values.put("hub", std::string("at\0", 3) + path);  // values are bytes, not texts that end in 0
    }
    path = values.get("hub", 60'000).substr(3);
    if (values.try_get("hub").substr(3) != path) throw Refused(kInternal, "two ways to ask give different values");
  } else {
    shard::test::open_hub(path, inner, counts);
  }
  auto client = std::make_unique<abi::Client>();
  client->index = static_cast<int>(index);
  client->socket = connected(path), client->running = connected(path);
  if (nodes > 1) {  // all are connected: the name is needed no more
    const Values values(a);
    values.put("connected " + std::to_string(index), "");
    for (int i = 0; index == 0 && i < nodes; ++i) values.get("connected " + std::to_string(i), 60'000);
  }
  if (index == 0) unlink(path.c_str());
  for (int p = 0; p < nodes; ++p)
    for (int d = 0; d < counts[static_cast<std::size_t>(p)]; ++d)
      client->devices.push_back({p * shard::test::kIdStep + d, p});
  for (auto d = client->devices.rbegin(); d != client->devices.rend(); ++d) {  // in no order that may be relied on
    client->all.push_back(&*d);
    if (d->process == index) client->own.push_back(&*d);
  }
  a.client = last_client = client.release();
}
void client_destroy(abi::Plain& a) {
  const std::unique_ptr<abi::Client> client(of<abi::Client>(a.object));
  const auto busy = [&] {
    const std::scoped_lock lock(client->runs);
    return client->running_them;
  };
  while (busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (const int s : {client->socket, client->running}) close(s);
}
void client_name(abi::Text& a) { a.text = "cpu", a.size = 3; }
void client_version(abi::Text& a) { a.text = "test", a.size = 4; }
void client_process(abi::Number& a) { a.number = of<abi::Client>(a.object)->index; }
void list(abi::Objects& a, const std::vector<abi::Device*>& devices) {
  a.results = reinterpret_cast<void* const*>(devices.data()), a.count = devices.size();
}
void client_devices(abi::Objects& a) { list(a, of<abi::Client>(a.object)->all); }
void client_own_devices(abi::Objects& a) { list(a, of<abi::Client>(a.object)->own); }
void device_description(abi::Object& a) { a.result = const_cast<void*>(a.object); }
void device_memory(abi::DeviceMemory& a) {  // of the client made last: there is one in a process
  const std::scoped_lock lock(last_client->runs);
  const auto [now, most] = last_client->held[a.device->id];
  a.in_use = now, a.peak = most, a.limit = last_client->limit;
  a.peak_known = a.limit_known = true;
}
void description_id(abi::Number& a) { a.number = of<abi::Device>(a.object)->id; }
void description_process(abi::Number& a) { a.number = of<abi::Device>(a.object)->process; }
void description_kind(abi::Text& a) { a.text = "cpu", a.size = 3; }

// ---- compiling

// The field of this number of an encoded protobuf, of those that hold bytes; empty where there is none.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}
  std::uint64_t varint() {
    std::uint64_t out = 0;
    for (int shift = 0;; shift += 7) {
      if (text_.empty()) throw Refused(kInvalid, "the compile options are cut off");
      const auto byte = static_cast<unsigned char>(text_[0]);
      text_.remove_prefix(1);
      out |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return out;
    }
  }
  std::string_view find(std::uint64_t field) {
    while (!text_.empty()) {
      const std::uint64_t tag = varint(), size = varint();
      if (tag % 8 != 2) continue;
      const std::string_view content = text_.substr(0, size);
      text_.remove_prefix(std::min<std::size_t>(size, text_.size()));
      if (tag / 8 == field) return content;
    }
    return {};
  }
  bool more() const { return !text_.empty(); }

 private:
  std::string_view text_;
};

void client_compile(abi::ClientCompile& a) {
  // CompileOptions.3 = build options; there 9 = device assignment, of which 3 = a partition, of which 1 = ids
  const std::string_view build = Fields({a.options, a.options_size}).find(3);
  Fields ids(Fields(Fields(Fields(build).find(9)).find(3)).find(1));
  std::vector<std::int64_t> devices;
  while (ids.more()) devices.push_back(static_cast<std::int64_t>(ids.varint()));
  if (devices.empty()) throw Refused(kInvalid, "the compile options name no devices");
  bool takes_part = false;
  for (const std::int64_t id : devices) takes_part = takes_part || id / shard::test::kIdStep == a.client->index;
  if (!takes_part) throw Refused(kInvalid, "no device of this process is in the assignment");
  Message m = question(Ask::Compile);
  m.add(devices);
  m.bytes.assign(a.program->code, a.program->code_size);
  Message answer = asked(*a.client, m);
  auto made = std::make_shared<abi::Executable>();
  made->number = answer.number();
  for (std::int64_t i = answer.number(); i > 0; --i) {
    made->types.push_back(static_cast<abi::ElementType>(answer.number()));
    const std::vector<std::int64_t> dims = answer.list();
    made->dims.insert(made->dims.end(), dims.begin(), dims.end());
    made->ranks.push_back(dims.size());
  }
  a.executable = new abi::LoadedExecutable{a.client, std::move(made)};
}
void loaded_executable(abi::Object& a) {
  a.result = new abi::Executable(*of<abi::LoadedExecutable>(a.object)->executable);
}
void loaded_destroy(abi::Plain& a) { delete of<abi::LoadedExecutable>(a.object); }
void executable_destroy(abi::Plain& a) { delete of<abi::Executable>(a.object); }
void output_types(abi::OutputTypes& a) { a.types = a.executable->types.data(), a.count = a.executable->types.size(); }
void output_dims(abi::OutputDims& a) {
  a.count = a.executable->ranks.size(), a.dims = a.executable->dims.data(), a.ranks = a.executable->ranks.data();
}

// ---- buffers and runs

void from_host(abi::BufferFromHost& a) {
  if (a.device->process != a.client->index) throw Refused(kInvalid, "a buffer is for a device of another process");
  const shard::runtime::pjrt::BlockType type{a.type, {a.dims, a.dims + a.rank}};
  const std::int64_t id = a.client->new_id();
  Message m = question(Ask::FromHost);
  m.add(id), m.add(a.device->id), m.add(static_cast<std::int64_t>(a.type)), m.add(type.dims);
  m.bytes.assign(static_cast<const char*>(a.data), shard::runtime::pjrt::bytes_of(type));
  {
    const std::scoped_lock lock(a.client->runs);
    a.client->want_room(a.device->id, static_cast<std::int64_t>(m.bytes.size()));
  }
  asked(*a.client, m);
  a.buffer = new abi::Buffer{a.client, id, a.device->id, static_cast<std::int64_t>(m.bytes.size())};
  const std::scoped_lock lock(a.client->runs);
  a.client->hold(a.device->id, a.buffer->bytes);
  a.done = ended();
}
void to_host(abi::BufferToHost& a) {
  Message m = question(Ask::ToHost);
  m.add(a.buffer->id);
  const Message answer = asked(*a.buffer->client, m);
  if (answer.bytes.size() != a.size) throw Refused(kInvalid, "a buffer has another size");
  answer.bytes.copy(static_cast<char*>(a.to), a.size);
  a.done = ended();
}
void run_to_its_end(abi::Client& client, const Message& m, abi::Event::State& state) {
  std::string failed;
  try {
    asked(client.running, m);
  } catch (const std::exception& e) { failed = e.what(); }
  std::unique_lock lock(state.mutex);
  state.failed = failed, state.over = true;
  const auto then = std::exchange(state.then, {});
  state.changed.notify_all();
  lock.unlock();
  for (const auto& f : then) f(failed);
}

void run_all(abi::Client* client) {  // in the order in which they began, as long as there are some
  for (std::unique_lock lock(client->runs);; lock.lock()) {
    if (client->begun.empty()) {
      client->running_them = false;
      return;
    }
    const auto next = std::move(client->begun.front());
    client->begun.pop_front();
    lock.unlock();
    next();
  }
}

// Begins a run, and returns; its events end with it.
void execute(abi::Execute& a) {
  abi::Client* const client = a.executable->client;
  Message m = question(Ask::Run);
  m.add(a.executable->executable->number), m.add(client->index);
  m.add(std::vector<std::int64_t>(a.options->kept, a.options->kept + a.options->kept_count));
  const std::vector<std::int64_t> bytes = a.executable->executable->result_bytes();
  auto state = std::make_shared<abi::Event::State>();
  try {  // as on a GPU, that there is no room is told by the run's end
    const std::scoped_lock lock(client->runs);
    const std::int64_t all = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
    for (const abi::Device* device : client->own) client->want_room(device->id, all);
  } catch (const Refused& e) { state->failed = e.what(), state->code = kExhausted, state->over = true; }
  for (std::size_t d = 0; d < a.devices; ++d) {
    std::vector<std::int64_t> arguments, results;
    for (std::size_t i = 0; i < a.count; ++i) arguments.push_back(a.arguments[d][i]->id);
    for (std::size_t i = 0; i < a.executable->executable->types.size(); ++i) {
      a.results[d][i] =
          new abi::Buffer{client, client->new_id(), client->own[client->own.size() - 1 - d]->id, bytes[i]};
      const std::scoped_lock lock(client->runs);
      client->hold(a.results[d][i]->device, bytes[i]);
      results.push_back(a.results[d][i]->id);
    }
    m.add(arguments), m.add(results);
    if (a.done) a.done[d] = new abi::Event{state};
  }
  if (state->over) return;
  const std::scoped_lock lock(client->runs);
  client->begun.emplace_back([client, m, state] { run_to_its_end(*client, m, *state); });
  if (!std::exchange(client->running_them, true)) std::thread(run_all, client).detach();
}

// Runs that have begun hold their arguments: what is let go of goes when they are over.
void buffer_destroy(abi::Plain& a) {
  const std::unique_ptr<abi::Buffer> buffer(of<abi::Buffer>(a.object));
  abi::Client* const client = buffer->client;
  Message m = question(Ask::Drop);
  m.add(buffer->id);
  const std::scoped_lock lock(client->runs);
  client->hold(buffer->device, -buffer->bytes);
  if (client->running_them)
    client->begun.emplace_back([client, m] { asked_quietly(client->running, m); });
  else
    asked_quietly(client->running, m);
}

struct Table {
  abi::Head head, version_head;
  int major, minor;
  abi::Error* (*functions[100])(void*);
};

const Table& table() {
  static const Table kTable = [] {
    Table t{{sizeof(Table), nullptr}, {sizeof(abi::Head) + 2 * sizeof(int), nullptr}, 0, 81, {}};
#define ENTRY(call, arguments, body) t.functions[abi::call] = &entry<abi::arguments, body>
    ENTRY(kErrorDestroy, Plain, error_destroy);
    ENTRY(kErrorMessage, Text, error_message);
    ENTRY(kErrorCode, Number, error_code);
    ENTRY(kPluginInitialize, Plain, initialize);
    ENTRY(kEventDestroy, Plain, event_destroy);
    ENTRY(kEventAwait, Plain, event_await);
    ENTRY(kEventWhenReady, WhenReady, event_when_ready);
    ENTRY(kClientCreate, ClientCreate, client_create);
    ENTRY(kClientDestroy, Plain, client_destroy);
    ENTRY(kClientPlatformName, Text, client_name);
    ENTRY(kClientPlatformVersion, Text, client_version);
    ENTRY(kClientProcess, Number, client_process);
    ENTRY(kClientDevices, Objects, client_devices);
    ENTRY(kClientAddressableDevices, Objects, client_own_devices);
    ENTRY(kDeviceDescription, Object, device_description);
    ENTRY(kDeviceMemory, DeviceMemory, device_memory);
    ENTRY(kDescriptionId, Number, description_id);
    ENTRY(kDescriptionProcess, Number, description_process);
    ENTRY(kDescriptionKind, Text, description_kind);
    ENTRY(kClientCompile, ClientCompile, client_compile);
    ENTRY(kLoadedExecutable, Object, loaded_executable);
    ENTRY(kLoadedDestroy, Plain, loaded_destroy);
    ENTRY(kExecutableDestroy, Plain, executable_destroy);
    ENTRY(kExecutableOutputTypes, OutputTypes, output_types);
    ENTRY(kExecutableOutputDims, OutputDims, output_dims);
    ENTRY(kClientBufferFromHost, BufferFromHost, from_host);
    ENTRY(kBufferToHost, BufferToHost, to_host);
    ENTRY(kBufferDestroy, Plain, buffer_destroy);
    ENTRY(kLoadedExecute, Execute, execute);
#undef ENTRY
    return t;
  }();
  return kTable;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* GetPjrtApi() { return &table(); }
