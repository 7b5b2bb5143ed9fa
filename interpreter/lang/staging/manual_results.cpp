// The results of per-device code: their pieces are put together as their specs say.
#include <algorithm>

#include "interpreter/ir/collective.h"
#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/staging/manual_call.h"

namespace shard::lang {

using runtime::AxisSet;
using runtime::Type;
using trace::Tensor;

// The leaves of the result with their layouts; a value that does not vary along an axis its spec names is the same
// block everywhere.
std::vector<Tensor> ManualCall::results(TreeStructure& tree, std::vector<ir::Layout>& layouts) {
  std::vector<Tensor> out;
  std::size_t leaf = 0;
  Written written;
  if (function_) written = {given_by(*function_->body), function_->result.get()};
  try {
    collect(tree.tree(), body_.specs.out, "result", 0, written,
            [&](const Value& v, const Value& spec, const Written& at) {
              const std::size_t i = leaf++;
              if (!v.is_tensor() && !v.is_host_number() && !v.is<bool>()) return;
              tree.take(i, out.size());
              out.push_back(laid_out(v, spec, at, out.size(), layouts));
            });
  } catch (grammar::Error& e) {
    if (function_) e.diagnostic.calls.push_back({body_.name, span_});
    throw;
  }
  return out;
}

// The leaves of a tree with what `specs`, a tree that is a prefix of it, has for each.
void ManualCall::collect(const Value& v, const Value& spec, const char* what, std::size_t position,
                         const Written& written, const EachLeaf& each) {
  const grammar::Span span = written.span(span_);
  if (auto* items = v.items()) {
    auto* specs = spec.items();
    if (specs && specs->size() != items->size()) misfit(v, spec, what, position, span);
    for (std::size_t i = 0; i < items->size(); ++i)
      collect((*items)[i], specs ? (*specs)[i] : spec, what, position,
              {element(written.value, i, items->size()), element(written.spec, i), span}, each);
  } else if (auto* record = v.fields()) {
    auto* specs = spec.fields();
    for (const auto& [field, x] : record->fields) {
      const Value* s = specs ? specs->find(field) : &spec;
      if (!s) misfit(v, spec, what, position, span);
      collect(x, *s, what, position, {element(written.value, field), element(written.spec, field), span}, each);
    }
  } else if (!v.is_none()) {  // which is an empty tree
    each(v, spec, written);
  }
}

Tensor ManualCall::laid_out(const Value& v, const Value& spec, const Written& written, std::size_t position,
                            std::vector<ir::Layout>& layouts) {
  const grammar::Span span = written.span(span_);
  Tensor t = in_.tensor(v, span);
  if (spec.is_none())
    in_.fail("spec", span, "the result of " + body_.name + " has no spec",
             {"say how the pieces are put together: `-> P(@X)`, or `-> P()` where all are the same"});
  ir::Layout layout = layout_for(spec, t.type(), "result", position, nullptr, span);
  if (body_.specs.check) check_varying(t, layout, written, position);
  if (const AxisSet missing = layout.sharding.split_axes() - t.type().varying; !missing.empty())
    t = ctx_.apply1(*ctx_.table().core().pcast, {t}, ir::to_varying(missing, inner_));
  layouts.push_back(std::move(layout));
  return t;
}

// A result whose spec leaves out an axis is promised to be the same along it.
void ManualCall::check_varying(const Tensor& t, const ir::Layout& layout, const Written& written,
                               std::size_t position) {
  const Type& type = t.type();
  const AxisSet undeclared = ir::undeclared_axes(type, layout, taken_);
  if (undeclared.empty()) return;
  grammar::Diagnostic d;
  d.code = "varying";
  d.span = written.span(span_);
  const std::vector<const ir::Node*> joins =
      t.traced() ? ir::joined_everywhere(t.frame()->builder.graph(), t.var(), undeclared)
                 : std::vector<const ir::Node*>{};
  std::int64_t devices = 1;
  for (runtime::AxisId a : undeclared.list()) devices *= inner_->size_of(a);
  if (joins.empty() && t.traced() && ir::gathered_by_hand(t.frame()->builder.graph(), t.var(), undeclared, devices))
    trust_or_gather(d, type, layout, undeclared, position);
  else if (joins.empty())
    sum_or_name(d, type, layout, undeclared, written, position);
  else
    say_the_same(d, type, layout, undeclared, joins, position);
  throw grammar::Error(std::move(d));
}

// It may differ: it is summed, or its pieces are put together.
void ManualCall::sum_or_name(grammar::Diagnostic& d, const Type& type, const ir::Layout& layout, AxisSet undeclared,
                             const Written& written, std::size_t position) {
  const std::string value = written.value ? text_at(in_.sources(), written.value->span) : "x";
  const std::string sum = "psum(" + value + ", " + runtime::axes_text(*inner_, undeclared.list()) + ")";
  const bool short_enough = sum.size() < 60 && sum.find('\n') == std::string::npos;
  d.message = ir::undeclared_message(subject("result", position), type, layout, undeclared, short_enough ? value : "x");
  if (written.value) d.fixes.push_back({"sum it over the devices", written.value->span, sum});
  runtime::Sharding named = layout.sharding;
  const auto whole =
      std::find_if(named.dims.begin(), named.dims.end(), [](const auto& dim) { return dim.axes.empty(); });
  if (written.spec && whole != named.dims.end()) {
    whole->axes = undeclared.list();
    d.fixes.push_back({"or put the pieces together", written.spec->span, runtime::to_string(*inner_, named)});
  }
}

// Pieces were passed round, and this has the size of all of them: a sum would count them once a device.
void ManualCall::trust_or_gather(grammar::Diagnostic& d, const Type& type, const ir::Layout& layout, AxisSet undeclared,
                                 std::size_t position) {
  const std::string axes = runtime::axes_text(*inner_, undeclared.list());
  const std::string spec = runtime::to_string(*layout.mesh, layout.sharding);
  d.message = subject("result", position) + " is " + runtime::to_string(type) +
              ": it has the size of all pieces along " + axes +
              ", but nothing says that every device has the same, as " + "the spec " + spec + " promises";
  d.notes.push_back("`all_gather(x, " + axes +
                    ", to: \"same\")` gives all pieces to every device, and its type says so");
  d.notes.push_back("`shard_map(f, in: ..., out: " + spec +
                    ", check: false)` of a plain `fn` trusts you that they are the same");
}

// Every device has gathered all pieces: only the type does not know that they are the same (a sum would count them once
// a device).
void ManualCall::say_the_same(grammar::Diagnostic& d, const Type& type, const ir::Layout& layout, AxisSet undeclared,
                              const std::vector<const ir::Node*>& joins, std::size_t position) {
  d.message = subject("result", position) + " is " + runtime::to_string(type) + ": " + std::string(joins[0]->op->name) +
              " gives every device the same pieces along " + runtime::axes_text(*inner_, undeclared.list()) +
              ", but its type does not say so, and the spec " + runtime::to_string(*layout.mesh, layout.sharding) +
              " promises it: write `to: \"same\"` there";
  for (const ir::Node* n : joins) {
    std::string call = text_at(in_.sources(), n->span);
    if (!call.ends_with(")") || call.find("to:") != std::string::npos) continue;
    call.insert(call.size() - 1, ", to: \"same\"");
    d.fixes.push_back({"say that it is the same everywhere", n->span, std::move(call)});
  }
}

}  // namespace shard::lang
