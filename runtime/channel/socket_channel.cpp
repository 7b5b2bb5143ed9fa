// Over sockets, one between every two processes: of Unix on one machine, of TCP between several; driven by Boost.Asio
// while an exchange runs.
#include <sys/socket.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "runtime/channel/channel.h"

namespace shard::runtime {
namespace {

namespace asio = boost::asio;

class SocketChannel final : public Channel {
 public:
  SocketChannel(int index, const std::vector<int>& sockets) : index_(index), traffic_(sockets.size()) {
    for (std::size_t peer = 0; peer < sockets.size(); ++peer) {
      sockets_.emplace_back(io_);
      if (static_cast<int>(peer) == index) continue;
      int family = AF_UNIX;
      socklen_t size = sizeof family;
      getsockopt(sockets[peer], SOL_SOCKET, SO_DOMAIN, &family, &size);
      boost::system::error_code failed;
      sockets_.back().assign(asio::generic::stream_protocol(family, 0), sockets[peer], failed);
    }
  }

  int index() const override { return index_; }
  int count() const override { return static_cast<int>(sockets_.size()); }
  std::size_t holds() const override { return 32 << 10; }  // less than any system's buffers

  std::optional<ChannelError> exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Deadline deadline,
                                       const Waiting& late) override {
    for (const Outgoing& m : out)
      if (!open_to(m.to)) return ChannelError{ChannelError::Kind::Ended, m.to, "the channel is closed"};
    for (const Incoming& m : in)
      if (!open_to(m.from)) return ChannelError{ChannelError::Kind::Ended, m.from, "the channel is closed"};
    for (Traffic& t : traffic_) t.out.clear(), t.in.clear(), t.waits = 0;
    for (const Outgoing& m : out) traffic_[static_cast<std::size_t>(m.to)].out.emplace_back(m.data, m.bytes);
    for (const Incoming& m : in) traffic_[static_cast<std::size_t>(m.from)].in.emplace_back(m.data, m.bytes);
    std::size_t left = 0;
    std::optional<ChannelError> error;
    const auto done = [&](int peer) {
      ++left;
      ++traffic_[static_cast<std::size_t>(peer)].waits;
      return [&, peer](const boost::system::error_code& failed, std::size_t) {
        --left;
        if (!failed) {
          --traffic_[static_cast<std::size_t>(peer)].waits;
        } else if (!error) {
          const bool gone = failed == asio::error::eof || failed == asio::error::broken_pipe ||
                            failed == asio::error::connection_reset;
          error = {gone ? ChannelError::Kind::Ended : ChannelError::Kind::Broken, peer, failed.message()};
        }
      };
    };
    for (int peer = 0; peer < count(); ++peer)
      if (const Traffic& t = traffic_[static_cast<std::size_t>(peer)]; !t.out.empty())
        asio::async_write(socket(peer), t.out, done(peer));
    for (int peer = 0; peer < count(); ++peer)
      if (const Traffic& t = traffic_[static_cast<std::size_t>(peer)]; !t.in.empty())
        asio::async_read(socket(peer), t.in, done(peer));
    io_.restart();
    const auto patient = std::chrono::steady_clock::now() + kPolling;
    while (left > 0 && !error && (io_.poll_one() > 0 || std::chrono::steady_clock::now() < patient)) {}
    while (left > 0 && !error)
      if (io_.run_one_until(deadline) == 0) {
        const auto whom = std::find_if(traffic_.begin(), traffic_.end(), [](const Traffic& t) { return t.waits > 0; });
        const int peer = static_cast<int>(whom - traffic_.begin());
        if (const auto more = late ? late(peer) : std::nullopt)
          deadline = *more;
        else
          error = {ChannelError::Kind::Late, peer, "nothing came in time"};
      }
    if (!error) return std::nullopt;
    close();
    while (left > 0 && io_.run_one() > 0) {}  // handlers look at what stands on this stack
    return error;
  }

  std::optional<int> gone() override {
    char byte;
    for (int peer = 0; peer < count(); ++peer)
      if (peer != index_ && open_to(peer) && recv(socket(peer).native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        return peer;
    return std::nullopt;
  }

  bool cut(int peer) override {
    boost::system::error_code ignored;
    socket(peer).shutdown(asio::socket_base::shutdown_both, ignored);
    return true;
  }
  void close() override {
    boost::system::error_code ignored;
    for (auto& s : sockets_) s.close(ignored);
  }

 private:
  asio::generic::stream_protocol::socket& socket(int peer) { return sockets_[static_cast<std::size_t>(peer)]; }
  bool open_to(int peer) { return peer >= 0 && peer < count() && socket(peer).is_open(); }

  struct Traffic {  // of one exchange with one peer
    std::vector<asio::const_buffer> out;
    std::vector<asio::mutable_buffer> in;
    int waits = 0;
  };

  int index_;
  asio::io_context io_{1};
  std::vector<asio::generic::stream_protocol::socket> sockets_;
  std::vector<Traffic> traffic_;
};

}  // namespace

std::unique_ptr<Channel> socket_channel(int index, const std::vector<int>& sockets) {
  return std::make_unique<SocketChannel>(index, sockets);
}

}  // namespace shard::runtime
