#include "runtime/channel/tcp/rendezvous.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/array/shape.h"
#include "runtime/channel/tcp/line.h"

namespace shard::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kJoinMagic = 0x31707463'68732001;  // of this version of the protocol
constexpr auto kProving = std::chrono::seconds(5);         // how long a stranger may take
constexpr auto kReport = std::chrono::seconds(10);

struct Hello {
  std::uint64_t magic = kJoinMagic;
  std::int32_t rank = 0, size = 0;
  std::int32_t port = 0;  // where this process waits for the others; 0 between two of them
  std::int32_t unused = 0;
};
static_assert(sizeof(Hello) == 24);

struct Address {
  char host[60] = {};  // in digits; ends in 0
  std::int32_t port = 0;
};
static_assert(sizeof(Address) == 64);

std::string process(int rank) { return "process " + std::to_string(rank); }

// Who connects, if he belongs to the job.
std::optional<Hello> admitted(Line& line, const std::string& token, int size, Deadline deadline) {
  Hello hello;
  if (!line.prove(token, Side::Answers, deadline) || !line.read(&hello, sizeof hello, deadline)) return std::nullopt;
  if (hello.magic != kJoinMagic || hello.size != size || hello.rank < 0 || hello.rank >= size) return std::nullopt;
  return hello;
}

}  // namespace

Coordinator::Coordinator(const std::string& address, Ports ports, int count, std::string token)
    : listener_(std::make_unique<Listener>(address, ports.first, ports.last)),
      count_(count),
      token_(std::move(token)) {}

Coordinator::~Coordinator() = default;

int Coordinator::port() const { return listener_->port(); }

std::vector<int> Coordinator::bring_together(Deadline deadline, const Watch& watch) {
  std::mutex mutex;  // over what follows
  std::vector<std::optional<Line>> lines(static_cast<std::size_t>(count_));
  std::vector<Address> list(static_cast<std::size_t>(count_));
  const auto missing = [&] {
    const std::scoped_lock lock(mutex);
    std::vector<int> out;
    for (int i = 0; i < count_; ++i)
      if (!lines[static_cast<std::size_t>(i)]) out.push_back(i);
    return out;
  };
  // Each in a thread of its own: one that says nothing keeps nobody waiting.
  std::vector<std::thread> admitting;
  const auto admit = [&](Line line) {
    const std::string from = line.there();
    const auto hello = admitted(line, token_, count_, Clock::now() + kProving);
    const std::scoped_lock lock(mutex);
    if (!hello || lines[static_cast<std::size_t>(hello->rank)]) {
      if (line.heard()) watch.stranger(from);  // who only looks whether the port is open is not worth a word
      return;
    }
    Address& a = list[static_cast<std::size_t>(hello->rank)];
    from.copy(a.host, sizeof a.host - 1);
    a.port = hello->port;
    lines[static_cast<std::size_t>(hello->rank)].emplace(std::move(line));
  };
  auto report = Clock::now() + kReport;
  std::vector<int> left = missing();
  while (!left.empty() && Clock::now() < deadline && !watch.stop()) {
    if (auto line = listener_->accept(Clock::now() + std::chrono::milliseconds(20)))
      admitting.emplace_back(admit, std::move(*line));
    left = missing();
    if (left.empty() || Clock::now() < report) continue;
    watch.waiting(left);
    report += kReport;
  }
  for (std::thread& t : admitting) t.join();
  left = missing();
  if (watch.stop()) return {};
  if (!left.empty()) {
    std::string who;
    for (const int i : left) who += (who.empty() ? process(i) : ", " + std::to_string(i));
    throw RuntimeError("process", who + " did not come to the start");
  }
  for (int i = 0; i < count_; ++i)
    if (!lines[static_cast<std::size_t>(i)]->write(list.data(), list.size() * sizeof(Address), deadline))
      throw RuntimeError("process", process(i) + " has gone before the start");
  std::vector<int> out;
  for (auto& line : lines) out.push_back(line->release());
  return out;
}

Sockets sockets_by_tcp(const Joining& job) {
  std::string why;
  auto coordinator = Line::to(job.host, job.port, job.deadline, why);
  if (!coordinator)
    throw RuntimeError("process", process(job.rank) + " does not reach the launcher at " + job.host + ":" +
                                      std::to_string(job.port) + ": " + why);
  Listener listener(coordinator->here(), job.ports.first, job.ports.last);  // by the way that leads to the launcher
  Hello hello{.rank = job.rank, .size = job.size, .port = listener.port()};
  std::vector<Address> list(static_cast<std::size_t>(job.size));
  if (!coordinator->prove(job.token, Side::Asks, job.deadline) ||
      !coordinator->write(&hello, sizeof hello, job.deadline))
    throw RuntimeError("process", "the launcher does not know " + process(job.rank) + ": it has another token");
  if (!coordinator->read(list.data(), list.size() * sizeof(Address), job.deadline))
    throw RuntimeError("process", "the launcher has gone before all processes were there");
  hello.port = 0;
  std::vector<int> out(static_cast<std::size_t>(job.size), -1);
  for (int peer = 0; peer < job.rank; ++peer) {
    Address& a = list[static_cast<std::size_t>(peer)];
    a.host[sizeof a.host - 1] = 0;
    auto line = Line::to(a.host, a.port, job.deadline, why);
    if (!line || !line->prove(job.token, Side::Asks, job.deadline) || !line->write(&hello, sizeof hello, job.deadline))
      throw RuntimeError("process", process(peer) + " listens at " + a.host + ":" + std::to_string(a.port) + ", and " +
                                        process(job.rank) +
                                        " does not reach it there: " + (line ? "the connection ended" : why));
    out[static_cast<std::size_t>(peer)] = line->release();
  }
  for (int left = job.size - 1 - job.rank; left > 0;) {
    auto line = listener.accept(job.deadline);
    if (!line) throw RuntimeError("process", process(job.rank) + " is not reached by all others");
    const auto who = admitted(*line, job.token, job.size, Clock::now() + kProving);
    if (!who || who->rank <= job.rank || out[static_cast<std::size_t>(who->rank)] >= 0) continue;  // a stranger
    out[static_cast<std::size_t>(who->rank)] = line->release();
    --left;
  }
  return {std::move(out), coordinator->release()};
}

}  // namespace shard::runtime
