#include "interpreter/lsp/session.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "grammar/parse.h"
#include "grammar/stable_sort.h"
#include "interpreter/lang/eval/builtins.h"

namespace shard::lsp {
namespace {

constexpr std::uintmax_t kLargestScript = 16u << 20;
constexpr std::string_view kFile = "file://";

int hex(char c) {
  const auto at =
      std::string_view("0123456789abcdef").find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

}  // namespace

std::string path_of(const std::string& uri) {
  if (!uri.starts_with(kFile)) return uri;
  std::size_t at = uri.find('/', kFile.size());
  std::string out;
  for (at = std::min(at, uri.size()); at < uri.size(); ++at) {
    const bool escaped = uri[at] == '%' && at + 2 < uri.size() && hex(uri[at + 1]) >= 0 && hex(uri[at + 2]) >= 0;
    out += escaped ? static_cast<char>(hex(uri[at + 1]) * 16 + hex(uri[at + 2])) : uri[at];
    if (escaped) at += 2;
  }
  return out;
}

std::string uri_of(const std::string& path) {
  if (!path.starts_with('/')) return path;
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out(kFile);
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("/-._~").find(c) != std::string_view::npos)
      out += c;
    else
      ((out += '%') += kHex[byte >> 4]) += kHex[byte & 15];
  }
  return out;
}

Document& Session::document(const std::optional<Json>& params) {
  const std::string uri = need_text(params, {"textDocument", "uri"});
  const auto at = documents.find(uri);
  if (at == documents.end()) throw Refused{kInvalidParams, "the text " + uri + " is not open"};
  return at->second;
}

std::size_t Session::offset(const Document& d, const std::optional<Json>& params) {
  return d.text.offset({need_number(params, {"position", "line"}), need_number(params, {"position", "character"})},
                       units);
}

std::shared_ptr<const Tree> Session::tree_of(const std::string& path, const std::string& text) {
  grammar::SourceMap sources;
  const grammar::ParseResult parsed = grammar::parse(sources, sources.add(path, text));
  if (!parsed.module || !parsed.diagnostics.empty()) return nullptr;
  lang::ModuleNames names;
  lang::NamesFound found;
  found.with_uses = true;
  lang::resolve_names(parsed.module, names, interpreter().builtins().for_names(), found);
  auto tree = std::make_shared<Tree>();
  tree->text = text;
  tree->module = parsed.module;
  tree->functions = std::move(found.functions);
  stable_sort(found.uses, [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
  tree->uses = std::move(found.uses);
  return tree;
}

std::shared_ptr<const Tree> Session::tree_at(const std::string& path) {
  for (const auto& [uri, d] : documents)
    if (d.path == path) return d.tree;
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed) || std::filesystem::file_size(path, failed) > kLargestScript)
    return nullptr;
  std::ifstream file(path, std::ios::binary);
  return file ? tree_of(path, std::string(std::istreambuf_iterator<char>(file), {})) : nullptr;
}

std::vector<std::string> Session::scripts() {
  std::set<std::string> out;
  for (const auto& [uri, d] : documents) out.insert(d.path);
  for (const std::string& folder : folders)
    for (const std::string& path : cli::scripts_in(folder)) out.insert(path);
  return {out.begin(), out.end()};
}

std::string Session::place(const Text& text, std::size_t offset) const {
  const Place p = text.place(offset, units);
  return object({{"line", number(p.line)}, {"character", number(p.character)}});
}

std::string Session::range(const Text& text, std::size_t begin, std::size_t end) const {
  return object({{"start", place(text, begin)}, {"end", place(text, std::max(begin, end))}});
}

std::string Session::location(const Location& l) {
  for (const auto& [uri, d] : documents)
    if (d.path == l.path) return object({{"uri", json_string(uri)}, {"range", range(d.text, l.begin, l.end)}});
  const auto tree = tree_at(l.path);
  return object({{"uri", json_string(uri_of(l.path))}, {"range", range(Text(tree ? tree->text : ""), l.begin, l.end)}});
}

std::optional<std::pair<std::size_t, std::size_t>> carried(const Shift& shift, grammar::Span span) {
  const auto begin = shift(span.begin, true), end = shift(span.end, span.begin == span.end);
  if (!begin || !end || *end < *begin) return std::nullopt;
  return std::pair(*begin, *end);
}

}  // namespace shard::lsp
