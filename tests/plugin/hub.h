// What stands for the devices and their network in the plug-in for tests: one process has them all, those of a plug-in
// for the CPU, and does what the clients of the other processes ask for over a socket.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shard::test {

inline constexpr int kIdStep = 2048;  // ids of a process's devices begin at its number times this

enum class Ask : std::uint32_t { Compile, FromHost, ToHost, Run, Drop };

// One message, either way: numbers and one stretch of bytes, which both sides put down and take out in the same order.
class Message {
 public:
  void add(std::int64_t n) { numbers_.push_back(n); }
  void add(const std::vector<std::int64_t>& list) {
    add(static_cast<std::int64_t>(list.size()));
    numbers_.insert(numbers_.end(), list.begin(), list.end());
  }
  std::int64_t number() { return numbers_.at(next_++); }
  std::vector<std::int64_t> list() {
    std::vector<std::int64_t> out(static_cast<std::size_t>(number()));
    for (std::int64_t& n : out) n = number();
    return out;
  }
  void append(const Message& behind) {
    numbers_.insert(numbers_.end(), behind.numbers_.begin(), behind.numbers_.end());
    bytes += behind.bytes;
  }
  std::string bytes;

  bool send(int socket) const;
  bool receive(int socket);

 private:
  std::vector<std::int64_t> numbers_;
  std::size_t next_ = 0;
};

// Serves the clients of `counts.size()` processes, which have so many devices each, at a socket of this path, in
// threads of this process, as long as that lives. `inner`: the plug-in that runs programs.
void open_hub(const std::string& path, const std::string& inner, const std::vector<int>& counts);

}  // namespace shard::test
