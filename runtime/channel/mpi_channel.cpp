// The transport of a job of MPI, through the module that was built for it. Who leaves says so to everybody, since MPI
// itself tells nobody; messages move while somebody asks for them, so a wait asks all the time and lets others run.
#include <dlfcn.h>

#include <thread>

#include "runtime/channel/channel.h"
#include "runtime/channel/mpi_module.h"

namespace shard::runtime {
namespace {

using Clock = std::chrono::steady_clock;
enum Tag { kData = 1, kGoodbye = 2 };
constexpr auto kUnderWay = std::chrono::milliseconds(200);  // what was sent before a goodbye may come after it
constexpr auto kLastWords = std::chrono::seconds(2);        // for the others to find out what went wrong

// Who comes soon is met without a sleep. Then sleeps, never sched_yield: beside other work that gives a whole slice
// away, a thousand times what the message takes.
void rest(int turn) {
  constexpr int kSoon = 300, kLate = 20'000;
  if (turn >= kSoon) std::this_thread::sleep_for(std::chrono::microseconds(turn < kLate ? 10 : 500));
}

class MpiChannel final : public Channel {
 public:
  MpiChannel(const MpiModule& mpi, int index, int count)
      : mpi_(mpi), index_(index), gone_(static_cast<std::size_t>(count), 0) {}

  // A job ends together: MPI wants all to leave at once, or to be ended by its launcher.
  ~MpiChannel() override {
    const bool failed = closed_;
    close();
    const auto patience = Clock::now() + kLastWords;
    for (int turn = 0; !all_gone(); rest(turn++))
      if (failed && Clock::now() > patience) return;
    mpi_.leave();
  }

  int index() const override { return index_; }
  int count() const override { return static_cast<int>(gone_.size()); }

  std::optional<ChannelError> exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Deadline deadline,
                                       const Waiting& late) override {
    std::vector<Transfer> left;
    std::optional<ChannelError> error;
    const auto begin = [&](int peer, void* request) {
      if (request)
        left.push_back({peer, request});
      else if (!error)
        error = {ChannelError::Kind::Broken, peer, "MPI cannot begin a message"};
    };
    for (const Incoming& m : in)
      if (fits(m.from, error)) begin(m.from, mpi_.receive(m.from, kData, m.data, m.bytes));
    for (const Outgoing& m : out)
      if (fits(m.to, error)) begin(m.to, mpi_.send(m.to, kData, m.data, m.bytes));
    std::optional<Clock::time_point> grace;
    for (int turn = 0; !left.empty() && !error; rest(turn++)) {
      std::erase_if(left, [&](const Transfer& t) {
        const int state = mpi_.ended(t.request);
        if (state < 0 && !error) error = {ChannelError::Kind::Broken, t.peer, "MPI reports an error"};
        return state > 0;
      });
      if (left.empty() || error) break;
      hear_goodbyes();
      const auto now = Clock::now();
      for (const Transfer& t : left)
        if (is_gone(t.peer)) {
          if (!grace) grace = now + kUnderWay;
          if (now > *grace) error = {ChannelError::Kind::Ended, t.peer, "it said goodbye"};
        }
      if (now <= deadline || error) continue;
      if (const auto more = late ? late(left.front().peer) : std::nullopt)
        deadline = *more;
      else
        error = {ChannelError::Kind::Late, left.front().peer, "nothing came in time"};
    }
    if (!error) return std::nullopt;
    for (const Transfer& t : left) mpi_.give_up(t.request);
    close();
    return error;
  }

  void close() override {
    if (closed_) return;
    closed_ = true;
    for (int peer = 0; peer < count(); ++peer)
      if (peer != index_)
        if (void* request = mpi_.send(peer, kGoodbye, &kWord, 1)) mpi_.ended(request);  // so small: it goes at once
  }

 private:
  struct Transfer {
    int peer;
    void* request;
  };
  static constexpr char kWord = 'x';

  bool is_gone(int peer) const { return gone_[static_cast<std::size_t>(peer)] != 0; }
  bool all_gone() {
    hear_goodbyes();
    for (int peer = 0; peer < count(); ++peer)
      if (peer != index_ && !is_gone(peer)) return false;
    return true;
  }
  bool fits(int peer, std::optional<ChannelError>& error) const {
    if (!closed_ && peer >= 0 && peer < count() && !error) return true;
    if (!error) error = {ChannelError::Kind::Ended, peer, "the channel is closed"};
    return false;
  }
  void hear_goodbyes() {
    for (int from = 0; mpi_.waiting(kGoodbye, &from) != 0;) {
      char word = 0;
      if (void* request = mpi_.receive(from, kGoodbye, &word, 1))
        while (mpi_.ended(request) == 0) {}
      gone_[static_cast<std::size_t>(from)] = 1;
    }
  }

  const MpiModule& mpi_;
  int index_;
  std::vector<char> gone_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<Channel> mpi_channel(const std::vector<std::string>& places, std::string& why) {
  void* library = nullptr;
  for (const std::string& place : places) {
    library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);  // parts of MPI that it loads itself look into it
    if (library) break;
    if (why.empty()) why = dlerror();
  }
  if (!library) return nullptr;
  const auto entry = reinterpret_cast<const MpiModule* (*)()>(dlsym(library, kMpiEntry));
  const MpiModule* mpi = entry ? entry() : nullptr;
  if (!mpi || mpi->version != kMpiModule) {
    why = "the module for MPI is of another version of Shard";
    return nullptr;
  }
  int rank = 0, size = 0;
  if (const char* failed = mpi->join(&rank, &size)) {
    why = failed;
    return nullptr;
  }
  why.clear();
  return std::make_unique<MpiChannel>(*mpi, rank, size);
}

}  // namespace shard::runtime
