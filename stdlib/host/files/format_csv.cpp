// Tables of text as files of arrays. One is read twice: once for its sizes and types, once for its elements; in between
// nothing of it is kept.
#include <charconv>
#include <functional>
#include <limits>

#include "grammar/characters.h"
#include "stdlib/host/files/format.h"
#include "stdlib/host/files/table_rows.h"
#include "stdlib/host/files/text.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

// Whether all of a field is such a number.
template <class T>
bool read_field(std::string_view s, T& out) {
  s = grammar::trimmed(s);
  if (s.size() > 1 && s[0] == '+') s.remove_prefix(1);
  const auto r = std::from_chars(s.data(), s.data() + s.size(), out);
  return !s.empty() && r.ec == std::errc() && r.ptr == s.data() + s.size();
}

bool is_number(std::string_view s) {
  double unused = 0;
  return read_field(s, unused);
}

bool is_integer(std::string_view s) {
  std::int32_t unused = 0;
  return read_field(s, unused);
}

// What a table holds, but for the fields themselves.
struct Survey {
  std::vector<std::string> names;  // of a first line that holds a field that is no number
  std::size_t columns = 0;
  std::int64_t rows = 0;
  std::vector<char> numbers, whole;  // by column: all fields are numbers; are integers of 32 bits
  std::string no_number;             // says where the first field is that is none

  explicit Survey(TableRows& table) {
    std::vector<std::string> row;
    for (int line = 0; table.next(row, line);) {
      if (columns == 0) {
        columns = row.size();
        numbers.assign(columns, 1), whole.assign(columns, 1);
        bool named = false;
        for (const std::string& f : row) named = named || !is_number(f);
        if (named) {
          for (const std::string& f : row) names.emplace_back(grammar::trimmed(f));
          continue;
        }
      }
      if (row.size() != columns)
        refuse_file("line " + std::to_string(line) + " has " + std::to_string(row.size()) + " fields, the first has " +
                    std::to_string(columns));
      ++rows;
      for (std::size_t c = 0; c < columns; ++c) look_at(row[c], line, c);
    }
  }

 private:
  void look_at(const std::string& field, int line, std::size_t c) {
    if (whole[c] && is_integer(field)) return;
    whole[c] = 0;
    if (is_number(field)) return;
    numbers[c] = 0;
    if (no_number.empty())
      no_number = "line " + std::to_string(line) + ", field " + std::to_string(c + 1) + " is no number: \"" +
                  field.substr(0, 40) + "\"; read_csv(path) takes columns of text too";
  }
};

void put(const runtime::View& to, std::int64_t at, const std::string& field) {
  double x = 0;
  read_field(field, x);
  if (to.dtype == DType::I32)
    to.as<std::int32_t>()[at] = static_cast<std::int32_t>(x);
  else if (float& element = to.as<float>()[at]; !read_field(field, element))  // rounded once
    element = static_cast<float>(x);                                          // too large or too small for one
}

// The whole table as one array: i32 where all fields are integers, else f32.
class Csv : public Contents {
 public:
  explicit Csv(Source& file) : rows_(file), survey_(rows_) {
    if (survey_.columns == 0) refuse_file("it holds no line with fields");
    if (!survey_.no_number.empty()) refuse_file(survey_.no_number);
    bool whole = survey_.rows > 0;
    for (const char w : survey_.whole) whole = whole && w;
    arrays.push_back({"", whole ? DType::I32 : DType::F32, {survey_.rows, static_cast<std::int64_t>(survey_.columns)}});
  }

  void read(std::size_t, const ArrayPart& block) override {
    std::vector<std::string> row;
    rows_.restart();
    if (!survey_.names.empty()) rows_.again(row, survey_.columns);
    const std::int64_t first = block.origin[0], end = first + block.to.shape[0];
    for (std::int64_t r = 0; r < end; ++r) {
      rows_.again(row, survey_.columns);
      for (std::int64_t c = 0; r >= first && c < block.to.shape[1]; ++c)
        put(block.to, (r - first) * block.to.strides[0] + c * block.to.strides[1],
            row[static_cast<std::size_t>(block.origin[1] + c)]);
    }
  }
  Value tree(std::vector<Value> values) override { return std::move(values[0]); }

 private:
  TableRows rows_;
  Survey survey_;
};

std::string number_text(DType dtype, const char* element) {
  if (dtype == DType::Bool || runtime::is_integer(dtype)) return std::to_string(runtime::element_int(dtype, element));
  return float_text(runtime::element_double(dtype, element), dtype != DType::F64);
}

ArrayRef real_array(Interpreter& in, const Value& v) {
  const DType dtype = v.tensor().type().dtype;
  if (runtime::is_complex(dtype) || dtype == DType::Key)
    refuse_file("a csv file holds real numbers, this is " + lang::kind_name(v) +
                (dtype == DType::Key ? ": save key_data(x)" : ": save real(x) and imag(x), or another ending"));
  return array_to_write(in, v);
}

std::string quoted_field(const std::string& s) {
  if (s.find_first_of(",\"\n\r\t;") == std::string::npos && s == grammar::trimmed(s)) return s;
  std::string out = "\"";
  for (const char c : s) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// The cells of a column, one after the other: numbers of an array of rank 1, or numbers and texts of a list.
struct CsvColumn {
  std::int64_t length;
  std::function<std::string()> next;
};

CsvColumn column_of(Interpreter& in, const Value& v, const std::string& name) {
  if (v.is_tensor() && v.tensor().type().rank() == 1) {
    const ArrayRef a = real_array(in, v);
    const auto pieces = std::make_shared<runtime::Pieces>(in.context().pool(), a, std::size_t{1} << 18);
    return {a->type.shape[0], [a, pieces, piece = std::string_view()]() mutable {
              if (piece.empty()) piece = pieces->next();
              const std::string text = number_text(a->type.dtype, piece.data());
              piece.remove_prefix(runtime::size_of(a->type.dtype));
              return text;
            }};
  }
  const auto* items = v.items();
  if (!items)
    refuse_file("the column " + name + " is " + lang::kind_name(v) + "; arrays of rank 1 and lists can be columns");
  for (const Value& x : *items)
    if (!x.is_string() && !x.is_host_number()) refuse_file("the column " + name + " holds " + lang::kind_name(x));
  return {static_cast<std::int64_t>(items->size()), [&in, items, at = std::size_t{0}]() mutable {
            const Value& x = (*items)[at++];
            return x.is_string() ? quoted_field(x.str()) : in.show(x);
          }};
}

void write_columns(Interpreter& in, const lang::Record& r, Sink& file) {
  std::vector<CsvColumn> columns;
  std::string line;
  for (const auto& [name, v] : r.fields) {
    line += (columns.empty() ? "" : ",") + quoted_field(name);
    columns.push_back(column_of(in, v, name));
    if (columns.back().length != columns[0].length)
      refuse_file("the columns " + r.fields[0].first + " and " + name + " differ in length");
  }
  file.write(line + "\n");
  for (std::int64_t i = 0; !columns.empty() && i < columns[0].length; ++i) {
    line.clear();
    for (CsvColumn& c : columns) line += (&c == columns.data() ? "" : ",") + c.next();
    file.write(line + "\n");
  }
}

void write_csv(Interpreter& in, const Value& table, Sink& file) {
  if (const lang::Record* r = table.fields()) return write_columns(in, *r, file);
  if (!table.is_tensor() || table.tensor().type().rank() < 1 || table.tensor().type().rank() > 2)
    refuse_file("a csv file holds an array of rank 1 or 2, or a record of columns; this is " + lang::kind_name(table));
  const ArrayRef a = real_array(in, table);
  const std::int64_t columns = a->type.rank() == 2 ? a->type.shape[1] : 1;
  std::int64_t i = 0;
  each_piece(in, a, [&](std::string_view piece) {
    for (; !piece.empty(); piece.remove_prefix(runtime::size_of(a->type.dtype)))
      file.write(number_text(a->type.dtype, piece.data()) + (++i % columns ? "," : "\n"));
  });
}

}  // namespace

Value read_csv_columns(Interpreter& in, Source& file) {
  TableRows rows(file);
  const Survey survey(rows);
  if (survey.names.empty()) refuse_file("its first line names no columns; load(path) reads it as one array");
  std::vector<std::shared_ptr<runtime::DeviceArray>> arrays(survey.columns);
  std::vector<std::vector<Value>> texts(survey.columns);
  for (std::size_t c = 0; c < survey.columns; ++c) {
    for (std::size_t before = 0; before < c; ++before)
      if (survey.names[before] == survey.names[c]) refuse_file("two columns are called \"" + survey.names[c] + "\"");
    if (survey.numbers[c])
      arrays[c] = runtime::new_block(in.context().pool(), survey.whole[c] && survey.rows > 0 ? DType::I32 : DType::F32,
                                     {survey.rows});
  }
  std::vector<std::string> row;
  rows.restart();
  rows.again(row, survey.columns);
  for (std::int64_t r = 0; r < survey.rows; ++r) {
    rows.again(row, survey.columns);
    for (std::size_t c = 0; c < survey.columns; ++c)
      if (arrays[c])
        put(arrays[c]->view(), r, row[c]);
      else
        texts[c].push_back(Value::string(row[c]));
  }
  std::vector<std::pair<std::string, Value>> out;
  for (std::size_t c = 0; c < survey.columns; ++c)
    out.emplace_back(survey.names[c],
                     arrays[c] ? Value(Tensor(ArrayRef(std::move(arrays[c])))) : Value::list(std::move(texts[c])));
  return Value::record(std::move(out));
}

Format csv_format() {
  const auto recognises = [](std::string_view, std::string_view path) {
    return path.ends_with(".csv") || path.ends_with(".tsv");
  };
  return {"csv", {".csv"}, "an array or a record of columns", recognises, opened<Csv>, write_csv};
}

}  // namespace shard::stdlib
