// A TCP connection while a job comes together: each step has a deadline, and who cannot prove that he belongs to the
// job is gone before anything of his is read. Afterwards the plain descriptor is handed on.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "runtime/channel/channel.h"
#include "runtime/channel/tcp/handshake.h"

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

}  // namespace shard::runtime
