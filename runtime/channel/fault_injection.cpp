#include "runtime/channel/fault_injection.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <thread>

#include "runtime/array/shape.h"

namespace shard::runtime {
namespace {

using std::chrono::microseconds;

constexpr const char* kForms =
    "faults are `kill 2 at step 5`, `stop 1 at step 4 for 3s`, `cut 0-1 at step 2`, `corrupt 0-1 at step 2`, "
    "`slow link 1-2 5ms 100MB/s from step 3`";

class Words {
 public:
  Words(const std::string& text, int count) : whole_(text), text_(whole_), count_(count) {}
  [[noreturn]] void refuse(const std::string& why) const {
    throw RuntimeError("call", "the fault '" + whole_ + "' " + why + "; " + kForms);
  }
  std::string_view next() {
    const std::size_t begin = std::min(text_.find_first_not_of(' '), text_.size());
    const std::size_t end = std::min(text_.find(' ', begin), text_.size());
    const std::string_view word = text_.substr(begin, end - begin);
    text_.remove_prefix(end);
    return word;
  }
  bool accept(std::string_view word) {
    const std::string_view before = text_;
    if (next() == word) return true;
    text_ = before;
    return false;
  }
  void expect(std::string_view word) {
    if (!accept(word)) refuse("lacks the word `" + std::string(word) + "`");
  }
  std::int64_t whole(std::string_view text, const char* what) const {
    std::int64_t out = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || out < 0)
      refuse("says '" + std::string(text) + "', which is no " + what);
    return out;
  }
  int process(std::string_view text) const {
    const std::int64_t p = whole(text, "process");
    if (p >= count_) refuse("names process " + std::to_string(p) + " of " + std::to_string(count_));
    return static_cast<int>(p);
  }
  void link(Fault& d) {
    const std::string_view ends = next();
    const std::size_t dash = std::min(ends.find('-'), ends.size());
    d.process = process(ends.substr(0, dash));
    d.other = process(ends.substr(std::min(dash + 1, ends.size())));
    if (d.process == d.other) refuse("names a link of a process with itself");
  }
  void step(Fault& d) {
    expect("step");
    d.step = static_cast<long>(whole(next(), "step"));
    if (d.step < 1) refuse("counts steps from 1");
  }
  // "5ms" in units of `units`: {"us", 1e-6}, ...
  std::optional<double> quantity(std::string_view text,
                                 std::span<const std::pair<std::string_view, double>> units) const {
    double value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(end.ptr, static_cast<std::size_t>(text.data() + text.size() - end.ptr));
    for (const auto& [name, factor] : units)
      if (end.ec == std::errc() && unit == name && value >= 0) return value * factor;
    return std::nullopt;
  }
  double time(std::string_view text) const {
    static constexpr std::pair<std::string_view, double> kUnits[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}};
    const auto out = quantity(text, kUnits);
    if (!out) refuse("says '" + std::string(text) + "', which is no time such as 5ms");
    return *out;
  }
  std::optional<double> rate(std::string_view text) const {
    static constexpr std::pair<std::string_view, double> kUnits[] = {{"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}};
    return quantity(text, kUnits);
  }
  void end() {
    if (const std::string_view more = next(); !more.empty()) refuse("goes on with '" + std::string(more) + "'");
  }

 private:
  std::string whole_;
  std::string_view text_;
  int count_;
};

class FaultyChannel final : public Channel {
 public:
  FaultyChannel(std::unique_ptr<Channel> inner, std::vector<Fault> faults, std::shared_ptr<const long> step)
      : inner_(std::move(inner)), faults_(std::move(faults)), step_(std::move(step)) {}
  int index() const override { return inner_->index(); }
  int count() const override { return inner_->count(); }
  std::size_t holds() const override { return 0; }
  void close() override { inner_->close(); }
  bool cut(int peer) override { return inner_->cut(peer); }

  std::optional<ChannelError> exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Deadline deadline,
                                       const Waiting& late) override {
    std::vector<Outgoing> sent(out.begin(), out.end());
    for (Fault& d : faults_) {
      if (*step_ < d.step || done(d)) continue;
      if (auto error = carry_out(d, sent, deadline)) return error;
    }
    return inner_->exchange(sent, in, deadline, late);
  }

 private:
  bool done(const Fault& d) const { return d.kind != Fault::Kind::Slow && d.step == 0; }

  std::optional<ChannelError> carry_out(Fault& d, std::vector<Outgoing>& sent, Deadline& deadline) {
    const bool first = d.process == index();
    if (!first && d.other != index()) return std::nullopt;
    const int peer = first ? d.other : d.process;
    switch (d.kind) {
      case Fault::Kind::Slow: return slow(d, peer, sent, deadline), std::nullopt;
      case Fault::Kind::Kill: kill(getpid(), SIGKILL); break;
      case Fault::Kind::Stop: stop(d); break;
      case Fault::Kind::Cut: {  // in the middle of a message
        const auto message = std::find_if(sent.begin(), sent.end(), [&](const Outgoing& m) { return m.to == peer; });
        if (message == sent.end()) return std::nullopt;
        d.step = 0;
        const Outgoing half{peer, message->data, message->bytes / 2};
        if (auto error = inner_->exchange({&half, 1}, {}, deadline)) return error;
        inner_->cut(peer);
        return std::nullopt;
      }
      case Fault::Kind::Corrupt:
        if (!first || !corrupt(d, peer, sent)) return std::nullopt;
        break;
    }
    d.step = 0;
    return std::nullopt;
  }

  // Data is what its check sum follows (Processes::set_checked); what is wrong in other messages is told as what it is.
  bool corrupt(const Fault& d, int peer, std::vector<Outgoing>& sent) {
    const auto to_peer = [&](const Outgoing& m) { return m.to == peer; };
    const auto message = std::find_if(sent.begin(), sent.end(), to_peer);
    if (std::count_if(sent.begin(), sent.end(), to_peer) < 2 || message->bytes == 0) return false;
    const auto* bytes = static_cast<const char*>(message->data);
    wrong_.assign(bytes, bytes + message->bytes);
    const std::uint64_t bit = d.seed * 0x9e3779b97f4a7c15 % (8 * wrong_.size());
    wrong_[bit / 8] = static_cast<char>(wrong_[bit / 8] ^ 1 << bit % 8);
    message->data = wrong_.data();
    return true;
  }

  void slow(const Fault& d, int peer, const std::vector<Outgoing>& sent, Deadline& deadline) {
    microseconds time{0};
    for (const Outgoing& m : sent) {
      if (m.to != peer) continue;
      time += d.delay;
      if (d.bytes_per_second > 0)
        time += microseconds(static_cast<std::int64_t>(1e6 * static_cast<double>(m.bytes) / d.bytes_per_second));
    }
    std::this_thread::sleep_for(time);
    deadline += time;
  }

  static void stop(const Fault& d) {
    const pid_t self = getpid();
    if (d.for_how_long && fork() == 0) {  // somebody has to wake it
      usleep(static_cast<useconds_t>(std::chrono::microseconds(*d.for_how_long).count()));
      kill(self, SIGCONT);
      _exit(0);
    }
    kill(self, SIGSTOP);
  }

  std::unique_ptr<Channel> inner_;
  std::vector<Fault> faults_;
  std::shared_ptr<const long> step_;
  std::vector<char> wrong_;
};

}  // namespace

Fault parse_fault(const std::string& text, int count) {
  Words words(text, count);
  Fault d{};
  const std::string_view kind = words.next();
  if (kind == "kill" || kind == "stop") {
    d.kind = kind == "kill" ? Fault::Kind::Kill : Fault::Kind::Stop;
    d.process = words.process(words.next());
  } else if (kind == "cut" || kind == "corrupt") {
    d.kind = kind == "cut" ? Fault::Kind::Cut : Fault::Kind::Corrupt;
    words.link(d);
  } else if (kind == "slow") {
    d.kind = Fault::Kind::Slow;
    words.expect("link");
    words.link(d);
    std::string_view word = words.next();
    if (const auto rate = words.rate(word)) {
      d.bytes_per_second = *rate;
      word = words.next();
    } else if (word != "from") {
      d.delay = microseconds(static_cast<std::int64_t>(1e6 * words.time(word)));
      word = words.next();
      if (const auto behind = words.rate(word)) d.bytes_per_second = *behind, word = words.next();
    }
    if (word != "from") words.refuse("does not say `from step 3`");
    words.step(d);
    words.end();
    return d;
  } else {
    words.refuse(kind.empty() ? "is empty" : "begins with '" + std::string(kind) + "'");
  }
  words.expect("at");
  words.step(d);
  if (d.kind == Fault::Kind::Stop && words.accept("for"))
    d.for_how_long = std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * words.time(words.next())));
  if (d.kind == Fault::Kind::Corrupt && words.accept("seed"))
    d.seed = static_cast<std::uint64_t>(words.whole(words.next(), "seed"));
  words.end();
  return d;
}

std::unique_ptr<Channel> with_faults(std::unique_ptr<Channel> channel, std::vector<Fault> faults,
                                     std::shared_ptr<const long> step) {
  return std::make_unique<FaultyChannel>(std::move(channel), std::move(faults), std::move(step));
}

}  // namespace shard::runtime
