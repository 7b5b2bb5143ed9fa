#include "tests/plugin/hub.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "runtime/pjrt/client.h"

namespace shard::test {
namespace {

namespace pjrt = runtime::pjrt;

bool whole(int socket, void* data, std::size_t bytes, bool send) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = send ? ::send(socket, at, bytes, MSG_NOSIGNAL) : ::recv(socket, at, bytes, 0);
    if (n <= 0) return false;
    at += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

struct Compiled {
  std::shared_ptr<const pjrt::Executable> executable;
  std::vector<std::int64_t> ids;  // of devices, by position
  // A run begins once all processes that have devices of it have come to their k-th.
  struct Run {
    std::vector<std::vector<std::int64_t>> arguments, results;  // by position
    std::vector<std::int64_t> kept;
    std::size_t come = 0;  // devices
    bool over = false;
    std::string failed;
  };
  std::vector<std::shared_ptr<Run>> runs;
  std::map<int, std::size_t> begun;  // how many, by process
};

class Hub {
 public:
  Hub(const std::string& inner, const std::vector<int>& counts) : counts_(counts) {
    int all = 0;
    for (const int n : counts_) first_.push_back(all), all += n;
    client_ = pjrt::Client::create(pjrt::Plugin::load(inner), all);
  }

  Message answer(Ask ask, Message& m) {
    Message out;
    switch (ask) {
      case Ask::Compile: compile(m, out); break;
      case Ask::FromHost: from_host(m); break;
      case Ask::ToHost: to_host(m, out); break;
      case Ask::Run: run(m); break;
      case Ask::Drop: {
        const std::scoped_lock lock(mutex_);
        buffers_.erase(m.number());
      }
    }
    return out;
  }

 private:
  std::size_t place_of(std::int64_t id) const {
    const auto process = static_cast<std::size_t>(id / kIdStep);
    if (process >= counts_.size() || id % kIdStep >= counts_[process])
      throw std::invalid_argument("there is no device of id " + std::to_string(id));
    return static_cast<std::size_t>(first_[process] + id % kIdStep);
  }

  // What several processes compile is compiled once.
  void compile(Message& m, Message& out) {
    const std::vector<std::int64_t> ids = m.list();
    std::string key = m.bytes;
    for (const std::int64_t id : ids) key += " " + std::to_string(id);
    const std::scoped_lock compiling(compiling_);
    std::shared_ptr<Compiled> one;
    {
      const std::scoped_lock lock(mutex_);
      if (const auto at = known_.find(key); at != known_.end()) one = at->second;
    }
    if (!one) {
      std::vector<std::size_t> places;
      for (const std::int64_t id : ids) places.push_back(place_of(id));
      one = std::make_shared<Compiled>();
      one->executable = pjrt::Executable::compile(client_, m.bytes, std::move(places), std::nullopt);
      one->ids = ids;
      const std::scoped_lock lock(mutex_);
      known_[key] = one;
      compiled_.push_back(one);
    }
    const std::scoped_lock lock(mutex_);
    out.add(std::find(compiled_.begin(), compiled_.end(), one) - compiled_.begin());
    out.add(static_cast<std::int64_t>(one->executable->results().size()));
    for (const pjrt::BlockType& t : one->executable->results()) {
      out.add(static_cast<std::int64_t>(t.element));
      out.add(t.dims);
    }
  }

  void from_host(Message& m) {
    const std::int64_t id = m.number(), device = m.number();
    const auto element = static_cast<pjrt::abi::ElementType>(m.number());
    auto made = std::make_shared<pjrt::Buffer>(
        pjrt::Buffer::from_host(client_, place_of(device), {element, m.list()}, m.bytes.data()));
    const std::scoped_lock lock(mutex_);
    buffers_[id] = {std::move(made), ""};
  }

  void to_host(Message& m, Message& out) {
    const std::int64_t id = m.number();
    std::shared_ptr<const pjrt::Buffer> buffer;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return buffers_.contains(id); });
      if (!buffers_[id].failed.empty()) throw std::runtime_error(buffers_[id].failed);
      buffer = buffers_[id].buffer;
    }
    out.bytes.resize(pjrt::bytes_of(buffer->type()));
    buffer->to_host(out.bytes.data(), out.bytes.size());
  }

  void run(Message& m) {
    const auto which = static_cast<std::size_t>(m.number());
    const auto process = static_cast<int>(m.number());
    std::unique_lock lock(mutex_);
    Compiled& one = *compiled_.at(which);
    const std::size_t turn = one.begun[process]++;
    while (one.runs.size() <= turn) {
      one.runs.push_back(std::make_shared<Compiled::Run>());
      one.runs.back()->arguments.resize(one.ids.size()), one.runs.back()->results.resize(one.ids.size());
    }
    const std::shared_ptr<Compiled::Run> r = one.runs[turn];
    r->kept = m.list();
    for (std::size_t p = 0; p < one.ids.size(); ++p)
      if (one.ids[p] / kIdStep == process) r->arguments[p] = m.list(), r->results[p] = m.list(), ++r->come;
    if (r->come == one.ids.size())
      execute(lock, one, *r);
    else
      changed_.wait(lock, [&] { return r->over; });
    one.runs[turn] = nullptr;
    if (!r->failed.empty()) throw std::runtime_error(r->failed);
  }

  void execute(std::unique_lock<std::mutex>& lock, const Compiled& one, Compiled::Run& r) {
    std::vector<std::shared_ptr<const pjrt::Buffer>> held;
    std::vector<std::vector<const pjrt::Buffer*>> arguments;
    for (const auto& list : r.arguments) {
      auto& of_device = arguments.emplace_back();
      for (const std::int64_t id : list) {
        const auto at = buffers_.find(id);
        if (at == buffers_.end() || !at->second.buffer) r.failed = "an argument is no buffer";
        held.push_back(at == buffers_.end() ? nullptr : at->second.buffer);
        of_device.push_back(held.back().get());
      }
    }
    std::vector<std::vector<pjrt::Buffer>> made;
    if (r.failed.empty()) {
      lock.unlock();
      std::string failed;
      try {
        made = one.executable->run(arguments, r.kept);
      } catch (const std::exception& e) { failed = e.what(); }
      lock.lock();
      r.failed = failed;
    }
    for (std::size_t p = 0; p < r.results.size(); ++p)
      for (std::size_t i = 0; i < r.results[p].size(); ++i) {
        Slot& slot = buffers_[r.results[p][i]];
        slot.failed = r.failed;
        if (r.failed.empty()) slot.buffer = std::make_shared<pjrt::Buffer>(std::move(made[p][i]));
      }
    r.over = true;
    changed_.notify_all();
  }

  struct Slot {
    std::shared_ptr<const pjrt::Buffer> buffer;
    std::string failed;  // what should have made it
  };
  std::vector<int> counts_, first_;
  pjrt::ClientRef client_;
  std::mutex compiling_, mutex_;  // the second: over what follows
  std::condition_variable changed_;
  std::map<std::int64_t, Slot> buffers_;
  std::map<std::string, std::shared_ptr<Compiled>> known_;
  std::vector<std::shared_ptr<Compiled>> compiled_;
};

// An answer begins with 0; with 1 where something went wrong, which its bytes say.
void serve(Hub& hub, int socket) {
  for (Message m; m.receive(socket); m = {}) {
    Message out, answer;
    try {
      const auto ask = static_cast<Ask>(m.number());
      answer = hub.answer(ask, m);
      out.add(0);
      out.append(answer);
    } catch (const std::exception& e) {
      out = {};
      out.add(1);
      out.bytes = e.what();
    }
    if (!out.send(socket)) break;
  }
  close(socket);
}

}  // namespace

bool Message::send(int socket) const {
  std::int64_t sizes[2] = {static_cast<std::int64_t>(numbers_.size()), static_cast<std::int64_t>(bytes.size())};
  std::string all(reinterpret_cast<const char*>(sizes), sizeof sizes);
  all.append(reinterpret_cast<const char*>(numbers_.data()), numbers_.size() * sizeof numbers_[0]);
  all += bytes;
  return whole(socket, all.data(), all.size(), true);
}

bool Message::receive(int socket) {
  std::int64_t sizes[2];
  if (!whole(socket, sizes, sizeof sizes, false)) return false;
  numbers_.resize(static_cast<std::size_t>(sizes[0]));
  bytes.resize(static_cast<std::size_t>(sizes[1]));
  next_ = 0;
  return whole(socket, numbers_.data(), numbers_.size() * sizeof numbers_[0], false) &&
         whole(socket, bytes.data(), bytes.size(), false);
}

void open_hub(const std::string& path, const std::string& inner, const std::vector<int>& counts) {
  auto* hub = new Hub(inner, counts);  // until the process ends
  const int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  path.copy(at.sun_path, sizeof at.sun_path - 1);
  unlink(path.c_str());
  if (bind(door, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || listen(door, 64) != 0)
    throw std::runtime_error("no socket at " + path);
  std::thread([hub, door] {
    for (int guest; (guest = accept4(door, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
      std::thread([hub, guest] { serve(*hub, guest); }).detach();
  }).detach();
}

}  // namespace shard::test
