#include "interpreter/lsp/server.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>

#include "runtime/array/shape.h"

namespace shard::lsp {

// ---- messages as bytes
namespace {

constexpr std::size_t kLongestLine = 4096, kLongestBody = 64u << 20;

// The number of a line "Content-Length: 12", in any case; nothing for other lines and numbers that are none.
std::optional<std::size_t> length_in(std::string_view line) {
  constexpr std::string_view kName = "content-length:";
  const auto alike = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  if (line.size() < kName.size() ||
      !std::equal(kName.begin(), kName.end(), line.begin(), [&](char b, char a) { return alike(a, b); }))
    return std::nullopt;
  line.remove_prefix(kName.size());
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), n);
  return error == std::errc() && end == line.data() + line.size() ? std::optional(n) : std::nullopt;
}

}  // namespace

bool Wire::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  char bytes[1 << 16];
  ssize_t n = 0;
  do n = ::read(in_, bytes, sizeof bytes);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(n));
  return true;
}

std::optional<std::string> Wire::line() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n', at_); end != std::string::npos) {
      std::string out = buffer_.substr(at_, end - at_);
      at_ = end + 1;
      if (out.ends_with('\r')) out.pop_back();
      return out;
    }
    if (buffer_.size() - at_ > kLongestLine) at_ = buffer_.size();  // no header is as long
    if (!fill()) return std::nullopt;
  }
}

std::optional<std::string> Wire::read() {
  std::optional<std::size_t> length;
  for (;;) {
    const std::optional<std::string> header = line();
    if (!header) return std::nullopt;
    if (const auto n = length_in(*header)) length = n;
    if (header->empty() && length) break;
  }
  std::string body;
  const bool kept = *length <= kLongestBody;
  for (std::size_t wanted = *length; wanted > 0;) {
    if (at_ == buffer_.size() && !fill()) return std::nullopt;
    const std::size_t n = std::min(wanted, buffer_.size() - at_);
    if (kept) body.append(buffer_, at_, n);
    at_ += n;
    wanted -= n;
  }
  return body;
}

void Wire::write(std::string_view body) {
  const std::string all = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  const std::lock_guard lock(writing_);
  cli::write_whole(out_, all);
}

// ---- the loop
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

// ---- a session's beginning and end, and texts as they are opened, changed and closed
namespace {

// The units that the editor can count in and we like best: no conversion, else what every editor can.
Units agreed(const Params& p) {
  if (const auto offered = find(p, {"capabilities", "general", "positionEncodings"}))
    for (const auto& [wanted, units] : {std::pair("utf-8", Units::Utf8), std::pair("utf-32", Units::Utf32)})
      for (const Json& one : offered->list())
        if (one.text() == wanted) return units;
  return Units::Utf16;
}

bool imports(const Document& d, const std::string& path) {
  if (!d.tree) return false;
  for (const grammar::StmtPtr& s : d.tree->module->body)
    if (const auto* i = std::get_if<grammar::ImportStmt>(&s->node); i && i->file && imported_path(*i, d.path) == path)
      return true;
  return false;
}

}  // namespace

std::string Server::initialize(const Params& p) {
  if (initialized_) throw Refused{kInvalidRequest, "the session has begun already"};
  initialized_ = true;
  session_.units = agreed(p);
  refreshes_hints_ = truth(p, {"capabilities", "workspace", "inlayHint", "refreshSupport"});
  refreshes_lenses_ = truth(p, {"capabilities", "workspace", "codeLens", "refreshSupport"});
  const auto folder = [&](const std::optional<Json>& uri) {
    if (uri && uri->text()) session_.folders.push_back(path_of(std::string(*uri->text())));
  };
  if (const auto folders = find(p, {"workspaceFolders"}))
    for (const Json& f : folders->list()) folder(f.find("uri"));
  if (session_.folders.empty()) folder(find(p, {"rootUri"}));
  return object({{"capabilities", capabilities(session_.units)},
                 {"serverInfo", object({{"name", json_string("shard")}, {"version", json_string(SHARD_VERSION)}})}});
}

std::string Server::ignored(const Params&) { return null(); }

std::string Server::shutdown(const Params&) {
  shut_down_ = true;
  return null();
}

void Server::text_changed(Document& d) {
  const auto tree = session_.tree_of(d.path, d.text.str());
  d.broken = !tree;
  if (tree) d.tree = tree;
  worker_->check(d);
  for (auto& [uri, other] : session_.documents)
    if (uri != d.uri && imports(other, d.path)) worker_->check(other);
}

std::string Server::opened(const Params& p) {
  Document d;
  d.uri = need_text(p, {"textDocument", "uri"});
  d.path = path_of(d.uri);
  if (const auto version = find(p, {"textDocument", "version"})) version->integer(d.version);
  d.text = Text(need_text(p, {"textDocument", "text"}));
  text_changed(session_.documents[d.uri] = std::move(d));
  return null();
}

std::string Server::changed(const Params& p) {
  Document& d = session_.document(p);
  Text text = d.text;
  for (const Json& change : need(p, {"contentChanges"}).list()) {
    const Params one = change;
    const std::string by = need_text(one, {"text"});
    if (!find(one, {"range"})) {
      text = Text(by);
      continue;
    }
    const std::size_t begin = session_.offset(text, one, "start"), end = session_.offset(text, one, "end");
    text.replace(begin, end, by);
  }
  if (const auto version = find(p, {"textDocument", "version"})) version->integer(d.version);
  d.text = std::move(text);
  text_changed(d);
  return null();
}

std::string Server::closed(const Params& p) {
  Document& d = session_.document(p);
  worker_->forget(d);
  notify("textDocument/publishDiagnostics", object({{"uri", json_string(d.uri)}, {"diagnostics", "[]"}}));
  const std::string uri = d.uri;
  session_.documents.erase(uri);
  return null();
}

}  // namespace shard::lsp
