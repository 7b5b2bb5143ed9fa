// How processes connect while a job comes together. A Connection is a TCP connection each of whose steps has a
// deadline; a Door is a port at which all who connect are answered side by side (Boost.Asio, a thread), so that
// strangers keep nobody waiting. Both sides of a connection prove that they belong to the job before anything else is
// read: who has not done so within 5 s at a door is gone, and where too many stand there the one who has stood longest.
// Afterwards the plain descriptor is handed on.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/channel/channel.h"

namespace shard::runtime {

class Connection {
 public:
  Connection(Connection&&) noexcept;
  ~Connection();
  static Connection of(int fd);  // a connection that there is
  // Where it cannot be reached: nothing, and why.
  static std::optional<Connection> to(const std::string& host, int port, Deadline deadline, std::string& why);

  bool read(void* data, std::size_t bytes, Deadline deadline);
  bool write(const void* data, std::size_t bytes, Deadline deadline);
  // As the side that asks (a door answers): both prove that they know the token.
  bool prove(const std::string& token, Deadline deadline);
  std::string here() const;  // addresses without port
  std::string there() const;
  int release();  // the descriptor, which the caller owns then

 private:
  struct Socket;
  explicit Connection(std::unique_ptr<Socket> socket);
  std::unique_ptr<Socket> socket_;
};

struct Ports {
  int first = 0, last = 0;  // first 0: any
};

inline constexpr std::uint64_t kJoinMagic = 0x31707463'68732001;  // of this version of the protocol
struct Hello {                                                    // what a process says of itself
  std::uint64_t magic = kJoinMagic;
  std::int32_t rank = 0, size = 0;
  std::int32_t port = 0;  // where it waits for the others; 0 between two of them
  std::int32_t unused = 0;
};
static_assert(sizeof(Hello) == 24);

struct Guest {
  Hello hello;
  Connection connection;
};

class Door {
 public:
  // Of a job of `size` processes. Throws RuntimeError("process"): the port is taken, or no such address is here.
  Door(const std::string& address, Ports ports, int size, std::string token);
  ~Door();
  int port() const;
  void open();                                // from now on they are answered
  std::optional<Guest> next(Deadline until);  // nothing: nobody came
  std::vector<std::string> strangers();       // addresses, each told once

 private:
  struct Room;
  std::unique_ptr<Room> room_;
};

}  // namespace shard::runtime
