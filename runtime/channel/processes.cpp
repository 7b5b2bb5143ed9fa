#include "runtime/channel/processes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "runtime/array/crc32c.h"
#include "runtime/array/shape.h"

namespace shard::runtime {
namespace {

constexpr std::size_t kAtOnce = 32 << 10;              // less than any socket holds
constexpr std::uint64_t kMagic = 0x31647261'68732001;  // of this version of the protocol

std::string seconds(std::chrono::milliseconds time) {  // "10", "0.5"
  std::string out = std::to_string(time.count() / 1000);
  if (const auto rest = time.count() % 1000; rest > 0) out += "." + std::to_string(rest / 100);
  return out;
}

using Machine = std::array<char, 128>;

Machine this_machine() {  // the system's start, and the network
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  Machine out{};
  if (text.empty()) gethostname(out.data(), out.size() - 1);
  text.copy(out.data(), out.size() / 2);
  [[maybe_unused]] const ssize_t n = readlink("/proc/self/ns/net", out.data() + out.size() / 2, out.size() / 2 - 1);
  return out;
}

std::string at_line(std::uint32_t line) { return line > 0 ? " in line " + std::to_string(line) : ""; }

}  // namespace

std::string Processes::Announced::text() const {
  return "`" + std::string(what, strnlen(what, sizeof what)) + "`" + at_line(line);
}

std::string Processes::here() const { return "`" + std::string(at_.what) + "`" + at_line(at_.line); }

Processes::Processes(std::unique_ptr<Channel> channel, std::chrono::milliseconds limit)
    : channel_(std::move(channel)), limit_(limit), met_(static_cast<std::size_t>(channel_->count()), 0) {}

Processes::Announced Processes::announced(int peer, std::size_t bytes) const {
  static_assert(std::is_trivially_copyable_v<Announced> && sizeof(Announced) == 128);
  Announced a;
  a.magic = kMagic + (checked_ ? 1 : 0);
  a.number = met_[static_cast<std::size_t>(peer)];
  a.bytes = bytes;
  a.line = at_.line;
  at_.what.copy(a.what, sizeof a.what - 1);
  return a;
}

// Who leaves because of another process says so on the board: the others, who see him end, tell of that one.
ChannelError Processes::first_cause(ChannelError error) const {
  for (int turns = 0; board_ && error.kind == ChannelError::Kind::Ended && turns < count(); ++turns) {
    const std::uint32_t blames = (*board_)[error.peer].blames.load(std::memory_order_acquire);
    const int whom = static_cast<int>(blames / 2) - 1;
    if (whom < 0 || whom >= count() || whom == index()) break;
    error.peer = whom;
    if (blames % 2 != 0) error.kind = ChannelError::Kind::Late;
  }
  return error;
}

// The others learn that this process has gone, and what it did last is kept.
void Processes::leave() {
  channel_->close();
  if (record_path_.empty()) return;
  std::ofstream file(record_path_, std::ios::trunc);
  for (std::uint64_t i = begun_ - std::min<std::uint64_t>(begun_, kRecord); i < begun_; ++i) {
    const Announced& m = record_[i % kRecord];
    file << i + 1 << "  " << m.text() << (i + 1 == begun_ ? ", not done\n" : "\n");
  }
}

void Processes::fail(ChannelError error) {
  error = first_cause(std::move(error));
  if (board_ && error.kind != ChannelError::Kind::Broken)
    board_->own().blames.store(
        static_cast<std::uint32_t>(error.peer + 1) * 2 + (error.kind == ChannelError::Kind::Late ? 1 : 0),
        std::memory_order_release);
  leave();
  const std::string who = "process " + std::to_string(error.peer), there = line_of(error.peer);
  switch (error.kind) {
    case ChannelError::Kind::Ended:
      throw RuntimeError("process", who + " has ended" + (there.empty() ? "" : " in " + there) + ", and process " +
                                        std::to_string(index()) + " waits for it at " + here());
    case ChannelError::Kind::Late:
      throw RuntimeError("process", who + " did not come to " + here() + " within " + seconds(limit_) + " s: it " +
                                        whereabouts(error.peer));
    case ChannelError::Kind::Broken: break;
  }
  throw RuntimeError("process", "the link to " + who + " broke at " + here() + ": " + error.why);
}

std::string Processes::line_of(int peer) const {
  const ScriptPlace place = board_ ? (*board_)[peer].place.load(std::memory_order_relaxed) : ScriptPlace();
  const std::uint32_t line = place.source > 0 && script_.line ? script_.line(place) : 0;
  return line > 0 ? "line " + std::to_string(line) : "";
}

std::string Processes::whereabouts(int peer) const {
  const std::string line = line_of(peer);
  if (line.empty()) return "stands, or is busy elsewhere";
  const auto steps = [&] { return (*board_)[peer].steps.load(std::memory_order_relaxed); };
  const std::uint64_t before = steps();
  std::this_thread::sleep_for(std::chrono::milliseconds(100) + 4 * board_->lag);
  return (steps() != before ? "is busy in " : "stands in ") + line;
}

// Who goes on meeting others is slow and not stuck: he is waited for.
std::optional<ChannelError> Processes::exchange(std::span<const Outgoing> out, std::span<const Incoming> in) {
  const auto began = std::chrono::steady_clock::now();
  if (!board_) return channel_->exchange(out, in, began + limit_);
  const auto note = [&] {
    meetings_.clear();
    for (int i = 0; i < count(); ++i) meetings_.push_back((*board_)[i].meetings.load(std::memory_order_relaxed));
  };
  note();
  auto told = began;
  return channel_->exchange(out, in, began + limit_, [&](int peer) -> std::optional<Deadline> {
    const auto now = std::chrono::steady_clock::now();
    if ((*board_)[peer].meetings.load(std::memory_order_relaxed) == meetings_[static_cast<std::size_t>(peer)])
      return std::nullopt;
    if (tell_ && now - told >= std::chrono::minutes(1)) {
      told = now;
      tell_("process " + std::to_string(index()) + " waits at " + here() + " for process " + std::to_string(peer) +
            ", which is in " + line_of(peer));
    }
    note();
    return now + limit_;
  });
}

void Processes::compare(const Announced& mine, const Announced& theirs, int peer) {
  const std::string who = "process " + std::to_string(peer);
  std::string why;
  if (theirs.magic != mine.magic)
    why = who + " speaks another version of the protocol, or is none of Shard's";
  else if (std::memcmp(mine.what, theirs.what, sizeof mine.what) != 0 || mine.line != theirs.line ||
           mine.number != theirs.number)
    why = "the processes do different things: process " + std::to_string(index()) + " is at " + mine.text() + ", " +
          who + " at " + theirs.text();
  else if (mine.bytes != theirs.bytes)
    why = "the processes bring different sizes to " + mine.text() + ": process " + std::to_string(index()) + " " +
          std::to_string(mine.bytes) + " bytes, " + who + " " + std::to_string(theirs.bytes);
  if (why.empty()) return;
  leave();
  throw RuntimeError("process", why);
}

void Processes::begin(const Meeting& meeting, std::span<const int> members, std::size_t bytes,
                      std::span<const Outgoing> out, std::span<const Incoming> in) {
  const ScriptPlace place = script_.place ? script_.place() : ScriptPlace();
  at_ = {meeting.what, meeting.line == 0 && place.source > 0 ? script_.line(place) : meeting.line};
  if (calls_ && std::exchange(new_call_, false)) ++*calls_;
  if (board_) {
    stand_at(place);
    board_->own().meetings.fetch_add(1, std::memory_order_relaxed);
  }
  if (!record_path_.empty()) {
    record_.resize(kRecord);
    record_[begun_++ % kRecord] = announced(index(), bytes);
  }
  const std::size_t count = members.size();
  said_.assign(count, {}), heard_.assign(count, {});
  std::vector<Outgoing> first;
  std::vector<Incoming> theirs;
  for (std::size_t i = 0; i < count; ++i) {
    if (members[i] == index()) continue;
    said_[i] = announced(members[i], bytes);
    first.push_back({members[i], &said_[i], sizeof(Announced)});
    theirs.push_back({members[i], &heard_[i], sizeof(Announced)});
  }
  // Few bytes go at once, before it is known that the others mean the same; nobody reads them who does not.
  std::size_t most = 0;
  for (const Outgoing& m : out) most = std::max(most, m.bytes);
  const bool at_once = !checked_ && most <= channel_->holds();
  if (at_once) first.insert(first.end(), out.begin(), out.end());
  if (const auto error = exchange(first, theirs)) fail(*error);
  for (std::size_t i = 0; i < count; ++i) {
    if (members[i] == index()) continue;
    compare(said_[i], heard_[i], members[i]);
    ++met_[static_cast<std::size_t>(members[i])];
  }
  go_on(at_once ? std::span<const Outgoing>() : out, in);
}

void Processes::go_on(std::span<const Outgoing> out, std::span<const Incoming> in) {
  if (out.empty() && in.empty()) return;
  if (checked_) return move_checked(out, in);
  if (const auto error = exchange(out, in)) fail(*error);
}

void Processes::move_checked(std::span<const Outgoing> out, std::span<const Incoming> in) {
  std::vector<std::uint32_t> sums, theirs(in.size());
  std::vector<Outgoing> sent;
  std::vector<Incoming> got;
  for (const Outgoing& m : out) sums.push_back(crc32c(0, {static_cast<const char*>(m.data), m.bytes}));
  for (std::size_t i = 0; i < out.size(); ++i) {
    sent.push_back(out[i]);
    sent.push_back({out[i].to, &sums[i], sizeof sums[i]});
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    got.push_back(in[i]);
    got.push_back({in[i].from, &theirs[i], sizeof theirs[i]});
  }
  if (const auto error = exchange(sent, got)) fail(*error);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (crc32c(0, {static_cast<const char*>(in[i].data), in[i].bytes}) != theirs[i]) {
      leave();
      throw RuntimeError("process", "what process " + std::to_string(in[i].from) + " sent to process " +
                                        std::to_string(index()) + " at " + here() +
                                        " came with other bits: " + std::to_string(in[i].bytes) +
                                        " bytes do not have the check sum that follows them");
    }
}

void Processes::gather(const Meeting& meeting, std::span<const int> members, const void* mine, std::size_t bytes,
                       void* all) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (std::size_t i = 0; i < members.size() && bytes > 0; ++i) {
    char* to = static_cast<char*>(all) + i * bytes;
    if (members[i] == index()) {
      std::memcpy(to, mine, bytes);
      continue;
    }
    out.push_back({members[i], mine, bytes});
    in.push_back({members[i], to, bytes});
  }
  begin(meeting, members, bytes, out, in);
}

void Processes::hand_round(std::string& text) {
  constexpr std::uint64_t kLargest = 1 << 30;
  at_ = {"what is read", 0};
  std::uint64_t bytes = text.size();
  const auto far = std::chrono::steady_clock::now() + std::chrono::hours(24 * 365);
  const auto move = [&](void* data, std::size_t size) {
    std::optional<ChannelError> error;
    if (index() > 0) error = channel_->receive({0, data, size}, far);
    for (int i = 1; index() == 0 && i < count() && !error; ++i)
      error = channel_->send({i, data, size}, std::chrono::steady_clock::now() + limit_);
    if (error) fail(*error);
  };
  move(&bytes, sizeof bytes);
  if (bytes > kLargest) fail({ChannelError::Kind::Broken, 0, "it says more than 1 GiB"});
  text.resize(bytes);
  move(text.data(), text.size());
}

void Processes::meet(const Meeting& meeting) { begin(meeting, everybody(), 0, {}, {}); }

void Processes::beat() {
  if (!board_ || beating_.joinable()) return;
  beating_ = std::jthread([board = board_.get()](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any ended;
    for (std::unique_lock lock(mutex); !stop.stop_requested();) {
      board->own().beats.fetch_add(1, std::memory_order_relaxed);
      ended.wait_for(lock, stop, std::chrono::milliseconds(100), [] { return false; });
    }
  });
}

void Processes::look() {
  if (const auto peer = channel_->gone()) fail({ChannelError::Kind::Ended, *peer, ""});
  if (!board_) return;
  const auto now = std::chrono::steady_clock::now();
  beats_.resize(met_.size());
  for (int peer = 0; peer < count(); ++peer) {
    const std::uint32_t count = (*board_)[peer].beats.load(std::memory_order_relaxed);
    Beats& last = beats_[static_cast<std::size_t>(peer)];
    // Who looks again after a while may have been frozen itself.
    if (count != last.count || now - looked_ > limit_ / 2) last = {count, now};
    if (peer != index() && now - last.seen > limit_) fail({ChannelError::Kind::Late, peer, ""});
  }
  looked_ = now;
}

Processes::Neighbours Processes::neighbours() {
  const Machine mine = this_machine();
  std::vector<Machine> all(static_cast<std::size_t>(count()));
  gather({"which machine it is on"}, everybody(), mine.data(), mine.size(), all.data());
  const auto here = all.begin() + index();
  return {static_cast<int>(std::count(all.begin(), here, mine)),
          static_cast<int>(std::count(all.begin(), all.end(), mine))};
}

std::vector<int> Processes::everybody() const {
  std::vector<int> out(met_.size());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace shard::runtime
