// The loop of `shard lsp`: messages from a reader's thread and results of checks from the worker's, one after the
// other. Every request is answered, whatever it is; nothing that comes ends the program but `exit` and the end of
// input.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "interpreter/lsp/features.h"
#include "interpreter/lsp/framing.h"
#include "interpreter/lsp/worker.h"

namespace shard::lsp {

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

  // ---- methods about the session (life.cpp)
  std::string initialize(const Params& p);
  std::string initialized(const Params& p);
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
