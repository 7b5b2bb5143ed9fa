#include "interpreter/lang/check/type_text.h"

#include <algorithm>
#include <cctype>

#include "interpreter/lang/check/join.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/staging/placeholders.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using trace::Tensor;

std::string blank(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) {
      out += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    out += end - i >= 8 && end - i <= 19 ? "_" : text.substr(i, end - i);  // also what is left of one when it is split
    i = end;
  }
  return out;
}

std::string type_text(Interpreter::Impl& m, const Value& v, const LayoutOf& layout) {
  if (is_nothing(v)) return "_";
  if (auto* t = v.get<Tensor>()) {
    if (const auto kind = number_kind(v))
      return *kind == runtime::DType::Bool ? "bool[]" : *kind == runtime::DType::F32 ? "float" : "int";
    runtime::Type type = m.ctx.type_of(*t);
    const auto info = !t->traced() ? std::optional(exec::array_info(*t->array())) : layout ? layout(*t) : std::nullopt;
    if (info) type = **type_of(*info).get<std::shared_ptr<const runtime::Type>>();
    type.weak = false;
    const bool of_data = std::any_of(type.shape.begin(), type.shape.end(), is_unknown_size);
    return of_data ? blank(runtime::to_string(type)) : runtime::to_string(type);
  }
  auto list = [&](const std::vector<Value>& items) {
    std::vector<std::string> parts;
    for (const Value& x : items) parts.push_back(type_text(m, x, layout));
    const auto alike = [&](const std::string& p) { return p == parts[0]; };
    if (parts.size() > 3 && std::all_of(parts.begin(), parts.end(), alike))
      return std::to_string(parts.size()) + " * " + parts[0];
    std::string out;
    for (std::size_t i = 0; i < parts.size(); ++i) out += (i ? ", " : "") + parts[i];
    return out;
  };
  if (auto* items = v.items()) {
    if (v.is<std::shared_ptr<List>>()) return "[" + list(*items) + "]";
    return "(" + list(*items) + (items->size() == 1 ? ",)" : ")");
  }
  if (auto* r = v.fields()) {
    std::string out;
    for (const auto& [name, x] : r->fields) out += (out.empty() ? "" : ", ") + name + ": " + type_text(m, x, layout);
    return "{" + out + "}";
  }
  if (v.is<std::shared_ptr<const runtime::Type>>()) return "type";
  return kind_name(v);
}

}  // namespace shard::lang
