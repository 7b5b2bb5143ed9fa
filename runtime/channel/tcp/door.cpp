#include "runtime/channel/tcp/door.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "runtime/array/shape.h"

namespace shard::runtime {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Failed = boost::system::error_code;

constexpr auto kProving = std::chrono::seconds(5);      // how long one may take
constexpr auto kPause = std::chrono::milliseconds(20);  // where no connection can be taken
constexpr std::size_t kStanding = 256;                  // who have not proved anything yet
constexpr std::size_t kNamed = 64;                      // addresses of strangers

}  // namespace

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
    Nonce mine = new_nonce();
    struct {
      Nonce nonce;
      Handshake handshake;
    } theirs{};
    Handshake said{};
    Hello hello;
    bool heard = false;  // anything at all: who only looks whether the port is open is not worth a word
  };
  using Standing = std::shared_ptr<Comer>;

  Room(int size_, std::string token_) : size(size_), token(std::move(token_)) {}

  void accept() {
    acceptor.async_accept([this](const Failed& failed, tcp::socket socket) {
      if (failed == asio::error::operation_aborted) return;
      if (failed) {  // no descriptor is left, say
        if (!standing.empty()) standing.front()->end();
        pause.expires_after(kPause);
        pause.async_wait([this](const Failed& over) {
          if (!over) accept();
        });
        return;
      }
      answer(std::make_shared<Comer>(std::move(socket)));
      accept();
    });
  }

  // Random bytes of both; then the handshake of who asks, ours, and what he says of himself.
  void answer(const Standing& who) {
    if (standing.size() >= kStanding) standing.front()->end();  // its step ends with an error
    standing.push_back(who);
    who->limit.expires_after(kProving);
    who->limit.async_wait([who](const Failed& over) {
      if (!over) who->end();
    });
    asio::async_write(who->socket, asio::buffer(who->mine), [this, who](const Failed& failed, std::size_t) {
      if (failed) return turn_away(who);
      asio::async_read(
          who->socket, asio::buffer(&who->theirs, sizeof who->theirs), [this, who](const Failed& f, std::size_t n) {
            who->heard = n > 0;
            const Nonce& asks = who->theirs.nonce;
            if (f || !same_handshake(who->theirs.handshake, handshake_of(token, Side::Asks, asks, who->mine)))
              return turn_away(who);
            who->said = handshake_of(token, Side::Answers, asks, who->mine);
            let_in(who);
          });
    });
  }

  void let_in(const Standing& who) {
    standing.remove(who);  // whoever proved it is not sent away for others
    asio::async_write(who->socket, asio::buffer(who->said), [this, who](const Failed& failed, std::size_t) {
      if (failed) return turn_away(who);
      asio::async_read(who->socket, asio::buffer(&who->hello, sizeof who->hello),
                       [this, who](const Failed& f, std::size_t) {
                         const Hello& h = who->hello;
                         if (f || h.magic != kJoinMagic || h.size != size || h.rank < 0 || h.rank >= size)
                           return turn_away(who);
                         who->limit.cancel();
                         const std::scoped_lock lock(mutex);
                         came.push_back({h, Connection::of(who->socket.release())});
                         changed.notify_all();
                       });
    });
  }

  void turn_away(const Standing& who) {
    standing.remove(who);
    who->limit.cancel();
    who->end();
    const std::scoped_lock lock(mutex);
    if (!who->heard || named.size() >= kNamed || !named.insert(who->from).second) return;
    unsaid.push_back(who->from);
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
  room_->accept();
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
