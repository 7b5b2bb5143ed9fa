// Where processes of a job are waited for: a port at which all who connect are answered side by side (Boost.Asio, a
// thread), so that strangers keep nobody waiting. Who proves that he belongs to the job comes in; who has not done so
// within 5 s is gone, and where too many stand there the one who has stood longest.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/channel/tcp/connection.h"

namespace shard::runtime {

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
