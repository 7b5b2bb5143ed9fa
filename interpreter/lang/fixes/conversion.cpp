#include "interpreter/lang/fixes/conversion.h"

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/report/written.h"

namespace shard::lang {

using namespace grammar;
using runtime::Type;

std::optional<Conversion> conversion(const Type& have, const Type& want) {
  if (want.dtype != have.dtype || want.shape != have.shape) return std::nullopt;
  const runtime::MeshRef& mesh = want.mesh ? want.mesh : have.mesh;
  if (!mesh) return std::nullopt;
  if (!(want.sharding == have.sharding))
    return Conversion{"shard ", " as " + runtime::to_string(*mesh, want.sharding), false};
  const runtime::AxisSet missing = want.varying - have.varying;
  if (missing.empty() || !(have.varying - want.varying).empty()) return std::nullopt;
  return Conversion{"pcast(", ", " + ir::axes_text(*mesh, missing.list()) + ", to: \"varying\")", true};
}

std::string Conversion::of(const SourceMap& sources, Span written) const {
  return of(call ? text_at(sources, written) : operand_at(sources, written));
}

Fix shard_fix(const SourceMap& sources, std::string advice, Span span, const std::string& spec) {
  return {std::move(advice), span, "(shard " + operand_at(sources, span) + " as " + spec + ")"};
}

}  // namespace shard::lang
