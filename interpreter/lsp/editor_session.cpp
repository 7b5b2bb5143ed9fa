#include "interpreter/lsp/editor_session.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "grammar/characters.h"
#include "grammar/parse.h"
#include "grammar/stable_sort.h"
#include "interpreter/lang/eval/builtins.h"

namespace shard::lsp {
namespace {

constexpr std::uintmax_t kLargestScript = 16u << 20;
constexpr std::string_view kFile = "file://";

}  // namespace

std::string path_of(const std::string& uri) {
  if (!uri.starts_with(kFile)) return uri;
  std::size_t at = uri.find('/', kFile.size());
  std::string out;
  for (at = std::min(at, uri.size()); at < uri.size(); ++at) {
    unsigned char byte = 0;  // %2F
    const char* const digits = uri.data() + at + 1;
    const bool escaped =
        uri[at] == '%' && at + 2 < uri.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    out += escaped ? static_cast<char>(byte) : uri[at];
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

const Document* Session::open_at(const std::string& path) const {
  const auto at =
      std::find_if(documents.begin(), documents.end(), [&](const auto& d) { return d.second.path == path; });
  return at == documents.end() ? nullptr : &at->second;
}

std::size_t Session::offset(const Document& d, const std::optional<Json>& params) {
  return d.text.offset({need_number(params, {"position", "line"}), need_number(params, {"position", "character"})},
                       units);
}

std::size_t Session::offset(const Text& text, const std::optional<Json>& params, std::string_view end) {
  return text.offset({need_number(params, {"range", end, "line"}), need_number(params, {"range", end, "character"})},
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
  if (const Document* d = open_at(path)) return d->tree;
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
  if (const Document* d = open_at(l.path))
    return object({{"uri", json_string(d->uri)}, {"range", range(d->text, l.begin, l.end)}});
  const auto tree = tree_at(l.path);
  return object({{"uri", json_string(uri_of(l.path))}, {"range", range(Text(tree ? tree->text : ""), l.begin, l.end)}});
}

std::optional<std::pair<std::size_t, std::size_t>> carried(const Shift& shift, grammar::Span span) {
  const auto begin = shift(span.begin, true), end = shift(span.end, span.begin == span.end);
  if (!begin || !end || *end < *begin) return std::nullopt;
  return std::pair(*begin, *end);
}

// ---- JSON of the protocol
std::string object(std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  std::string out = "{";
  for (const auto& [name, value] : fields) {
    if (value.empty()) continue;
    ((((out += out.size() > 1 ? ",\"" : "\"") += name) += "\":") += value);
  }
  return out += '}';
}

std::string list(const std::vector<std::string>& items) { return "[" + grammar::separated(items, ",") + "]"; }

std::string strings(const std::vector<std::string>& texts) {
  return "[" + grammar::separated(texts, ",", json_string) + "]";
}

std::optional<Json> find(const std::optional<Json>& in, std::initializer_list<std::string_view> path) {
  std::optional<Json> at = in;
  for (std::string_view name : path) at = at ? at->find(name) : std::nullopt;
  return at;
}

namespace {

[[noreturn]] void missing(std::initializer_list<std::string_view> path, const char* what) {
  std::string name = "params";
  for (std::string_view part : path) (name += '.') += part;
  throw Refused{kInvalidParams, name + " must be " + what};
}

}  // namespace

Json need(const std::optional<Json>& in, std::initializer_list<std::string_view> path) {
  const std::optional<Json> at = find(in, path);
  if (!at) missing(path, "there");
  return *at;
}

std::string need_text(const std::optional<Json>& in, std::initializer_list<std::string_view> path) {
  const std::optional<Json> at = find(in, path);
  const auto text = at ? at->text() : std::nullopt;
  if (!text) missing(path, "a string");
  return std::string(*text);
}

std::int64_t need_number(const std::optional<Json>& in, std::initializer_list<std::string_view> path) {
  const std::optional<Json> at = find(in, path);
  std::int64_t n = 0;
  if (!at || !at->integer(n)) missing(path, "a whole number");
  return n;
}

bool truth(const std::optional<Json>& in, std::initializer_list<std::string_view> path) {
  const std::optional<Json> at = find(in, path);
  return at && at->truth().value_or(false);
}

// ---- places in a text
namespace {

using grammar::continues;

// The units of the character that begins with `c`.
std::int64_t units_of(char c, Units units) {
  return units == Units::Utf16 && static_cast<unsigned char>(c) >= 0xf0 ? 2 : 1;
}

}  // namespace

Text::Text(std::string text) : text_(std::move(text)) { find_lines(); }

void Text::find_lines() {
  starts_.assign(1, 0);
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
    starts_.push_back(at + 1);
}

std::size_t Text::line_of(std::size_t offset) const {
  return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin()) - 1;
}

std::size_t Text::end_of(std::size_t line) const {
  std::size_t end = line + 1 < starts_.size() ? starts_[line + 1] - 1 : text_.size();
  if (line + 1 < starts_.size() && end > starts_[line] && text_[end - 1] == '\r') --end;
  return end;
}

Place Text::place(std::size_t offset, Units units) const {
  offset = std::min(offset, text_.size());
  const std::size_t line = line_of(offset), begin = starts_[line];
  Place out{static_cast<std::int64_t>(line), 0};
  if (units == Units::Utf8) {
    out.character = static_cast<std::int64_t>(offset - begin);
    return out;
  }
  for (std::size_t i = begin; i < offset; ++i)
    if (!continues(text_[i])) out.character += units_of(text_[i], units);
  return out;
}

std::size_t Text::offset(Place place, Units units) const {
  if (place.line < 0) return 0;
  if (static_cast<std::size_t>(place.line) >= starts_.size()) return text_.size();
  const auto line = static_cast<std::size_t>(place.line);
  std::size_t at = starts_[line];
  const std::size_t end = end_of(line);
  std::int64_t left = place.character;
  if (units == Units::Utf8) {
    at = left <= 0 ? at : static_cast<std::size_t>(left) > end - at ? end : at + static_cast<std::size_t>(left);
    while (at > starts_[line] && at < end && continues(text_[at])) --at;
    return at;
  }
  while (at < end && left > 0) {
    left -= units_of(text_[at], units);
    if (left < 0) break;  // within a pair
    for (++at; at < end && continues(text_[at]);) ++at;
  }
  return at;
}

void Text::replace(std::size_t begin, std::size_t end, std::string_view by) {
  text_.replace(begin, std::max(begin, end) - begin, by);
  find_lines();
}

Shift::Shift(std::string_view from, std::string_view to) : same_(from == to) {
  const auto [a, b] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  before_ = static_cast<std::size_t>(a - from.begin());
  std::size_t behind = 0;
  while (behind < from.size() - before_ && behind < to.size() - before_ &&
         from[from.size() - 1 - behind] == to[to.size() - 1 - behind])
    ++behind;
  from_end_ = from.size() - behind;
  to_end_ = to.size() - behind;
}

std::optional<std::size_t> Shift::operator()(std::size_t offset, bool begins) const {
  if (same_ || offset < before_ || (offset == before_ && !begins)) return offset;
  if (offset >= from_end_) return offset - from_end_ + to_end_;
  return offset == before_ ? std::optional(offset) : std::nullopt;
}

}  // namespace shard::lsp
