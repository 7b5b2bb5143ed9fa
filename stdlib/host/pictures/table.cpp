// table: records as lines, a column for each name, never wider than the window.
#include <algorithm>

#include "grammar/characters.h"
#include "interpreter/lang/report/report.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

constexpr std::size_t kMostRows = 100;  // of more the first and the last are shown
constexpr int kLeastColumn = 4, kGap = 2;

struct TableColumn {
  std::string name;
  std::vector<std::string> cells;
  bool numbers = true;  // which stand to the right
  int width = 0;
};

int text_columns(const std::string& text) {
  int n = 0;
  for (std::size_t at = 0; at < text.size();) n += lang::columns_of(grammar::decode(text, at));
  return n;
}

// At most `width` columns of it, the last of which tells that there is more.
std::string cut_text(const std::string& text, int width) {
  if (text_columns(text) <= width) return text;
  int n = 0;
  std::size_t at = 0, end = 0;
  while (at < text.size()) {
    n += lang::columns_of(grammar::decode(text, at));
    if (n > width - 1) break;
    end = at;
  }
  return text.substr(0, end) + "…";
}

// A line of its own: what a cell shows has none.
std::string in_one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  return text;
}

class TableText {
 public:
  TableText(Interpreter& in, const std::vector<Value>& records, grammar::Span span) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      const lang::Record* r = records[i].fields();
      if (!r)
        in.fail(
            "type", span,
            "table takes a list of records; the item at [" + std::to_string(i) + "] is " + lang::kind_name(records[i]));
      for (const auto& [name, v] : r->fields) {
        TableColumn& c = column(name);
        c.cells.resize(i);
        c.cells.push_back(in_one_line(in.show(v)));
        c.numbers = c.numbers && (v.is_host_number() || v.is_tensor());
      }
    }
    rows_ = records.size();
    for (TableColumn& c : columns_) {
      c.cells.resize(rows_);
      c.width = text_columns(c.name);
      for (const std::string& cell : c.cells) c.width = std::max(c.width, text_columns(cell));
    }
  }

  std::string draw(int window) {
    const std::vector<std::string> hidden = fit(window);
    std::string out = line([](const TableColumn& c) { return c.name; });
    std::string rule;
    for (const TableColumn& c : columns_) {
      rule += rule.empty() ? "" : "  ";
      for (int i = 0; i < c.width; ++i) rule += "─";
    }
    out += rule + "\n";
    for (std::size_t i = 0; i < rows_; ++i) {
      if (rows_ > kMostRows && i == kMostRows / 2) {
        out += "... " + std::to_string(rows_ - kMostRows) + " more\n";
        i = rows_ - kMostRows / 2;
      }
      out += line([i](const TableColumn& c) { return c.cells[i]; });
    }
    if (hidden.empty()) return out;
    std::string names = "not shown:";
    for (const std::string& name : hidden) names += " " + name;
    return out + cut_text(names, window) + "\n";
  }

 private:
  TableColumn& column(const std::string& name) {
    for (TableColumn& c : columns_)
      if (c.name == name) return c;
    columns_.push_back({name, {}, true, 0});
    return columns_.back();
  }

  int total() const {
    int n = -kGap;
    for (const TableColumn& c : columns_) n += c.width + kGap;
    return n;
  }

  // The widest columns are made narrower first; then the last ones are left out, whose names it gives.
  std::vector<std::string> fit(int window) {
    std::vector<std::string> hidden;
    while (!columns_.empty() && total() > window) {
      auto widest = std::max_element(columns_.begin(), columns_.end(),
                                     [](const TableColumn& a, const TableColumn& b) { return a.width < b.width; });
      const int least = widest->numbers ? 9 : kLeastColumn;  // half a number is a wrong one: seldom
      if (widest->width > least || columns_.size() == 1) {
        if (widest->width <= kLeastColumn) break;
        --widest->width;
      } else {
        hidden.insert(hidden.begin(), columns_.back().name);
        columns_.pop_back();
      }
    }
    return hidden;
  }

  template <class Cell>
  std::string line(const Cell& cell) const {
    std::string out;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const TableColumn& c = columns_[j];
      const std::string text = cut_text(cell(c), c.width);
      const std::string space(static_cast<std::size_t>(c.width - text_columns(text)), ' ');
      out += (j ? "  " : "") + (c.numbers ? space + text : text + space);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
  }

  std::vector<TableColumn> columns_;
  std::size_t rows_ = 0;
};

// A record of columns, {step: [..], loss: [..]}, as records.
std::vector<Value> rows_of(Interpreter& in, const lang::Record& columns, grammar::Span span) {
  std::vector<Value> out;
  std::vector<std::vector<Value>> items;
  for (const auto& [name, v] : columns.fields) {
    items.push_back(items_of(in, v, span, "table"));
    if (items.back().size() != items[0].size())
      in.fail("call", span,
              "table takes columns of one length; `" + columns.fields[0].first + "` has " +
                  std::to_string(items[0].size()) + " and `" + name + "` " + std::to_string(items.back().size()));
  }
  for (std::size_t i = 0; !items.empty() && i < items[0].size(); ++i) {
    std::vector<std::pair<std::string, Value>> fields;
    for (std::size_t j = 0; j < items.size(); ++j) fields.emplace_back(columns.fields[j].first, items[j][i]);
    out.push_back(Value::record(std::move(fields)));
  }
  return out;
}

Value table(Interpreter& in, BoundArgs& a) {
  const grammar::Span span = a.args[0].span;
  const std::vector<Value> records =
      a[0].fields() ? rows_of(in, *a[0].fields(), span) : items_of(in, a[0], span, "table");
  TableText text(in, records, span);
  if (!in.context().types_only()) in.write(text.draw(in.screen().width()));
  return {};
}

}  // namespace

void register_table(Interpreter& in) {
  in.define(
      {"table", "table(records)",
       "Prints a list of records as a table with a column for each name, or a record of columns; numbers stand to "
       "the right. It fits the window: wide columns are cut, then the last are left out and named below.",
       table});
}

}  // namespace shard::stdlib
