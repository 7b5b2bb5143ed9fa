#include "runtime/channel/tcp/progress_reports.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

namespace shard::runtime {
namespace {

struct Said {
  std::int32_t rank = 0;
  std::uint32_t blames = 0, beats = 0, unused = 0;
  std::uint64_t meetings = 0, steps = 0;
  ScriptPlace place;
  bool operator==(const Said& o) const {
    return meetings == o.meetings && steps == o.steps && blames == o.blames && beats == o.beats &&
           place.source == o.place.source && place.offset == o.place.offset;
  }
};
static_assert(sizeof(Said) == 40);

constexpr std::size_t kHeld = 1 << 16;  // bytes that one who does not read keeps waiting; what comes then is left out

// A connection that neither side waits for.
class Link {
 public:
  Link(int fd, int process) : fd_(fd), process_(process) {}
  int fd() const { return fd_; }
  int process() const { return process_; }  // on the other side; of no meaning where that is the launcher
  void end() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void say(const Said& said) {
    if (out_.size() < kHeld) out_.append(reinterpret_cast<const char*>(&said), sizeof said);
    while (!out_.empty()) {
      const ssize_t n = send(fd_, out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n <= 0) return;
      out_.erase(0, static_cast<std::size_t>(n));
    }
  }
  // All that has come; false: the other side has gone.
  template <class F>
  bool hear(F each) {
    std::array<char, 4096> buffer;
    const ssize_t n = recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) return false;
    in_.append(buffer.data(), static_cast<std::size_t>(n));
    for (; in_.size() >= sizeof(Said); in_.erase(0, sizeof(Said))) {
      Said said;
      std::memcpy(static_cast<void*>(&said), in_.data(), sizeof said);
      each(said);
    }
    return true;
  }

 private:
  int fd_, process_;
  std::string in_, out_;
};

}  // namespace

std::chrono::milliseconds report_period(int count) { return std::chrono::milliseconds(std::max(30, 5 * count)); }

void report_progress(int fd, std::unique_ptr<ProgressBoard> rows, int count, int index) {
  std::thread([fd, count, index, board = std::move(rows)] {
    Link link(fd, -1);
    std::optional<Said> last;
    for (bool there = true; there;) {
      const ProgressBoard::Row& own = (*board)[index];
      const Said now{index,           own.blames.load(), own.beats.load(), 0, own.meetings.load(), own.steps.load(),
                     own.place.load()};
      if (last != now) link.say(*(last = now));
      std::this_thread::sleep_for(report_period(count));
      there = link.hear([&](const Said& said) {
        if (said.rank < 0 || said.rank >= count || said.rank == index) return;
        ProgressBoard::Row& row = board->row(said.rank);
        row.place.store(said.place), row.steps.store(said.steps), row.blames.store(said.blames),
            row.beats.store(said.beats);
        row.meetings.store(said.meetings);
      });
    }
    link.end();
  }).detach();
}

std::vector<int> hand_boards_round(std::vector<int> fds, const std::function<bool()>& stop) {
  std::vector<Link> links;
  for (std::size_t i = 0; i < fds.size(); ++i) links.emplace_back(fds[i], static_cast<int>(i));
  while (!links.empty() && !stop()) {
    std::vector<pollfd> waited;
    for (const Link& link : links) waited.push_back({link.fd(), POLLIN, 0});
    poll(waited.data(), waited.size(), 100);
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (waited[i].revents == 0) continue;
      const bool there = links[i].hear([&](const Said& said) {
        for (Link& other : links)
          if (other.fd() >= 0 && &other != &links[i]) other.say(said);
      });
      if (!there) links[i].end();
    }
    std::erase_if(links, [](const Link& link) { return link.fd() < 0; });
  }
  std::vector<int> left;
  for (Link& link : links) left.push_back(link.process()), link.end();
  return left;
}

}  // namespace shard::runtime
