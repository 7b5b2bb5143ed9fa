// A TCP connection while a job comes together: each step has a deadline, and who cannot prove that he belongs to the
// job is gone before anything of his is read. Afterwards the plain descriptor is handed on.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "runtime/channel/channel.h"
#include "runtime/channel/tcp/proof.h"

namespace shard::runtime {

class Line {
 public:
  Line(Line&&) noexcept;
  ~Line();
  // Where it cannot be reached: nothing, and why.
  static std::optional<Line> to(const std::string& host, int port, Deadline deadline, std::string& why);

  bool read(void* data, std::size_t bytes, Deadline deadline);
  bool write(const void* data, std::size_t bytes, Deadline deadline);
  // Both sides prove that they know the token.
  bool prove(const std::string& token, Side side, Deadline deadline);
  bool heard() const { return heard_; }  // anything at all
  std::string here() const;              // addresses without port
  std::string there() const;
  int release();  // the descriptor, which the caller owns then

 private:
  friend class Listener;
  struct Socket;
  explicit Line(std::unique_ptr<Socket> socket);
  std::unique_ptr<Socket> socket_;
  bool heard_ = false;
};

class Listener {
 public:
  // Port 0: any; `last` above `port`: the first that is free. Throws RuntimeError("process"): the port is taken, or no
  // such address is here.
  Listener(const std::string& address, int port, int last);
  ~Listener();
  int port() const { return port_; }
  std::optional<Line> accept(Deadline deadline);  // nothing: nobody came

 private:
  struct Acceptor;
  std::unique_ptr<Acceptor> acceptor_;
  int port_ = 0;
};

}  // namespace shard::runtime
