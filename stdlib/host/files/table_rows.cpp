#include "stdlib/host/files/table_rows.h"

#include "grammar/characters.h"

namespace shard::stdlib {

TableRows::TableRows(Source& file) : file_(file) {
  if (file.text(0, 3) == "\xef\xbb\xbf") begin_ = 3;  // a byte order mark
  restart();
  bool first = true;
  for (int c = peek(); first && c >= 0 && c != '\n'; c = peek()) {
    if (c == ',') first = false, separator_ = ',';
    if (c == '\t') separator_ = '\t';
    if (c == ';' && separator_ == 0) separator_ = ';';
    take();
  }
  if (separator_ == 0) separator_ = ',';
  restart();
}

void TableRows::restart() {
  at_ = have_ = 0;
  from_ = begin_;
  line_ = 0;
}

bool TableRows::next(std::vector<std::string>& fields, int& line) {
  while (peek() >= 0) {
    line = ++line_;
    fields_of_line(fields);
    if (fields.size() != 1 || !grammar::trimmed(fields[0]).empty()) return true;
  }
  return false;
}

void TableRows::again(std::vector<std::string>& fields, std::size_t columns) {
  int line = 0;
  if (!next(fields, line) || fields.size() != columns) refuse_file("it was changed while it was read");
}

int TableRows::peek() {
  if (at_ == have_) {
    chunk_.resize(1 << 18);
    from_ += have_;
    at_ = 0;
    have_ = file_.read_some(from_, chunk_.data(), chunk_.size());
    if (have_ == 0) return -1;
  }
  return static_cast<unsigned char>(chunk_[at_]);
}

void TableRows::fields_of_line(std::vector<std::string>& out) {
  out.assign(1, "");
  bool quoted = false;
  for (int next = peek(); next >= 0; next = peek()) {
    const char c = static_cast<char>(next);
    take();
    if (quoted) {
      if (c == '\n') ++line_;
      if (c != '"')
        out.back() += c;
      else if (peek() == '"')
        out.back() += '"', take();
      else
        quoted = false;
    } else if (c == '"' && grammar::trimmed(out.back()).empty()) {
      quoted = true;
      out.back().clear();
    } else if (c == separator_) {
      out.emplace_back();
    } else if (c == '\n') {
      break;
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  if (quoted) refuse_file("a quoted field that begins before line " + std::to_string(line_) + " is never closed");
}

}  // namespace shard::stdlib
