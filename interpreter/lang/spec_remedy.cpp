#include "interpreter/lang/spec_remedy.h"

#include <algorithm>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/format.h"
#include "interpreter/lang/trials.h"

namespace shard::lang {

using namespace grammar;

void mend_shard(Interpreter::Impl& m, Error& error, const Expr& e, const Value& value, const Value& spec,
                const runtime::MeshRef& on) {
  const grammar::Shard& x = std::get<grammar::Shard>(e.node);
  auto* written = spec.get<std::shared_ptr<const Spec>>();
  const runtime::MeshRef mesh = on ? on : m.ctx.mesh();
  if (error.diagnostic.code != "spec" || !error.diagnostic.fixes.empty()) return;
  if (!written || !mesh || !std::holds_alternative<SpecLit>(x.spec->node) || !is_array(value)) return;
  Spec mended = **written;
  const runtime::Shape& shape = value.tensor().type().shape;
  mended.dims.resize(std::min(mended.dims.size(), shape.size()));
  std::vector<std::string> axes, used;
  for (const auto& a : mesh->axes) axes.push_back(a.name);
  for (std::size_t d = 0; d < mended.dims.size(); ++d) {
    std::vector<std::string> kept;
    std::int64_t left = shape[d];
    for (const std::string& name : mended.dims[d].axes) {
      if (const Record* rules = m.rules().fields(); rules && rules->find(name)) return;
      const auto known = mesh->find(name) ? std::optional<std::string>(name) : near_miss(name, axes);
      if (!known) return;
      const std::int64_t n = mesh->size_of(*mesh->find(*known));
      if (std::find(used.begin(), used.end(), *known) != used.end() || left % n) continue;
      left /= n;
      used.push_back(*known);
      kept.push_back(*known);
    }
    mended.dims[d].axes = std::move(kept);
  }
  if (mended == **written) return;
  while (!mended.dims.empty() && mended.dims.back() == SpecEntry{}) mended.dims.pop_back();
  try {
    const ir::Layout layout = m.in.resolve(mended, static_cast<int>(shape.size()), e.span, mesh);
    ir::check_layout(shape, layout);
  } catch (const std::exception&) {
    return;
  }
  error.diagnostic.fixes.push_back({"a layout that fits", x.spec->span, lang::show(mended)});
}

}  // namespace shard::lang
