// Between the processes of one machine: bytes go through memory that both see, a ring in each direction. The socket
// between two of them wakes the one that sleeps, and tells that the other has gone.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/channel/channel.h"
#include "runtime/channel/ring.h"
#include "runtime/channel/shared_memory.h"

namespace shard::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kStretch = 64 << 10;  // bytes that go on before the other side can have them
// A ring and what it is filled from stay in the second cache; of many processes each has smaller ones.
constexpr std::size_t kLargest = 128 << 10, kLeast = 64 << 10, kAll = 64 << 20;

std::size_t capacity_of(int count) {
  std::size_t out = kLargest;
  while (out > kLeast && out * static_cast<std::size_t>(count * count) > kAll) out /= 2;
  return out;
}

std::size_t memory_bytes(int count) {
  return static_cast<std::size_t>(count * count) * Ring::bytes(capacity_of(count));
}

// The messages of one exchange in one direction, one after the other.
template <class Byte>
struct Queue {
  std::vector<std::pair<Byte*, std::size_t>> messages;
  std::size_t next = 0;

  void clear() { messages.clear(), next = 0; }
  void add(Byte* data, std::size_t bytes) {
    if (bytes > 0) messages.emplace_back(data, bytes);
  }
  bool done() const { return next == messages.size(); }
  // As much of one as `move(data, bytes)` takes; whether that was anything.
  template <class Move>
  bool go_on(Move move) {
    if (done()) return false;
    auto& [data, left] = messages[next];
    const std::size_t moved = move(data, std::min(left, kStretch));
    data += moved, left -= moved;
    if (left == 0) ++next;
    return moved > 0;
  }
};

class MemoryChannel final : public Channel {
 public:
  MemoryChannel(int index, const std::vector<int>& sockets, SharedMemory memory)
      : index_(index), memory_(std::move(memory)), peers_(sockets.size()) {
    const std::size_t capacity = capacity_of(count());
    const auto ring = [&](int from, int to) {
      return Ring(memory_.data() + static_cast<std::size_t>(from * count() + to) * Ring::bytes(capacity), capacity);
    };
    for (int i = 0; i < count(); ++i) {
      if (i == index) continue;
      peer(i).socket = sockets[static_cast<std::size_t>(i)];
      peer(i).to = ring(index, i), peer(i).from = ring(i, index);
    }
  }
  ~MemoryChannel() override { close(); }
  MemoryChannel(const MemoryChannel&) = delete;

  int index() const override { return index_; }
  int count() const override { return static_cast<int>(peers_.size()); }
  std::size_t holds() const override { return kLeast / 2; }

  std::optional<ChannelError> exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Deadline deadline,
                                       const Waiting& late) override {
    for (Peer& p : peers_) p.out.clear(), p.in.clear();
    for (const Outgoing& m : out) {
      if (!open_to(m.to)) return ended(m.to);
      peer(m.to).out.add(static_cast<const char*>(m.data), m.bytes);
    }
    for (const Incoming& m : in) {
      if (!open_to(m.from)) return ended(m.from);
      peer(m.from).in.add(static_cast<char*>(m.data), m.bytes);
    }
    auto error = move_all(deadline, late);
    // Who only sends learns here that nobody will read it.
    for (std::size_t i = 0; !error && in.empty() && i < out.size(); ++i)
      if (has_gone(out[i].to) && !peer(out[i].to).to.empty()) error = ended(out[i].to);
    if (error) close();
    return error;
  }

  std::optional<int> gone() override {
    for (int i = 0; i < count(); ++i)
      if (open_to(i) && has_gone(i)) return i;
    return std::nullopt;
  }
  bool cut(int i) override {
    shutdown(peer(i).socket, SHUT_RDWR);
    peer(i).cut = true;
    return true;
  }
  void close() override {
    for (Peer& p : peers_)
      if (p.socket >= 0) ::close(std::exchange(p.socket, -1));
  }

 private:
  struct Peer {
    int socket = -1;
    Ring to, from;
    Queue<const char> out;
    Queue<char> in;
    bool gone = false;  // what it had written may still be here
    bool cut = false;   // and that does not count either
    bool done() const { return out.done() && in.done(); }
    bool could_move() const { return (!out.done() && to.room() > 0) || (!in.done() && from.ready() > 0); }
  };

  Peer& peer(int i) { return peers_[static_cast<std::size_t>(i)]; }
  bool open_to(int i) { return i >= 0 && i < count() && peer(i).socket >= 0; }
  static ChannelError ended(int i) { return {ChannelError::Kind::Ended, i, "it has gone"}; }

  std::optional<ChannelError> move_all(Deadline deadline, const Waiting& late) {
    for (std::optional<Deadline> patient;;) {  // until when it looks again, once nothing moves
      bool moved = false, done = true;
      for (int i = 0; i < count(); ++i) {
        Peer& p = peer(i);
        if (p.done()) continue;
        if (p.cut) return ended(i);
        moved |= move(p);
        done &= p.done();
      }
      if (done) return std::nullopt;
      if (moved) {
        patient.reset();
        continue;
      }
      const auto now = Clock::now();
      if (!patient) patient = now + kPolling;
      if (now < *patient) continue;
      if (auto error = sleep(deadline, late)) return error;
    }
  }

  bool move(Peer& p) {
    bool moved = p.out.go_on([&](const char* data, std::size_t n) { return p.to.put(data, n); });
    if (moved && p.to.must_wake(Ring::Side::Reader)) wake(p);
    if (p.in.go_on([&](char* data, std::size_t n) { return p.from.take(data, n); })) {
      moved = true;
      if (p.from.must_wake(Ring::Side::Writer)) wake(p);
    }
    return moved;
  }

  // A byte; where there is no room for it enough of them lie there.
  static void wake(const Peer& p) {
    const char byte = 0;
    [[maybe_unused]] const ssize_t sent = ::send(p.socket, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  // Until one of those who are waited for has done something, or has gone, or does not come.
  std::optional<ChannelError> sleep(Deadline& deadline, const Waiting& late) {
    std::vector<pollfd> sockets;
    std::vector<int> whose;
    bool can = false;
    for (int i = 0; i < count(); ++i) {
      Peer& p = peer(i);
      if (p.done()) continue;
      if (p.gone) return ended(i);  // what it had written has been read by now
      sockets.push_back({p.socket, POLLIN, 0}), whose.push_back(i);
      if (!p.out.done()) p.to.say_asleep(Ring::Side::Writer, true);
      if (!p.in.done()) p.from.say_asleep(Ring::Side::Reader, true);
      can |= p.could_move();
    }
    const auto left = std::chrono::ceil<std::chrono::nanoseconds>(deadline - Clock::now());
    int ready = 1;
    if (!can && left.count() > 0) {
      const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
      ready = ppoll(sockets.data(), sockets.size(), &time, nullptr);
    } else if (!can) {
      ready = 0;
    }
    const int failed = ready < 0 ? errno : 0;
    for (const int i : whose) {
      if (ready > 0) has_gone(i);
      if (!peer(i).out.done()) peer(i).to.say_asleep(Ring::Side::Writer, false);
      if (!peer(i).in.done()) peer(i).from.say_asleep(Ring::Side::Reader, false);
    }
    if (failed != 0 && failed != EINTR)
      return ChannelError{ChannelError::Kind::Broken, whose.front(), std::strerror(failed)};
    if (ready != 0) return std::nullopt;
    const auto more = late ? late(whose.front()) : std::nullopt;
    if (!more) return ChannelError{ChannelError::Kind::Late, whose.front(), "nothing came in time"};
    deadline = *more;
    return std::nullopt;
  }

  // Takes what woke this process.
  bool has_gone(int i) {
    char bytes[64];
    ssize_t n = 0;
    do n = recv(peer(i).socket, bytes, sizeof bytes, MSG_DONTWAIT);
    while (n > 0);
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) peer(i).gone = true;
    return peer(i).gone;
  }

  int index_;
  SharedMemory memory_;
  std::vector<Peer> peers_;
};

}  // namespace

int make_channel_memory(int count) { return SharedMemory::make("shard messages", memory_bytes(count)); }

std::unique_ptr<Channel> memory_channel(int index, const std::vector<int>& sockets, int memory) {
  auto mapped = SharedMemory::of(memory, memory_bytes(static_cast<int>(sockets.size())));
  if (!mapped) return nullptr;
  return std::make_unique<MemoryChannel>(index, sockets, std::move(*mapped));
}

}  // namespace shard::runtime
