#include "runtime/channel/tcp/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "runtime/array/shape.h"
#include "runtime/channel/tcp/handshake.h"

namespace shard::runtime {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Failed = boost::system::error_code;
using Steps = asio::awaitable<void>;  // what goes wrong in one is thrown

constexpr auto kProving = std::chrono::seconds(5);      // how long one may take
constexpr auto kPause = std::chrono::milliseconds(20);  // where no connection can be taken
constexpr std::size_t kStanding = 256;                  // who have not proved anything yet
constexpr std::size_t kNamed = 64;                      // addresses of strangers

Steps read_all(tcp::socket& socket, asio::mutable_buffer to) {
  co_await asio::async_read(socket, to, asio::use_awaitable);
}
Steps write_all(tcp::socket& socket, asio::const_buffer from) {
  co_await asio::async_write(socket, from, asio::use_awaitable);
}
Steps connect(tcp::socket& socket, const tcp::resolver::results_type& ends) {
  co_await asio::async_connect(socket, ends, asio::use_awaitable);
}

// Random bytes of both sides; then the handshake of who asks, and once that holds of who answers. `heard`: anything at
// all.
Steps prove_as(Side side, tcp::socket& socket, const std::string& token, bool& heard) {
  const Nonce mine = new_nonce();
  Nonce theirs;
  Failed failed;
  co_await write_all(socket, asio::buffer(mine));
  const std::size_t came =
      co_await asio::async_read(socket, asio::buffer(theirs), asio::redirect_error(asio::use_awaitable, failed));
  heard = came > 0;
  if (failed) throw boost::system::system_error(failed);
  const Nonce &asks = side == Side::Asks ? mine : theirs, &answers = side == Side::Asks ? theirs : mine;
  const Handshake said = handshake_of(token, side, asks, answers);
  const Handshake wanted = handshake_of(token, side == Side::Asks ? Side::Answers : Side::Asks, asks, answers);
  Handshake given;
  if (side == Side::Asks) co_await write_all(socket, asio::buffer(said));
  co_await read_all(socket, asio::buffer(given));
  if (!same_handshake(given, wanted)) throw boost::system::system_error(asio::error::access_denied);
  if (side == Side::Answers) co_await write_all(socket, asio::buffer(said));
}

}  // namespace

// ---- connections

struct Connection::Socket {
  // Runs steps until they end or the deadline comes. What went wrong.
  Failed run(Steps steps, Deadline deadline) {
    std::exception_ptr thrown;
    bool ended = false;
    asio::co_spawn(io, std::move(steps), [&](std::exception_ptr e) { thrown = std::move(e), ended = true; });
    io.restart();
    io.run_until(deadline);
    if (!ended) {
      Failed ignored;
      socket.close(ignored);
      io.restart();
      io.run();  // the step ends with an error, which looks at this stack
      return asio::error::timed_out;
    }
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const boost::system::system_error& e) { return e.code(); }
    return {};
  }
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
  if (!failed) failed = out->run(connect(out->socket, ends), deadline);
  if (!failed) return Connection(std::move(out));
  why = failed.message();
  return std::nullopt;
}

bool Connection::read(void* data, std::size_t bytes, Deadline deadline) {
  return !socket_->run(read_all(socket_->socket, asio::buffer(data, bytes)), deadline);
}
bool Connection::write(const void* data, std::size_t bytes, Deadline deadline) {
  return !socket_->run(write_all(socket_->socket, asio::buffer(data, bytes)), deadline);
}
bool Connection::prove(const std::string& token, Deadline deadline) {
  bool heard = false;
  return !socket_->run(prove_as(Side::Asks, socket_->socket, token, heard), deadline);
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

// ---- doors

struct Door::Room {
  // Who has connected and is not in yet.
  struct Comer {
    explicit Comer(tcp::socket s) : socket(std::move(s)), limit(socket.get_executor()) {
      Failed ignored;
      from = socket.remote_endpoint(ignored).address().to_string();
      socket.set_option(tcp::no_delay(true), ignored);
    }
    void end() {
      Failed ignored;
      socket.close(ignored);
    }
    tcp::socket socket;
    asio::steady_timer limit;
    std::string from;
    bool heard = false;  // anything at all: who only looks whether the port is open is not worth a word
  };
  using Standing = std::shared_ptr<Comer>;

  Room(int size_, std::string token_) : size(size_), token(std::move(token_)) {}

  Steps accept() {
    while (true) {
      Failed failed;
      tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
      if (failed == asio::error::operation_aborted) co_return;
      if (!failed) {
        asio::co_spawn(io, answer(std::make_shared<Comer>(std::move(socket))), asio::detached);
        continue;
      }
      if (!standing.empty()) standing.front()->end();  // no descriptor is left, say
      pause.expires_after(kPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
    }
  }

  Steps answer(Standing who) {
    if (standing.size() >= kStanding) standing.front()->end();  // its step ends with an error
    standing.push_back(who);
    who->limit.expires_after(kProving);
    who->limit.async_wait([who](const Failed& over) {
      if (!over) who->end();
    });
    Hello hello;
    bool belongs = false;
    try {
      co_await prove_as(Side::Answers, who->socket, token, who->heard);
      standing.remove(who);  // whoever proved it is not sent away for others
      co_await read_all(who->socket, asio::buffer(&hello, sizeof hello));
      belongs = hello.magic == kJoinMagic && hello.size == size && hello.rank >= 0 && hello.rank < size;
    } catch (const boost::system::system_error&) { standing.remove(who); }
    who->limit.cancel();
    const std::scoped_lock lock(mutex);
    if (belongs) {
      came.push_back({hello, Connection::of(who->socket.release())});
    } else {
      who->end();
      if (!who->heard || named.size() >= kNamed || !named.insert(who->from).second) co_return;
      unsaid.push_back(who->from);
    }
    changed.notify_all();
  }

  const int size;
  const std::string token;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer pause{io};
  std::list<Standing> standing;  // the longest first
  std::mutex mutex;              // over what follows
  std::condition_variable changed;
  std::deque<Guest> came;
  std::set<std::string> named;
  std::vector<std::string> unsaid;  // of these, who has not been told of
  std::thread thread;
};

Door::Door(const std::string& address, Ports ports, int size, std::string token)
    : room_(std::make_unique<Room>(size, std::move(token))) {
  Failed failed;
  const auto where = asio::ip::make_address(address, failed);
  if (failed) throw RuntimeError("process", "'" + address + "' is no address of this machine");
  auto& acceptor = room_->acceptor;
  for (int at = ports.first; at <= std::max(ports.first, ports.last); ++at) {
    const tcp::endpoint end(where, static_cast<unsigned short>(at));
    acceptor.open(end.protocol(), failed);
    if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
    if (!failed) acceptor.bind(end, failed);
    if (!failed) acceptor.listen(SOMAXCONN, failed);
    if (!failed) return;
    Failed ignored;
    acceptor.close(ignored);
  }
  const std::string first = std::to_string(ports.first), last = std::to_string(ports.last);
  const std::string which = ports.last > ports.first
                                ? "no port of " + first + " to " + last + " at " + address + " can be had: "
                                : "port " + first + " at " + address + " cannot be had: ";
  throw RuntimeError("process", which + failed.message());
}

Door::~Door() {
  room_->io.stop();
  if (room_->thread.joinable()) room_->thread.join();
}

int Door::port() const {
  Failed ignored;
  return room_->acceptor.local_endpoint(ignored).port();
}

void Door::open() {
  if (room_->thread.joinable()) return;
  asio::co_spawn(room_->io, room_->accept(), asio::detached);
  room_->thread = std::thread([room = room_.get()] { room->io.run(); });
}

std::optional<Guest> Door::next(Deadline until) {
  std::unique_lock lock(room_->mutex);
  if (!room_->changed.wait_until(lock, until, [&] { return !room_->came.empty(); })) return std::nullopt;
  std::optional<Guest> out(std::move(room_->came.front()));
  room_->came.pop_front();
  return out;
}

std::vector<std::string> Door::strangers() {
  const std::scoped_lock lock(room_->mutex);
  return std::exchange(room_->unsaid, {});
}

}  // namespace shard::runtime
