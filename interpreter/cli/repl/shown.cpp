#include "interpreter/cli/repl/shown.h"

#include <unistd.h>

#include <algorithm>

#include "interpreter/cli/repl/ink.h"
#include "interpreter/cli/terminal.h"
#include "interpreter/exec/executable.h"
#include "interpreter/lang/staging/placeholders.h"
#include "interpreter/lang/values/format.h"
#include "interpreter/lang/values/tree.h"
#include "runtime/array/format.h"

namespace shard::cli {
namespace {

using lang::Value;

constexpr int kLines = 8;  // of an array's numbers; print shows all

bool holds_arrays(const Value& v) {
  const std::vector<Value> all = lang::leaves(v);
  return std::any_of(all.begin(), all.end(),
                     [](const Value& leaf) { return leaf.is_tensor() && !leaf.tensor().known(); });
}

std::string array_type(lang::Interpreter& in, const trace::Tensor& t) {
  if (t.traced()) return runtime::to_string(t.type());
  return in.repr(lang::type_of(exec::array_info(*t.array())));
}

// The first and the last lines of a long text.
std::string abridged(const std::string& text) {
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  if (lines <= kLines) return text;
  std::size_t head = 0, tail = text.size();
  for (int i = 0; i < kLines / 2; ++i) head = text.find('\n', head) + 1;
  for (int i = 0; i < kLines / 2 - 1; ++i) tail = text.rfind('\n', tail - 1);
  return text.substr(0, head) + " ... " + std::to_string(lines - kLines + 1) + " lines more: print shows them" +
         text.substr(tail);
}

}  // namespace

std::string type_shown(lang::Interpreter& in, const Value& v) {
  if (v.is_tensor() && !v.tensor().known()) return array_type(in, v.tensor());
  if (v.items() || v.fields()) {
    std::string out;
    const auto part = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
    if (const lang::Record* r = v.fields()) {
      for (const auto& [name, x] : r->fields) part(name + ": " + type_shown(in, x));
      return "{" + out + "}";
    }
    for (const Value& x : *v.items()) part(type_shown(in, x));
    if (v.is<std::shared_ptr<lang::List>>()) return "[" + out + "]";
    return "(" + out + (v.items()->size() == 1 ? ",)" : ")");
  }
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
