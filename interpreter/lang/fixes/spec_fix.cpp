// A spec written in place that does not fit its array: names that are near, an axis once, as many entries as
// dimensions, and no axis that does not divide.
#include <algorithm>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/surroundings.h"
#include "interpreter/lang/fixes/fix.h"
#include "interpreter/lang/fixes/suggest.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/values/value_text.h"

namespace shard::lang {

using namespace grammar;

std::optional<Spec> fitting(Interpreter& in, const Spec& written, const runtime::Shape& shape,
                            const runtime::MeshRef& mesh, Span span) {
  Spec fitted = written;
  fitted.dims.resize(std::min(fitted.dims.size(), shape.size()));
  const bool may_be_open = !mesh->of_kind(runtime::AxisKind::Auto).empty();
  std::vector<std::string> axes, used;
  for (const auto& a : mesh->axes) axes.push_back(a.name);
  std::vector<std::string> free = axes;  // that the spec does not name
  auto take = [&](const std::vector<std::string>& names) {
    for (const std::string& n : names) std::erase(free, n);
  };
  for (const SpecEntry& d : written.dims) take(d.axes);
  take(written.unreduced);
  take(written.reduced);
  bool known = true;
  auto kept_of = [&](const std::vector<std::string>& names, std::int64_t left) {
    std::vector<std::string> kept;
    for (const std::string& name : names) {
      const Record* rules = in.surroundings().rules().fields();
      auto near = mesh->find(name) ? std::optional<std::string>(name) : near_miss(name, axes);
      if (!near && free.size() == 1) near = free[0];
      if (rules && rules->find(name)) known = false;
      if (!near) continue;
      const std::int64_t n = left == 0 ? 1 : mesh->size_of(*mesh->find(*near));
      if (std::find(used.begin(), used.end(), *near) != used.end() || left % n) continue;
      left /= n;
      used.push_back(*near);
      kept.push_back(*near);
    }
    return kept;
  };
  for (std::size_t d = 0; d < fitted.dims.size(); ++d) {
    fitted.dims[d].axes = kept_of(fitted.dims[d].axes, shape[d]);
    fitted.dims[d].open = fitted.dims[d].open && may_be_open;
  }
  fitted.unreduced = kept_of(fitted.unreduced, 0);
  fitted.reduced = kept_of(fitted.reduced, 0);
  if (fitted.unreduced.empty()) fitted.kind.clear();
  if (!known || fitted == written) return std::nullopt;
  while (!fitted.dims.empty() && fitted.dims.back() == SpecEntry{}) fitted.dims.pop_back();
  try {
    const ir::Layout layout = in.resolve(fitted, static_cast<int>(shape.size()), span, mesh);
    ir::check_layout(shape, layout);
  } catch (const std::exception&) { return std::nullopt; }
  return fitted;
}

namespace {

// The spec of each leaf, as far as the text shows it: a literal for it alone, or one for a whole part of the tree.
class SpecFix {
 public:
  SpecFix(Interpreter& in, runtime::MeshRef mesh, Span span) : in_(in), mesh_(std::move(mesh)), span_(span) {}

  std::optional<Fix> of(const Value& value, const Value& spec, const Expr* written) {
    if (!written) return std::nullopt;
    if (auto* leaf = spec.get<std::shared_ptr<const Spec>>()) {
      if (!std::holds_alternative<SpecLit>(written->node)) return std::nullopt;
      Spec now = **leaf;
      bool changed = false;
      for (const Value& v : leaves(value)) {  // every array below has to fit
        if (!is_array(v)) continue;
        if (auto fits = fitting(in_, now, v.tensor().type().shape, mesh_, span_)) now = *fits, changed = true;
      }
      if (!changed) return std::nullopt;
      return Fix{"a layout that fits", written->span, lang::show(now)};
    }
    if (const Record* specs = spec.fields()) {
      for (const auto& [name, s] : specs->fields)
        if (const Value* v = value.fields() ? value.fields()->find(name) : nullptr)
          if (auto fix = of(*v, s, element(written, name))) return fix;
      return std::nullopt;
    }
    const auto *values = value.items(), *specs = spec.items();
    if (!values || !specs || values->size() != specs->size()) return std::nullopt;
    for (std::size_t i = 0; i < values->size(); ++i)
      if (auto fix = of((*values)[i], (*specs)[i], element(written, i, specs->size()))) return fix;
    return std::nullopt;
  }

 private:
  Interpreter& in_;
  runtime::MeshRef mesh_;
  Span span_;
};

}  // namespace

void Fixes::shard(Error& error, const Expr& e, const Value& value, const Value& spec, const runtime::MeshRef& on) {
  const grammar::Shard& x = std::get<grammar::Shard>(e.node);
  const runtime::MeshRef mesh = on ? on : in_.context().mesh();
  if (error.diagnostic.code != "spec" || !error.diagnostic.fixes.empty() || !mesh) return;
  if (auto fix = SpecFix(in_, mesh, e.span).of(value, spec, x.spec.get()))
    error.diagnostic.fixes.push_back(std::move(*fix));
}

}  // namespace shard::lang
