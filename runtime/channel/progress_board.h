// Where the processes of one machine stand, in memory that all of them see: who waits can say what the one that does
// not come is doing, also of one that is frozen. The launcher makes it; each process writes its own row.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/channel/shared_memory.h"

namespace shard::runtime {

struct ScriptPlace {  // the number of a source, from 1, and the offset in it; 0: not known
  std::uint32_t source = 0, offset = 0;
};

class ProgressBoard {
 public:
  struct Row {
    std::atomic<std::uint64_t> meetings{0};  // how often it has met others
    std::atomic<std::uint64_t> steps{0};     // statements of the script
    std::atomic<ScriptPlace> place{};        // where that stands
    std::atomic<std::uint32_t> blames{
        0};  // it has left because of another one: twice its number and 2, and 1 more where that one came late
    std::atomic<std::uint32_t> joined{0};  // it has come to the job
    std::atomic<std::uint32_t> beats{0};   // it is not frozen, whatever it waits for (Processes::beat)
    std::uint32_t unused[7] = {};          // a line of the cache
  };
  static int make(int count);  // a descriptor for all of them; -1: the system has none
  // Null where the descriptor is none of that size.
  static std::unique_ptr<ProgressBoard> of(int fd, int count, int index);

  const Row& operator[](int process) const { return rows()[process]; }
  Row& own() { return rows()[index_]; }
  Row& row(int process) { return rows()[process]; }  // of another machine, which cannot write it itself
  // How old what stands here of another process may be.
  std::chrono::milliseconds lag{0};

 private:
  ProgressBoard(SharedMemory memory, int index) : memory_(std::move(memory)), index_(index) {}
  Row* rows() const { return reinterpret_cast<Row*>(memory_.data()); }  // zeros are rows as they begin
  SharedMemory memory_;
  int index_;
};

}  // namespace shard::runtime
