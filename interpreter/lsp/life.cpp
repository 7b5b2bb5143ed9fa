// A session's beginning and end, and texts as they are opened, changed and closed.
#include "interpreter/lsp/names.h"
#include "interpreter/lsp/server.h"

namespace shard::lsp {
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

std::string Server::initialized(const Params&) { return null(); }
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
    const auto at = [&](std::string_view end) {
      return text.offset({need_number(one, {"range", end, "line"}), need_number(one, {"range", end, "character"})},
                         session_.units);
    };
    text.replace(at("start"), at("end"), by);
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
