#include "interpreter/lang/spec_remedy.h"

#include <algorithm>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/format.h"
#include "interpreter/lang/trials.h"

namespace shard::lang {

using namespace grammar;

std::optional<Spec> fitting(Interpreter::Impl& m, const Spec& written, const runtime::Shape& shape,
                            const runtime::MeshRef& mesh, Span span) {
  Spec mended = written;
  mended.dims.resize(std::min(mended.dims.size(), shape.size()));
  const bool may_be_open = !mesh->of_kind(runtime::AxisKind::Auto).empty();
  std::vector<std::string> axes, used;
  for (const auto& a : mesh->axes) axes.push_back(a.name);
  std::vector<std::string> free = axes;          // that the spec does not name
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
      const Record* rules = m.rules().fields();
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
  for (std::size_t d = 0; d < mended.dims.size(); ++d) {
    mended.dims[d].axes = kept_of(mended.dims[d].axes, shape[d]);
    mended.dims[d].open = mended.dims[d].open && may_be_open;
  }
  mended.unreduced = kept_of(mended.unreduced, 0);
  mended.reduced = kept_of(mended.reduced, 0);
  if (mended.unreduced.empty()) mended.kind.clear();
  if (!known || mended == written) return std::nullopt;
  while (!mended.dims.empty() && mended.dims.back() == SpecEntry{}) mended.dims.pop_back();
  try {
    const ir::Layout layout = m.in.resolve(mended, static_cast<int>(shape.size()), span, mesh);
    ir::check_layout(shape, layout);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return mended;
}

void mend_shard(Interpreter::Impl& m, Error& error, const Expr& e, const Value& value, const Value& spec,
                const runtime::MeshRef& on) {
  const grammar::Shard& x = std::get<grammar::Shard>(e.node);
  auto* written = spec.get<std::shared_ptr<const Spec>>();
  const runtime::MeshRef mesh = on ? on : m.ctx.mesh();
  if (error.diagnostic.code != "spec" || !error.diagnostic.fixes.empty()) return;
  if (!written || !mesh || !std::holds_alternative<SpecLit>(x.spec->node) || !is_array(value)) return;
  const auto mended = fitting(m, **written, value.tensor().type().shape, mesh, e.span);
  if (!mended) return;
  error.diagnostic.fixes.push_back({"a layout that fits", x.spec->span, lang::show(*mended)});
}

}  // namespace shard::lang
