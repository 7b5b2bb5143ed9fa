#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "interpreter/cli/repl/colours.h"
#include "interpreter/cli/repl/repl.h"
#include "interpreter/cli/terminal.h"
#include "interpreter/exec/executable.h"
#include "interpreter/lang/staging/jit.h"
#include "interpreter/lang/values/tree.h"
#include "interpreter/lang/values/value_text.h"
#include "runtime/array/array_text.h"

namespace shard::cli {
namespace {

using lang::Value;

constexpr std::size_t kLines = 8;  // of an array's numbers; print shows all

bool holds_arrays(const Value& v) {
  const std::vector<Value> all = lang::leaves(v);
  return std::any_of(all.begin(), all.end(),
                     [](const Value& leaf) { return leaf.is_tensor() && !leaf.tensor().known(); });
}

std::string array_type(lang::Interpreter& in, const trace::Tensor& t) {
  if (t.traced()) return runtime::to_string(t.type());
  return in.repr(lang::type_of(exec::array_info(*t.array())));
}

// The first and the last rows of a long text: what is left out ends where a row ends, and takes along the rows that
// stand for others ("...") and the empty lines beside them, so that numbers are elided once.
std::string abridged(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (lines.size() <= kLines) return text;
  const auto between = [&](std::size_t i) {  // a line without numbers
    return lines[i].find_first_not_of(" .") == std::string::npos;
  };
  const auto ends_row = [&](std::size_t i) { return between(i) || lines[i].ends_with(']'); };
  std::size_t head = 0, tail = lines.size() - (kLines / 2 - 1);
  while (head < kLines / 2 && !between(head)) ++head;
  for (std::size_t i = lines.size(); i-- > tail;)
    if (between(i)) tail = i + 1;
  std::size_t row = head;  // rows of several lines stay whole where they fit
  while (row > 0 && !ends_row(row - 1)) --row;
  if (row > 0) head = row;
  for (row = tail; row < lines.size() && !ends_row(row - 1);) ++row;
  if (row < lines.size()) tail = row;
  std::string out;
  for (std::size_t i = 0; i < head; ++i) out += lines[i] + "\n";
  out += " ... " + std::to_string(tail - head) + " lines more: print shows them";
  for (std::size_t i = tail; i < lines.size(); ++i) out += "\n" + lines[i];
  return out;
}

}  // namespace

std::string type_shown(lang::Interpreter& in, const Value& v) {
  if (v.is_tensor() && !v.tensor().known()) return array_type(in, v.tensor());
  if (v.items() || v.fields()) return lang::bracketed(v, [&](const Value& x) { return type_shown(in, x); });
  if (v.is<bool>()) return "bool[]";
  if (v.is<std::int64_t>()) return "i32[]";
  if (v.is<double>()) return "f32[]";
  return lang::kind_name(v);
}

std::string shown(lang::Interpreter& in, const Value& v) {
  const auto painted = [](const std::string& type) { return colored(STDOUT_FILENO) ? inked(type) : type; };
  const int window = in.screen().width();
  const runtime::LineLimit limit(window - 1);
  if (!holds_arrays(v)) return in.repr(v);
  if (v.items() || v.fields()) return painted(type_shown(in, v));
  const std::string type = array_type(in, v.tensor()), numbers = abridged(in.repr(v));
  const bool line = numbers.find('\n') == std::string::npos &&
                    static_cast<int>(type.size() + numbers.size()) < std::min(76, window - 2);
  return painted(type) + (line ? "  " : "\n") + numbers;
}

}  // namespace shard::cli
