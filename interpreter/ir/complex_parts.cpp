#include "interpreter/ir/complex_parts.h"

#include <algorithm>

namespace shard::ir {

Var real_part(Builder& b, Var x) { return is_complex(b, x) ? b.emit1(*b.core().real_part, {x}) : x; }
Var imag_part(Builder& b, Var x) { return is_complex(b, x) ? b.emit1(*b.core().imag_part, {x}) : zeros(b, b.type(x)); }
Var complex_of(Builder& b, Var re, Var im) { return b.emit1(*b.core().complex_pair, {re, im}); }

bool told_by_parts(const Builder& b, const OpDef& op, std::span<const Var> operands, const Attrs& attrs) {
  bool any = std::any_of(operands.begin(), operands.end(), [&](Var v) { return is_complex(b, v); });
  const bool said = !std::holds_alternative<std::monostate>(op.of_complex);
  if (!any && std::holds_alternative<Compose>(op.of_complex)) {  // what is to become complex
    const AttrValue* to = attrs.find("dtype");
    const auto* dtype = to ? std::get_if<runtime::DType>(to) : nullptr;
    any = dtype && runtime::is_complex(*dtype);
  }
  if (std::holds_alternative<InKernel>(op.of_complex)) return false;
  if (!any || said) return any;
  if (structure_of(op) || std::holds_alternative<ViewOf>(op.kernel)) return false;
  const auto* code = std::get_if<runtime::Code>(&op.kernel);
  if (code && (runtime::facts(*code).takes & runtime::kComplexes)) return false;
  throw runtime::RuntimeError(
      "dtype", std::string(op.name) + " is not for complex numbers: take `real(x)`, `imag(x)` or `abs(x)`");
}

Vars by_parts(Builder& b, const OpDef& op, std::span<const Var> operands, const Attrs& attrs) {
  Vars in(operands.begin(), operands.end());
  if (op.dtype.operands != Operands::AsIs && !in.empty()) {
    std::optional<runtime::Kind> kind = b.type(in[0]).kind();
    for (Var v : in) kind = kind ? runtime::promote(*kind, b.type(v).kind()) : kind;
    if (!kind) throw runtime::RuntimeError("dtype", std::string(op.name) + " cannot join complex numbers and these");
    for (Var& v : in) v = convert(b, v, kind->dtype, kind->weak);
  }
  if (auto* compose = std::get_if<Compose>(&op.of_complex)) return (*compose)(b, in, attrs);
  Vars re = in, im = in;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (is_complex(b, in[i])) re[i] = real_part(b, in[i]), im[i] = imag_part(b, in[i]);
  re = b.emit(op, re, attrs), im = b.emit(op, im, attrs);
  for (std::size_t i = 0; i < re.size(); ++i) re[i] = complex_of(b, re[i], im[i]);
  return re;
}

}  // namespace shard::ir
