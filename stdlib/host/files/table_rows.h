// Rows of a table of text. Fields may stand in double quotes ("" is a quote inside), lines end with \n or \r\n, empty
// lines are passed over. The separator is the first of comma, tab, semicolon that the first line holds.
#pragma once
#include <string>
#include <vector>

#include "stdlib/host/files/byte_source.h"

namespace shard::stdlib {

class TableRows {
 public:
  explicit TableRows(Source& file);
  void restart();
  // The fields of the next row, and its line; false behind the last.
  bool next(std::vector<std::string>& fields, int& line);
  // The next row of a table that was gone through before.
  void again(std::vector<std::string>& fields, std::size_t columns);

 private:
  int peek();  // -1 at the end
  void take() { ++at_; }
  void fields_of_line(std::vector<std::string>& out);

  Source& file_;
  std::uint64_t begin_ = 0, from_ = 0;  // where the text begins, and the chunk
  std::size_t at_ = 0, have_ = 0;
  std::string chunk_;
  char separator_ = 0;
  int line_ = 0;
};

}  // namespace shard::stdlib
