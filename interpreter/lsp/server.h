// The loop of `shard lsp`: messages from a reader's thread and results of checks from the worker's, one after the
// other. Every request is answered, whatever it is; nothing that comes ends the program but `exit` and the end of
// input.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "interpreter/lsp/features.h"

namespace shard::lsp {

// Messages of the protocol as bytes: `Content-Length: N`, an empty line, N bytes. What is broken on the way is skipped.
class Wire {
 public:
  Wire(int in, int out) : in_(in), out_(out) {}
  // The body of the next message; empty for one that is too long; nothing where the input ends.
  std::optional<std::string> read();
  void write(std::string_view body);  // of any thread; what cannot be written is lost: the reader is gone

 private:
  std::optional<std::string> line();  // without its end
  bool fill();

  int in_, out_;
  std::string buffer_;
  std::size_t at_ = 0;  // of the buffer, up to which it was read
  std::mutex writing_;
};

// Checks texts beside the session, in a thread of its own: a while after the last change of a text (an editor sends one
// a key), errors first, then types with layouts and what compiled calls send. A check that is overtaken by a change is
// stopped, and one that takes too long is left early.
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

// A method of the protocol, a row each (methods.cpp). A request gives the JSON of its answer; a notification's is not
// used.
class Server;
struct Method {
  std::string_view name;
  std::string (*feature)(Session&, const Params&) = nullptr;  // one of features.h
  std::string (Server::*own)(const Params&) = nullptr;        // or one of the server's
};
const Method* find_method(std::string_view name);
std::string capabilities(Units units);

class Server {
 public:
  Server(const cli::Settings& settings, int in, int out);
  Server(const Server&) = delete;
  int serve();  // the exit status

  // ---- methods about the session
  std::string initialize(const Params& p);
  std::string shutdown(const Params& p);
  std::string opened(const Params& p);
  std::string changed(const Params& p);
  std::string closed(const Params& p);
  std::string ignored(const Params& p);

 private:
  struct Message {
    std::optional<stdlib::JsonDocument> document;  // a message that came; without it and the next: broken
    std::shared_ptr<const Checked> checked;        // or a result
    bool end = false;                              // or the end of input
  };
  void read();  // the reader's thread
  void push(Message m);
  void handle(const stdlib::JsonDocument& document);
  std::string answer(std::string_view method, const Params& p, bool request);
  void take(const std::shared_ptr<const Checked>& checked);
  void replied(const std::string& id, const std::string& result);
  void refused(const std::string& id, const Refused& r);
  void notify(std::string_view method, const std::string& params);
  void ask(std::string_view method);  // a request to the editor, whose answer says nothing
  void text_changed(Document& d);

  Wire wire_;
  Session session_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Message> queue_;
  std::set<std::string> cancelled_;  // identifiers as JSON
  std::unique_ptr<Worker> worker_;
  bool initialized_ = false, shut_down_ = false, ended_ = false;
  bool refreshes_hints_ = false, refreshes_lenses_ = false;  // what the editor can be asked
  int asked_ = 0;
  std::thread reader_;
};

}  // namespace shard::lsp
