// What the processes of a job do together, over any channel. Before data moves, each side says what it is about to do;
// where two of them mean different things, or one does not come, that is an error of code "process" on both, which
// names the processes and the lines where they stand.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/channel/channel.h"
#include "runtime/channel/progress_board.h"

namespace shard::runtime {

// What this process is about to do: "psum f32[4]". `line`: of the script, 0 where it is not known here.
struct Meeting {
  std::string_view what;
  std::uint32_t line = 0;
};

class Processes {
 public:
  // `limit`: how long one that does not come is waited for.
  Processes(std::unique_ptr<Channel> channel, std::chrono::milliseconds limit);
  int index() const { return channel_->index(); }
  int count() const { return channel_->count(); }
  // Where the script stands, and the line of such a place, 0 where it is not known: all run the same script, so it is
  // asked of the others' places too.
  struct Script {
    std::function<ScriptPlace()> place;
    std::function<std::uint32_t(ScriptPlace)> line;
  };
  void set_script(Script script) { script_ = std::move(script); }
  void set_board(std::unique_ptr<ProgressBoard> board) { board_ = std::move(board); }
  // A check sum goes behind all data. Every process has it, or none.
  void set_checked() { checked_ = true; }
  // A file that gets the last 64 meetings of this process where one of them fails.
  void set_record(std::string path) { record_path_ = std::move(path); }
  // Counts the compiled calls that communicate, from 1: `call_begins` before each, `*count` while it runs.
  void count_calls(std::shared_ptr<long> count) { calls_ = std::move(count); }
  void call_begins() { new_call_ = true; }
  // Told, once a minute, of one that is waited for beyond the limit because it goes on meeting others.
  void set_patience(std::function<void(const std::string& what)> tell) { tell_ = std::move(tell); }
  void stand_at(ScriptPlace place) {  // before each statement
    if (!board_) return;
    board_->own().place.store(place, std::memory_order_relaxed);
    board_->own().steps.fetch_add(1, std::memory_order_relaxed);
  }

  // All of these throw RuntimeError("process"). Members come to their meetings in the same order; `members` has this
  // process among them.
  // Each of `members` brings `bytes`; `all` gets everybody's, in their order.
  void gather(const Meeting& meeting, std::span<const int> members, const void* mine, std::size_t bytes, void* all);
  // While this process waits for what others take part in, but not over the channel: throws where one of them has gone,
  // or does not beat for as long as one that does not come is waited for.
  void beat();  // from now on
  void look();
  void meet(const Meeting& meeting);  // returns once all processes are there
  // What process 0 has to say, whenever it comes: the others wait without a limit. `text` is its own, or becomes it.
  void hand_round(std::string& text);
  // Those of this machine, this one among them; where each has a network of its own, they are on several.
  struct Neighbours {
    int index = 0, count = 1;
  };
  Neighbours neighbours();
  // In several steps: all say what they do and how many bytes it is about, and the first messages are under way; then
  // any number of further ones. Sizes and order follow from `bytes` alone, so that nobody need say them.
  void begin(const Meeting& meeting, std::span<const int> members, std::size_t bytes, std::span<const Outgoing> out,
             std::span<const Incoming> in);
  void go_on(std::span<const Outgoing> out, std::span<const Incoming> in);

 private:
  struct Announced {  // the message before the data
    std::uint64_t magic = 0;
    std::uint64_t number = 0;  // how often these two have met before
    std::uint64_t bytes = 0;
    std::uint32_t line = 0;
    char what[100] = {};  // ends in 0
    std::string text() const;
  };
  std::vector<int> everybody() const;
  Announced announced(int peer, std::size_t bytes) const;
  void compare(const Announced& mine, const Announced& theirs, int peer);
  [[noreturn]] void fail(ChannelError error);
  ChannelError first_cause(ChannelError error) const;
  void leave();
  void move_checked(std::span<const Outgoing> out, std::span<const Incoming> in);
  std::optional<ChannelError> exchange(std::span<const Outgoing> out, std::span<const Incoming> in);
  std::string here() const;                 // the meeting that this process is at
  std::string whereabouts(int peer) const;  // of one that did not come
  std::string line_of(int peer) const;      // "line 5", of the board; empty where it is not known

  std::unique_ptr<Channel> channel_;
  std::chrono::milliseconds limit_;
  Script script_;
  std::unique_ptr<ProgressBoard> board_;
  std::function<void(const std::string& what)> tell_;
  std::vector<std::uint64_t> met_;  // how often, by process
  Meeting at_;                      // which one is under way
  static constexpr std::size_t kRecord = 64;
  std::vector<Announced> record_;  // the last ones, each in the place of the one 64 before
  std::uint64_t begun_ = 0;        // how many there were
  std::string record_path_;
  std::shared_ptr<long> calls_;
  struct Beats {
    std::uint32_t count = 0;
    std::chrono::steady_clock::time_point seen;
  };
  std::vector<Beats> beats_;  // of all, as they were last looked at
  std::chrono::steady_clock::time_point looked_;
  bool checked_ = false, new_call_ = false;
  std::vector<Announced> said_, heard_;
  std::vector<std::uint64_t> meetings_;  // of all, as the board had them when this one began to wait
  std::jthread beating_;                 // ends before what it writes to
};

}  // namespace shard::runtime
