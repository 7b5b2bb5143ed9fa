// Tables of text. Fields may stand in double quotes ("" is a quote inside), lines end with \n or \r\n, empty lines are
// passed over. The separator is the first of comma, tab, semicolon that the first line holds.
#include <charconv>
#include <cmath>
#include <limits>

#include "stdlib/host/files/formats.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::Value;
using runtime::DType;
using runtime::RuntimeError;

struct Table {
  std::vector<std::string> names;  // of a first line that holds a field that is no number
  std::vector<std::string> cells;  // row by row
  std::size_t columns = 0;
  std::vector<int> lines;  // line number of each row, for errors
  std::size_t rows() const { return lines.size(); }
};

std::string_view trimmed(std::string_view s) {
  const auto a = s.find_first_not_of(" \t\r"), b = s.find_last_not_of(" \t\r");
  return a == std::string_view::npos ? std::string_view() : s.substr(a, b - a + 1);
}

bool number(std::string_view s, double& out) {
  s = trimmed(s);
  if (s.size() > 1 && s[0] == '+') s.remove_prefix(1);
  const auto r = std::from_chars(s.data(), s.data() + s.size(), out);
  return !s.empty() && r.ec == std::errc() && r.ptr == s.data() + s.size();
}

bool integer(std::string_view s) {
  s = trimmed(s);
  std::int32_t i = 0;
  if (s.size() > 1 && s[0] == '+') s.remove_prefix(1);
  const auto r = std::from_chars(s.data(), s.data() + s.size(), i);
  return !s.empty() && r.ec == std::errc() && r.ptr == s.data() + s.size();
}

// The fields of the line that begins at `at`, which is moved behind it.
std::vector<std::string> fields_of_line(std::string_view text, std::size_t& at, char separator, int& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\n') ++line;
      if (c != '"')
        out.back() += c;
      else if (at + 1 < text.size() && text[at + 1] == '"')
        out.back() += '"', ++at;
      else
        quoted = false;
    } else if (c == '"' && trimmed(out.back()).empty()) {
      quoted = true;
      out.back().clear();
    } else if (c == separator) {
      out.emplace_back();
    } else if (c == '\n') {
      ++at;
      break;
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  if (quoted)
    throw RuntimeError("io", "a quoted field that begins before line " + std::to_string(line) + " is never closed");
  return out;
}

Table read_table(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  const std::string_view first = text.substr(0, text.find('\n'));
  const char separator = first.find(',') != std::string_view::npos    ? ','
                         : first.find('\t') != std::string_view::npos ? '\t'
                         : first.find(';') != std::string_view::npos  ? ';'
                                                                      : ',';
  Table t;
  int line = 0;
  bool fresh = true;
  for (std::size_t at = 0; at < text.size();) {
    const int here = ++line;
    std::vector<std::string> row = fields_of_line(text, at, separator, line);
    if (row.size() == 1 && trimmed(row[0]).empty()) continue;
    if (fresh) {
      fresh = false;
      t.columns = row.size();
      double unused = 0;
      bool names = false;
      for (const std::string& f : row) names = names || !number(f, unused);
      if (names) {
        for (const std::string& f : row) t.names.emplace_back(trimmed(f));
        continue;
      }
    }
    if (row.size() != t.columns)
      throw RuntimeError("io", "line " + std::to_string(here) + " has " + std::to_string(row.size()) +
                                   " fields, the first has " + std::to_string(t.columns));
    for (std::string& f : row) t.cells.push_back(std::move(f));
    t.lines.push_back(here);
  }
  return t;
}

// `count` cells from `first`, `step` apart, as one array; none where one is no number.
Value numbers(lang::Interpreter& in, const Table& t, std::size_t first, std::size_t step, std::size_t count,
              runtime::Shape shape, bool must) {
  std::vector<double> values(count);
  bool whole = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = first + i * step;
    const std::string& cell = t.cells[at];
    if (!number(cell, values[i])) {
      if (!must) return {};
      throw RuntimeError("io", "line " + std::to_string(t.lines[at / t.columns]) + ", field " +
                                   std::to_string(at % t.columns + 1) + " is no number: \"" + cell.substr(0, 40) +
                                   "\"; read_csv(path) takes columns of text too");
    }
    whole = whole && integer(cell);
  }
  if (whole && count > 0) {
    std::vector<std::int32_t> ints(values.begin(), values.end());
    return new_array(in, DType::I32, std::move(shape), ints.data());
  }
  std::vector<float> floats(values.begin(), values.end());
  return new_array(in, DType::F32, std::move(shape), floats.data());
}

std::string number_text(const runtime::DeviceArray& host, std::int64_t at) {
  char text[40];
  if (host.type.dtype == DType::Bool || runtime::is_integer(host.type.dtype))
    return std::string(text, std::to_chars(text, text + sizeof text, runtime::element_int(host, at)).ptr);
  const double d = runtime::element_double(host, at);
  if (host.type.dtype == DType::F64) return std::string(text, std::to_chars(text, text + sizeof text, d).ptr);
  return std::string(text,
                     std::to_chars(text, text + sizeof text, static_cast<float>(d)).ptr);  // shortest that reads back
}

std::string quoted_field(const std::string& s) {
  if (s.find_first_of(",\"\n\r\t;") == std::string::npos && s == trimmed(s)) return s;
  std::string out = "\"";
  for (const char c : s) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// The cells of a column: numbers of an array of rank 1, or numbers and texts of a list.
std::vector<std::string> cells_of(lang::Interpreter& in, const Value& v, const std::string& name) {
  std::vector<std::string> out;
  if (v.is_tensor() && v.tensor().type().rank() == 1) {
    const runtime::ArrayRef host = runtime::to_host(in.context().pool(), in.context().concrete(v.tensor(), "save"));
    for (std::int64_t i = 0; i < host->type.shape[0]; ++i) out.push_back(number_text(*host, i));
    return out;
  }
  if (!v.items())
    throw RuntimeError(
        "io", "the column " + name + " is " + lang::kind_name(v) + "; arrays of rank 1 and lists can be columns");
  for (const Value& x : *v.items()) {
    if (!x.is_string() && !x.is_host_number())
      throw RuntimeError("io", "the column " + name + " holds " + lang::kind_name(x));
    out.push_back(x.is_string() ? quoted_field(x.str()) : in.show(x));
  }
  return out;
}

}  // namespace

std::string write_csv(lang::Interpreter& in, const Value& table) {
  std::string out;
  if (const lang::Record* r = table.fields()) {
    std::vector<std::vector<std::string>> columns;
    for (const auto& [name, v] : r->fields) {
      out += (columns.empty() ? "" : ",") + quoted_field(name);
      columns.push_back(cells_of(in, v, name));
      if (columns.back().size() != columns[0].size())
        throw RuntimeError("io", "the columns " + r->fields[0].first + " and " + name + " differ in length");
    }
    out += '\n';
    for (std::size_t i = 0; !columns.empty() && i < columns[0].size(); ++i)
      for (std::size_t c = 0; c < columns.size(); ++c) out += columns[c][i] + (c + 1 < columns.size() ? "," : "\n");
    return out;
  }
  if (!table.is_tensor() || table.tensor().type().rank() < 1 || table.tensor().type().rank() > 2)
    throw RuntimeError(
        "io", "a csv file holds an array of rank 1 or 2, or a record of columns; this is " + lang::kind_name(table));
  const runtime::ArrayRef host = runtime::to_host(in.context().pool(), in.context().concrete(table.tensor(), "save"));
  const std::int64_t columns = host->type.rank() == 2 ? host->type.shape[1] : 1,
                     cells = runtime::numel(host->type.shape);
  for (std::int64_t i = 0; i < cells; ++i) out += number_text(*host, i) + ((i + 1) % columns ? "," : "\n");
  return out;
}

Value read_csv_array(lang::Interpreter& in, std::string_view text) {
  const Table t = read_table(text);
  if (t.columns == 0) throw RuntimeError("io", "it holds no line with fields");
  const auto rows = static_cast<std::int64_t>(t.rows()), columns = static_cast<std::int64_t>(t.columns);
  return numbers(in, t, 0, 1, t.cells.size(), {rows, columns}, true);
}

Value read_csv_columns(lang::Interpreter& in, std::string_view text) {
  const Table t = read_table(text);
  if (t.names.empty()) throw RuntimeError("io", "its first line names no columns; load(path) reads it as one array");
  std::vector<std::pair<std::string, Value>> out;
  for (std::size_t c = 0; c < t.columns; ++c) {
    for (const auto& f : out)
      if (f.first == t.names[c]) throw RuntimeError("io", "two columns are called \"" + t.names[c] + "\"");
    Value v = numbers(in, t, c, t.columns, t.rows(), {static_cast<std::int64_t>(t.rows())}, false);
    if (v.is_none()) {
      std::vector<Value> texts;
      for (std::size_t r = 0; r < t.rows(); ++r) texts.push_back(Value::string(t.cells[r * t.columns + c]));
      v = Value::list(std::move(texts));
    }
    out.emplace_back(t.names[c], std::move(v));
  }
  return Value::record(std::move(out));
}

}  // namespace shard::stdlib
