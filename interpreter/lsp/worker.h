// Checks texts beside the session, in a thread of its own: a while after the last change of a text (an editor sends one
// a key), errors first, then types with layouts and what compiled calls send. A check that is overtaken by a change is
// stopped, and one that takes too long is left early.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "interpreter/lsp/editor_session.h"

namespace shard::lsp {

class Worker {
 public:
  // `done` is called in the worker's thread.
  Worker(const cli::Settings& settings, std::function<void(std::shared_ptr<const Checked>)> done);
  Worker(const Worker&) = delete;

  void check(const Document& d);  // also: what imports this path sees its text
  void forget(const Document& d);

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    std::string uri, path, text;
    Clock::time_point due;
  };
  void work();
  std::shared_ptr<const Checked> checked(const Job& job, bool layouts);
  void stop(const std::string& uri);  // with the lock held

  const cli::Settings settings_;
  const std::function<void(std::shared_ptr<const Checked>)> done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job> jobs_;                     // a text once
  std::map<std::string, std::string> texts_;  // that are open, by path
  std::string at_work_;                       // the URI of the text that is checked
  lang::Interpreter* running_ = nullptr;
  bool overtaken_ = false;
  std::thread thread_;  // goes on to the end of the program
};

}  // namespace shard::lsp
