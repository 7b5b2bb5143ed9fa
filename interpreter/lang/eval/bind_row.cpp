// Calls of operations: arguments bound by the row's signature, operands made arrays, everything else made attributes.
#include <algorithm>

#include "interpreter/lang/eval/bind.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/index/index.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/names/aliases.h"

namespace shard::lang {

using grammar::Span;
using ir::Parameter;
using ir::ParamKind;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

// A record, or a list that is no array written as numbers.
bool is_tree(const Value& v) {
  if (v.fields()) return true;
  const auto* items = v.items();
  const auto number = [](const Value& x) { return x.is_host_number() || x.is<bool>(); };
  return items && !std::all_of(items->begin(), items->end(),
                               [&](const Value& x) { return number(x) || (x.items() && !is_tree(x)); });
}

class RowParameters final : public Parameters {
 public:
  RowParameters(const ir::OpDef& op, const ir::Signature& s) : op_(op), params_(s.params), text_(s.text) {}
  std::size_t size() const override { return params_.size(); }
  std::string_view name(std::size_t i) const override { return params_[i].name; }
  bool required(std::size_t i) const override {
    const Parameter& p = params_[i];
    return p.is_operand() ? !p.optional && !p.rest : !p.default_value;
  }
  int rest() const override {
    for (std::size_t i = 0; i < params_.size(); ++i)
      if (params_[i].rest) return static_cast<int>(i);
    return -1;
  }
  std::string callee() const override { return "`" + std::string(op_.name) + "`"; }
  std::string signature() const override { return text_; }

 private:
  const ir::OpDef& op_;
  const std::vector<Parameter>& params_;
  const std::string& text_;
};

// The arguments of one call as a row takes them.
class RowCall {
 public:
  RowCall(Impl& m, const ir::OpDef& op, std::vector<CallArg>& args, Span span)
      : m_(m), op_(op), signature_(m.ctx.table().signature(op)), args_(args), span_(span) {
    one_list();
    const RowParameters parameters(op_, signature_);
    const Bound bound = bind_arguments(parameters, args_, span_);
    const int rest = parameters.rest();
    for (std::size_t i = 0; i < signature_.params.size(); ++i) {
      const Parameter& p = signature_.params[i];
      const CallArg* a = bound.argument[i] < 0 ? nullptr : &args_[static_cast<std::size_t>(bound.argument[i])];
      if (static_cast<int>(i) == rest && !a)
        further(p, bound.further);
      else if (p.is_operand())
        operand(p, a);
      else if (!a)
        attrs.set(p.name, *p.default_value);
      else
        attribute(p, *a);
    }
  }

  // The argument that names a dimension which the first operand does not have; unknown where none does.
  Span bad_axis() const {
    if (operands.empty()) return {};
    const std::int64_t rank = operands[0].type().rank();
    const auto outside = [&](const Value& v) {
      const auto* d = v.get<std::int64_t>();
      return d && (*d < -rank || *d >= rank);
    };
    const Bound bound = bind_arguments(RowParameters(op_, signature_), args_, span_);
    for (std::size_t i = 0; i < signature_.params.size(); ++i) {
      const std::string& what = signature_.params[i].name;
      if ((what != "axis" && what != "axes") || bound.argument[i] < 0) continue;
      const CallArg& a = args_[static_cast<std::size_t>(bound.argument[i])];
      const auto* items = a.value.items();
      if (outside(a.value) || (items && std::any_of(items->begin(), items->end(), outside))) return span_of(a);
    }
    return {};
  }

  std::vector<Tensor> operands;
  ir::Attrs attrs;

 private:
  std::string name() const { return std::string(op_.name); }
  [[noreturn]] void refuse(Span where, std::string why) {
    m_.fail("call", where.known() ? where : span_, std::move(why), {signature_.text});
  }
  // zeros(3, 4): integers where one list of them is meant
  void one_list() {
    const auto& params = signature_.params;
    if (!params.empty() && params[0].kind == ParamKind::Arrays && !params[0].rest && args_.size() > 1 &&
        args_[0].name.empty() && args_[1].name.empty() && args_[0].value.is_tensor() && args_[1].value.is_tensor() &&
        args_[1].value.tensor().type().rank() > 0)
      refuse(span_of(args_[1]),
             "`" + params[0].name + "` of `" + name() + "` is one argument, a list of arrays: `[a, b]`");
    for (std::size_t i = 0; i + 1 < args_.size() && i < params.size() && args_[i + 1].name.empty(); ++i) {
      if (params[i].kind != ParamKind::Ints || !args_[i].value.is<std::int64_t>()) continue;
      if (i + 1 < params.size())
        if (const ParamKind next = params[i + 1].kind;
            next != ParamKind::DType && next != ParamKind::Spec && next != ParamKind::Bool && next != ParamKind::Str)
          continue;
      std::string list;
      for (std::size_t k = i; k < args_.size() && args_[k].name.empty(); ++k) {
        if (!args_[k].value.is<std::int64_t>()) return;
        list += (list.empty() ? "" : ", ") + std::to_string(*args_[k].value.get<std::int64_t>());
      }
      refuse(span_of(args_[i + 1]),
             "`" + params[i].name + "` of `" + name() + "` is one argument, a list: `[" + list + "]`");
    }
  }
  Span span_of(const CallArg& a) const { return a.span.known() ? a.span : span_; }

  void attribute(const Parameter& p, const CallArg& a) {
    const bool may_be_none =
        p.optional || (p.default_value && std::holds_alternative<std::monostate>(*p.default_value));
    attrs.set(p.name, a.value.is_none() && may_be_none ? ir::AttrValue() : value_of(p, a));
  }

  void operand(const Parameter& p, const CallArg* a) {
    const bool none = !a || a->value.is_none();
    if (p.optional) attrs.set("has_" + p.name, !none);
    if (none && p.optional) return;
    if (p.kind == ParamKind::Array && !p.rest) {
      add(a->value, *a, p);
    } else if (const auto* items = a->value.items()) {
      for (const Value& v : *items) add(v, *a, p);
    } else if (!p.rest && a->value.is_tensor() && !a->value.tensor().type().shape.empty()) {
      for (std::int64_t i = 0; i < a->value.tensor().type().shape[0]; ++i)
        operands.push_back(row(m_.in, a->value.tensor(), i, span_of(*a)).tensor());
    } else {
      add(a->value, *a, p);
    }
  }

  // `xs...`: all that follow, or one list of them.
  void further(const Parameter& p, const std::vector<std::int32_t>& places) {
    for (std::int32_t k : places) {
      const CallArg& a = args_[static_cast<std::size_t>(k)];
      const auto* items = places.size() == 1 ? a.value.items() : nullptr;
      if (!items) add(a.value, a, p);
      for (std::size_t i = 0; items && i < items->size(); ++i) add((*items)[i], a, p);
    }
  }
  void add(const Value& v, const CallArg& a, const Parameter& p) {
    if (!v.is_tensor() && !v.is_host_number() && !v.is<bool>() && !v.items())
      refuse(span_of(a), "`" + name() + "` takes an array as `" + p.name + "`, and this is " + kind_name(v));
    operands.push_back(m_.in.tensor(v, span_of(a)));
  }

  ir::AttrValue value_of(const Parameter& p, const CallArg& a) {
    const Value& v = a.value;
    const Span where = span_of(a);
    const std::string what = "`" + p.name + "` of `" + name() + "`";
    switch (p.kind) {
      case ParamKind::Int: return m_.in.integer(v, where, what);
      case ParamKind::Ints: return integers(v, where, what);
      case ParamKind::Float: return m_.in.number(v, where, what);
      case ParamKind::Bool:
        if (auto* b = v.get<bool>()) return *b;
        if (auto* t = v.get<Tensor>(); t && t->type().dtype == runtime::DType::Bool) return m_.in.truth(v, where);
        refuse(where, what + " is true or false, and this is " + kind_name(v));
      case ParamKind::Str: return m_.in.text(v, where, what);
      case ParamKind::DType:
        if (auto* t = v.get<runtime::DType>()) return *t;
        if (v.is_string()) {
          const std::string_view here = m_.builtins.aliases().name_here(v.str());
          const std::string dtype(here.empty() ? std::string_view(v.str()) : here);
          if (runtime::dtype_named(dtype)) refuse(where, what + " is a dtype, written without quotes: `" + dtype + "`");
        }
        refuse(where, what + " is a dtype such as f32, and this is " + kind_name(v));
      case ParamKind::Spec:
        if (auto* s = v.get<std::shared_ptr<const Spec>>())
          return m_.in.resolve(**s, static_cast<int>((*s)->dims.size()), where);
        refuse(where, what + " is a spec such as P(@X), and this is " + kind_name(v));
      case ParamKind::Pairs: return pairs(v, where, what);
      case ParamKind::Number:
        if (v.is<double>() || (v.is_tensor() && runtime::is_float(v.tensor().type().dtype)))
          return m_.in.number(v, where, what);
        return m_.in.integer(v, where, what);
      case ParamKind::Array:
      case ParamKind::Arrays: break;
    }
    throw std::logic_error("operand as attribute");
  }
  ir::Ints integers(const Value& v, Span where, const std::string& what) {
    ir::Ints out;
    if (v.is<std::shared_ptr<const Axis>>() || has_axes(v)) return axis_ids(m_.in, v, where);
    if (const auto* items = v.items()) {
      for (const Value& x : *items) out.push_back(m_.in.integer(x, where, what));
    } else if (auto* t = v.get<Tensor>(); t && t->type().rank() == 1) {
      runtime::ArrayRef host = m_.at(where, [&] { return runtime::to_host(m_.ctx.pool(), m_.ctx.concrete(*t, what)); });
      if (!runtime::is_integer(t->type().dtype)) refuse(where, what + " takes integers, and this is " + kind_name(v));
      for (std::int64_t i = 0; i < t->type().shape[0]; ++i) out.push_back(runtime::element_int(*host, i));
    } else {
      out.push_back(m_.in.integer(v, where, what));
    }
    return out;
  }
  static bool has_axes(const Value& v) {
    const auto* items = v.items();
    return items && !items->empty() && (*items)[0].is<std::shared_ptr<const Axis>>();
  }
  ir::Pairs pairs(const Value& v, Span where, const std::string& what) {
    ir::Pairs out;
    if (v.is<std::int64_t>())
      return {{m_.in.integer(v, where, what), m_.in.integer(v, where, what)}};  // as NumPy's pad: on both sides
    const auto* items = v.items();
    if (!items) refuse(where, what + " is a list of pairs, and this is " + kind_name(v));
    if (items->size() == 2 && (*items)[0].is<std::int64_t>() && (*items)[1].is<std::int64_t>())
      return {{m_.in.integer((*items)[0], where, what), m_.in.integer((*items)[1], where, what)}};
    for (const Value& x : *items) {
      const auto* two = x.items();
      if (!two || two->size() != 2)
        refuse(where, what + " is a list of pairs such as [(0, 1)], and an element is " + kind_name(x));
      out.emplace_back(m_.in.integer((*two)[0], where, what), m_.in.integer((*two)[1], where, what));
    }
    return out;
  }

  Impl& m_;
  const ir::OpDef& op_;
  const ir::Signature& signature_;
  std::vector<CallArg>& args_;
  Span span_;
};

// What `out:` says of auto axes is no part of a type: it constrains the result, as `shard` does. Dimensions of which it
// says nothing are left to the partitioner.
std::optional<ir::Layout> constraint(const ir::Attrs& attrs) {
  if (!attrs.has("out")) return std::nullopt;
  ir::Layout layout = attrs.layout("out");
  if (!layout.mesh || (layout.sharding.used_axes() & layout.mesh->of_kind(runtime::AxisKind::Auto)).empty())
    return std::nullopt;
  return layout;
}

}  // namespace

Value Impl::call_row(const ir::OpDef& op, std::vector<CallArg>& args, Span span) {
  if (op.of_trees && !args.empty() && args[0].name.empty() && is_tree(args[0].value))
    return map_leaves(args[0].value, [&](const Value& leaf) {
      std::vector<CallArg> one = args;
      one[0].value = leaf;
      return call_row(op, one, span);
    });
  return at(span, [&]() -> Value {
    RowCall b(*this, op, args, span);
    ctx.set_span(in.recorded_at(span));
    const auto asked = constraint(b.attrs);
    const auto applied = [&] {
      std::vector<Tensor> out = ctx.apply(op, b.operands, std::move(b.attrs));
      for (Tensor& t : out) {
        if (!asked) break;
        ir::Layout layout = *asked;
        layout.sharding.dims.resize(t.type().shape.size());
        for (auto& d : layout.sharding.dims) d.open = d.open || d.axes.empty();
        t = ctx.apply1(*ctx.table().core().shard, {t}, {{"layout", std::move(layout)}});
      }
      return out;
    };
    std::vector<Tensor> out;
    try {
      out = asked ? ctx.together(applied) : applied();
    } catch (grammar::Error& e) {
      if (const Span axis = e.diagnostic.code == "shape" ? b.bad_axis() : Span{}; axis.known())
        e.diagnostic.span = axis;
      throw;
    }
    if (out.size() == 1) return std::move(out[0]);
    std::vector<Value> values;
    for (Tensor& t : out) values.emplace_back(std::move(t));
    return Value::tuple(std::move(values));
  });
}

}  // namespace shard::lang
