// A checkpoint folder that the processes of a job write together: each the blocks that it owns, the first one the index
// and the name. What goes wrong at one of them is an error at all, which names it. A process alone is one of one.
#pragma once
#include <atomic>
#include <future>
#include <memory>

#include "runtime/channel/processes.h"
#include "stdlib/host/storage/folder.h"

namespace shard::stdlib {

// Runs `f` in each of them; where one or more throw RuntimeError, every process throws the first one's.
void all_together(runtime::Processes* processes, std::string_view what, const std::function<void()>& f);
Share share_of(const runtime::Processes* processes);

class SharedFolder {
 public:
  SharedFolder(runtime::Processes* processes, const std::string& path);  // all of them, in the same order
  ~SharedFolder() { gave_up_ = true; }
  SharedFolder(const SharedFolder&) = delete;
  // This process's blocks; the first process then waits for the others' and gives the folder its name. Any thread.
  // Whether all is well here; what is not, `settle` says.
  bool write(runtime::Pool& pool, const Snapshot& what);
  // All of them, once `write` was begun: returns when the folder has its name. `writing`: what `write` gives.
  void settle(std::future<void> writing);
  void give_up() { gave_up_ = true; }  // where no others are waited for any more

 private:
  Written from_others() const;

  runtime::Processes* processes_;
  Share share_;
  std::string beside_;                 // the folder that all write into
  std::unique_ptr<NewFolder> folder_;  // of the first process
  std::promise<void> part_;            // own blocks are on the disk
  std::atomic<bool> gave_up_ = false;
};
// The same, from begin to end.
void write_together(runtime::Pool& pool, runtime::Processes* processes, const std::string& path, const Snapshot& what);

}  // namespace shard::stdlib
