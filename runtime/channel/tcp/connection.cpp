#include "runtime/channel/tcp/connection.h"

#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "runtime/array/shape.h"

namespace shard::runtime {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Failed = boost::system::error_code;

// Runs one step until it ends or the deadline comes. `begin` takes what is to be called at its end.
template <class Begin, class Cancel>
Failed within(asio::io_context& io, Deadline deadline, Begin begin, Cancel cancel) {
  Failed out = asio::error::timed_out;
  bool ended = false;
  begin([&](const Failed& failed) { out = failed, ended = true; });
  io.restart();
  io.run_until(deadline);
  if (ended) return out;
  cancel();
  io.restart();
  io.run();  // the step ends with an error, which looks at this stack
  return asio::error::timed_out;
}

}  // namespace

struct Connection::Socket {
  asio::io_context io{1};
  tcp::socket socket{io};
};

Connection::Connection(std::unique_ptr<Socket> socket) : socket_(std::move(socket)) {
  Failed ignored;
  socket_->socket.set_option(tcp::no_delay(true), ignored);
}
Connection::Connection(Connection&&) noexcept = default;
Connection::~Connection() = default;

Connection Connection::of(int fd) {
  auto out = std::make_unique<Socket>();
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size);
  out->socket.assign(own.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), fd);
  return Connection(std::move(out));
}

std::optional<Connection> Connection::to(const std::string& host, int port, Deadline deadline, std::string& why) {
  auto out = std::make_unique<Socket>();
  Failed failed;
  tcp::resolver resolver(out->io);
  const auto ends = resolver.resolve(host, std::to_string(port), failed);
  if (!failed)
    failed = within(
        out->io, deadline,
        [&](auto end) { asio::async_connect(out->socket, ends, [end](const Failed& f, const auto&) { end(f); }); },
        [&] { out->socket.close(); });
  if (!failed) return Connection(std::move(out));
  why = failed.message();
  return std::nullopt;
}

bool Connection::read(void* data, std::size_t bytes, Deadline deadline) {
  return !within(
      socket_->io, deadline,
      [&](auto end) {
        asio::async_read(socket_->socket, asio::buffer(data, bytes), [end](const Failed& f, std::size_t) { end(f); });
      },
      [&] { socket_->socket.close(); });
}

bool Connection::write(const void* data, std::size_t bytes, Deadline deadline) {
  return !within(
      socket_->io, deadline,
      [&](auto end) {
        asio::async_write(socket_->socket, asio::buffer(data, bytes), [end](const Failed& f, std::size_t) { end(f); });
      },
      [&] { socket_->socket.close(); });
}

bool Connection::prove(const std::string& token, Deadline deadline) {
  const Nonce mine = new_nonce();
  Nonce theirs;
  if (!write(mine.data(), mine.size(), deadline) || !read(theirs.data(), theirs.size(), deadline)) return false;
  const Handshake said = handshake_of(token, Side::Asks, mine, theirs);
  Handshake heard;
  return write(said.data(), said.size(), deadline) && read(heard.data(), heard.size(), deadline) &&
         same_handshake(heard, handshake_of(token, Side::Answers, mine, theirs));
}

std::string Connection::here() const {
  Failed ignored;
  return socket_->socket.local_endpoint(ignored).address().to_string();
}

std::string Connection::there() const {
  Failed ignored;
  return socket_->socket.remote_endpoint(ignored).address().to_string();
}

int Connection::release() { return socket_->socket.release(); }

}  // namespace shard::runtime
