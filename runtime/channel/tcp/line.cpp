#include "runtime/channel/tcp/line.h"

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

struct Line::Socket {
  asio::io_context io{1};
  tcp::socket socket{io};
};

Line::Line(std::unique_ptr<Socket> socket) : socket_(std::move(socket)) {
  Failed ignored;
  socket_->socket.set_option(tcp::no_delay(true), ignored);
}
Line::Line(Line&&) noexcept = default;
Line::~Line() = default;

std::optional<Line> Line::to(const std::string& host, int port, Deadline deadline, std::string& why) {
  auto out = std::make_unique<Socket>();
  Failed failed;
  tcp::resolver resolver(out->io);
  const auto ends = resolver.resolve(host, std::to_string(port), failed);
  if (!failed)
    failed = within(
        out->io, deadline,
        [&](auto end) { asio::async_connect(out->socket, ends, [end](const Failed& f, const auto&) { end(f); }); },
        [&] { out->socket.close(); });
  if (!failed) return Line(std::move(out));
  why = failed.message();
  return std::nullopt;
}

bool Line::read(void* data, std::size_t bytes, Deadline deadline) {
  const Failed failed = within(
      socket_->io, deadline,
      [&](auto end) {
        asio::async_read(socket_->socket, asio::buffer(data, bytes), [end](const Failed& f, std::size_t) { end(f); });
      },
      [&] { socket_->socket.close(); });
  heard_ = heard_ || !failed;
  return !failed;
}

bool Line::write(const void* data, std::size_t bytes, Deadline deadline) {
  return !within(
      socket_->io, deadline,
      [&](auto end) {
        asio::async_write(socket_->socket, asio::buffer(data, bytes), [end](const Failed& f, std::size_t) { end(f); });
      },
      [&] { socket_->socket.close(); });
}

bool Line::prove(const std::string& token, Side side, Deadline deadline) {
  const Nonce mine = new_nonce();
  Nonce theirs;
  if (!write(mine.data(), mine.size(), deadline) || !read(theirs.data(), theirs.size(), deadline)) return false;
  const Nonce &asks = side == Side::Asks ? mine : theirs, &answers = side == Side::Asks ? theirs : mine;
  const Side other = side == Side::Asks ? Side::Answers : Side::Asks;
  const Proof said = proof_of(token, side, asks, answers);
  Proof heard;
  // Who asks proves first: a stranger learns nothing.
  if (side == Side::Asks && !write(said.data(), said.size(), deadline)) return false;
  if (!read(heard.data(), heard.size(), deadline)) return false;
  if (!same_proof(heard, proof_of(token, other, asks, answers))) return false;
  return side == Side::Asks || write(said.data(), said.size(), deadline);
}

std::string Line::here() const {
  Failed ignored;
  return socket_->socket.local_endpoint(ignored).address().to_string();
}

std::string Line::there() const {
  Failed ignored;
  return socket_->socket.remote_endpoint(ignored).address().to_string();
}

int Line::release() { return socket_->socket.release(); }

struct Listener::Acceptor {
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
};

Listener::Listener(const std::string& address, int port, int last) : acceptor_(std::make_unique<Acceptor>()) {
  Failed failed;
  const auto where = asio::ip::make_address(address, failed);
  if (failed) throw RuntimeError("process", "'" + address + "' is no address of this machine");
  auto& acceptor = acceptor_->acceptor;
  for (int at = port; at <= std::max(port, last); ++at) {
    const tcp::endpoint end(where, static_cast<unsigned short>(at));
    acceptor.open(end.protocol(), failed);
    if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
    if (!failed) acceptor.bind(end, failed);
    if (!failed) acceptor.listen(128, failed);
    if (!failed) break;
    Failed ignored;
    acceptor.close(ignored);
  }
  if (failed && last > port)
    throw RuntimeError("process", "no port of " + std::to_string(port) + " to " + std::to_string(last) + " at " +
                                      address + " can be had: " + failed.message());
  if (failed)
    throw RuntimeError("process",
                       "port " + std::to_string(port) + " at " + address + " cannot be had: " + failed.message());
  port_ = acceptor.local_endpoint().port();
}

Listener::~Listener() = default;

std::optional<Line> Listener::accept(Deadline deadline) {
  auto out = std::make_unique<Line::Socket>();
  tcp::socket socket(acceptor_->io);
  const Failed failed = within(
      acceptor_->io, deadline,
      [&](auto end) { acceptor_->acceptor.async_accept(socket, [end](const Failed& f) { end(f); }); },
      [&] { acceptor_->acceptor.cancel(); });
  if (failed) return std::nullopt;
  const auto protocol = socket.local_endpoint().protocol();
  out->socket.assign(protocol, socket.release());  // into a context of its own: a thread may go on with it
  return Line(std::move(out));
}

}  // namespace shard::runtime
