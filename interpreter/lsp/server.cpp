#include "interpreter/lsp/server.h"

#include "runtime/array/shape.h"

namespace shard::lsp {
namespace {

// An identifier as it is sent back; nothing where it is neither a number nor a string.
std::optional<std::string> identifier(const std::optional<Json>& id) {
  std::int64_t n = 0;
  if (id && id->integer(n)) return number(n);
  if (id && id->text()) return json_string(*id->text());
  return std::nullopt;
}

}  // namespace

Server::Server(const cli::Settings& settings, int in, int out) : wire_(in, out), session_(settings) {
  worker_ = std::make_unique<Worker>(settings, [this](std::shared_ptr<const Checked> checked) {
    push({std::nullopt, std::move(checked)});
  });
  reader_ = std::thread([this] { read(); });
}

void Server::push(Message m) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(m));
  more_.notify_one();
}

void Server::read() {
  while (const std::optional<std::string> body = wire_.read()) {
    Message m;
    try {
      m.document = stdlib::parse_json(*body, "the message");
      const std::optional<Json> root = m.document->root();
      const auto method = find(root, {"method"});
      if (method && method->text() == "$/cancelRequest") {
        const auto id = identifier(find(root, {"params", "id"}));
        const std::lock_guard lock(mutex_);
        if (id) cancelled_.insert(*id);
        continue;
      }
    } catch (const std::exception&) { m.document.reset(); }
    push(std::move(m));
  }
  push({std::nullopt, nullptr, true});
}

int Server::serve() {
  while (!ended_) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return !queue_.empty(); });
    const Message m = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    if (m.end) break;
    if (m.checked)
      take(m.checked);
    else if (m.document)
      handle(*m.document);
    else
      refused("null", {kParseError, "the message is no JSON"});
  }
  return shut_down_ ? 0 : 1;
}

void Server::handle(const stdlib::JsonDocument& document) {
  const std::optional<Json> root = document.root();
  const auto id = find(root, {"id"});
  const auto name = find(root, {"method"});
  if (id && !name && (find(root, {"result"}) || find(root, {"error"}))) return;  // the editor's answer to `ask`
  const std::optional<std::string> known = identifier(id);
  if (!name || !name->text() || (id && !known)) {
    refused(known.value_or("null"),
            {kInvalidRequest, "a message has a `method`, and an `id` that is a number or a string"});
    return;
  }
  try {
    if (known) {
      const std::lock_guard lock(mutex_);
      if (cancelled_.erase(*known)) throw Refused{kCancelled, "cancelled"};
    }
    const std::string result = answer(*name->text(), find(root, {"params"}), known.has_value());
    if (known) replied(*known, result);
  } catch (const Refused& r) {
    if (known) refused(*known, r);
  } catch (const std::exception& e) {
    if (known) refused(*known, {kInternalError, e.what()});
  }
}

std::string Server::answer(std::string_view method, const Params& p, bool request) {
  if (method == "exit" && !request) {
    ended_ = true;
    return null();
  }
  const Method* m = find_method(method);
  if (!initialized_ && method != "initialize") throw Refused{kNotInitialized, "the first request is `initialize`"};
  if (shut_down_) throw Refused{kInvalidRequest, "after `shutdown` comes `exit`"};
  if (!m) throw Refused{kMethodNotFound, "there is no method " + std::string(method.substr(0, 100))};
  return m->feature ? m->feature(session_, p) : (this->*m->own)(p);
}

void Server::replied(const std::string& id, const std::string& result) {
  wire_.write(object({{"jsonrpc", json_string("2.0")}, {"id", id}, {"result", result}}));
}

void Server::refused(const std::string& id, const Refused& r) {
  wire_.write(object({{"jsonrpc", json_string("2.0")},
                      {"id", id},
                      {"error", object({{"code", number(r.code)}, {"message", json_string(r.message)}})}}));
}

void Server::notify(std::string_view method, const std::string& params) {
  wire_.write(object({{"jsonrpc", json_string("2.0")}, {"method", json_string(method)}, {"params", params}}));
}

void Server::ask(std::string_view method) {
  wire_.write(object({{"jsonrpc", json_string("2.0")},
                      {"id", json_string("shard-" + std::to_string(++asked_))},
                      {"method", json_string(method)}}));
}

void Server::take(const std::shared_ptr<const Checked>& checked) {
  const auto at = session_.documents.find(checked->uri);
  if (at == session_.documents.end()) return;  // closed meanwhile
  Document& d = at->second;
  if (!checked->layouts) {
    d.errors = checked;
    notify("textDocument/publishDiagnostics", diagnostics_of(session_, d));
    return;
  }
  if (!d.tree || !checked->checker.lets.empty() || !d.types || !d.broken) d.types = checked;  // a broken text has none
  if (refreshes_hints_) ask("workspace/inlayHint/refresh");
  if (refreshes_lenses_) ask("workspace/codeLens/refresh");
}

}  // namespace shard::lsp
