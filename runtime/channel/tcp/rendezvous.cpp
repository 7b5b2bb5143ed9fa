#include "runtime/channel/tcp/rendezvous.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>

#include "runtime/array/shape.h"

namespace shard::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kReport = std::chrono::seconds(10);
constexpr int kTries = 5;  // where many stand at a door one may be sent away
constexpr auto kNextTry = std::chrono::milliseconds(100);

struct Address {
  char host[60] = {};  // in digits; ends in 0
  std::int32_t port = 0;
};
static_assert(sizeof(Address) == 64);

std::string process(int rank) { return "process " + std::to_string(rank); }

// Connects to a door and proves to belong there. Null: why, or empty where the connection was made and ended.
std::optional<Connection> let_in(const std::string& host, int port, const Joining& job, std::string& why) {
  for (int i = 1;; ++i) {
    auto connection = Connection::to(host, port, job.deadline, why);
    if (!connection || connection->prove(job.token, job.deadline)) return connection;
    why.clear();
    if (i == kTries || Clock::now() + kNextTry > job.deadline) return std::nullopt;
    std::this_thread::sleep_for(kNextTry);
  }
}

}  // namespace

Coordinator::Coordinator(const std::string& address, Ports ports, int count, std::string token)
    : door_(address, ports, count, std::move(token)), count_(count) {}

std::vector<int> Coordinator::bring_together(Deadline deadline, const Watch& watch) {
  std::vector<std::optional<Connection>> connections(static_cast<std::size_t>(count_));
  std::vector<Address> list(static_cast<std::size_t>(count_));
  const auto missing = [&] {
    std::vector<int> out;
    for (int i = 0; i < count_; ++i)
      if (!connections[static_cast<std::size_t>(i)]) out.push_back(i);
    return out;
  };
  door_.open();
  auto report = Clock::now() + kReport;
  std::vector<int> left = missing();
  while (!left.empty() && Clock::now() < deadline && !watch.stop()) {
    auto guest = door_.next(std::min(deadline, Clock::now() + std::chrono::milliseconds(20)));
    for (const std::string& from : door_.strangers()) watch.stranger(from);
    if (guest && !connections[static_cast<std::size_t>(guest->hello.rank)]) {
      Address& a = list[static_cast<std::size_t>(guest->hello.rank)];
      guest->connection.there().copy(a.host, sizeof a.host - 1);
      a.port = guest->hello.port;
      connections[static_cast<std::size_t>(guest->hello.rank)].emplace(std::move(guest->connection));
      watch.came(guest->hello.rank);
    }
    left = missing();
    if (left.empty() || Clock::now() < report) continue;
    watch.waiting(left);
    report += kReport;
  }
  left = missing();
  if (watch.stop()) return {};
  if (!left.empty()) {
    std::string who;
    for (const int i : left) who += (who.empty() ? process(i) : ", " + std::to_string(i));
    throw RuntimeError("process", who + " did not come to the start");
  }
  for (int i = 0; i < count_; ++i)
    if (!connections[static_cast<std::size_t>(i)]->write(list.data(), list.size() * sizeof(Address), deadline))
      throw RuntimeError("process", process(i) + " has gone before the start");
  std::vector<int> out;
  for (auto& connection : connections) out.push_back(connection->release());
  return out;
}

Sockets sockets_by_tcp(const Joining& job) {
  std::string why;
  auto coordinator = let_in(job.host, job.port, job, why);
  if (!coordinator && why.empty())
    throw RuntimeError("process", "the launcher does not know " + process(job.rank) + ": it has another token");
  if (!coordinator)
    throw RuntimeError("process", process(job.rank) + " does not reach the launcher at " + job.host + ":" +
                                      std::to_string(job.port) + ": " + why);
  Door door(coordinator->here(), job.ports, job.size, job.token);  // by the way that leads to the launcher
  door.open();
  Hello hello{.rank = job.rank, .size = job.size, .port = door.port()};
  std::vector<Address> list(static_cast<std::size_t>(job.size));
  if (!coordinator->write(&hello, sizeof hello, job.deadline) ||
      !coordinator->read(list.data(), list.size() * sizeof(Address), job.deadline))
    throw RuntimeError("process", "the launcher has gone before all processes were there");
  hello.port = 0;
  std::vector<int> out(static_cast<std::size_t>(job.size), -1);
  for (int peer = 0; peer < job.rank; ++peer) {
    Address& a = list[static_cast<std::size_t>(peer)];
    a.host[sizeof a.host - 1] = 0;
    auto connection = let_in(a.host, a.port, job, why);
    if (!connection || !connection->write(&hello, sizeof hello, job.deadline))
      throw RuntimeError("process", process(peer) + " listens at " + a.host + ":" + std::to_string(a.port) + ", and " +
                                        process(job.rank) +
                                        " does not reach it there: " + (why.empty() ? "the connection ended" : why));
    out[static_cast<std::size_t>(peer)] = connection->release();
  }
  for (int left = job.size - 1 - job.rank; left > 0;) {
    auto guest = door.next(job.deadline);
    if (!guest) throw RuntimeError("process", process(job.rank) + " is not reached by all others");
    int& link = out[static_cast<std::size_t>(guest->hello.rank)];
    if (guest->hello.rank <= job.rank || link >= 0) continue;  // who would come twice
    link = guest->connection.release();
    --left;
  }
  return {std::move(out), coordinator->release()};
}

}  // namespace shard::runtime
