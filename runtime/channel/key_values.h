// Values by name that all processes of a job see, at any time and on any thread: for libraries whose own processes find
// each other by them (runtime/pjrt). What processes of Shard do together goes over processes.h.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace shard::runtime {

class KeyValues {
 public:
  virtual ~KeyValues() = default;
  // Both throw RuntimeError("process") where process 0, which keeps them, has gone.
  virtual void put(std::string_view key, std::string_view value) = 0;
  virtual std::optional<std::string> find(std::string_view key) = 0;
};

}  // namespace shard::runtime
