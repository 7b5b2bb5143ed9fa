#include "interpreter/lang/fixes/candidates.h"

#include <algorithm>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/report/written.h"

namespace shard::lang {

using namespace grammar;
using runtime::AxisId;
using runtime::Sharding;
using runtime::Type;
using trace::Tensor;
using Impl = Interpreter::Impl;

bool is_array(const Value& v) { return v.is_tensor() && v.tensor().valid() && !v.tensor().known(); }

namespace {

std::vector<Operand> operands_of(const std::vector<Part>& parts) {
  std::vector<Operand> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Value& v = parts[i].value;
    if (is_array(v) && parts[i].expr) out.push_back({i, -1, parts[i].expr->span, v.tensor()});
    const auto* items = v.items();
    const auto* written = elements_of(parts[i].expr);
    if (!items || !written || items->size() != written->size()) continue;
    for (std::size_t k = 0; k < items->size(); ++k)
      if (is_array((*items)[k]) && !(*written)[k].spread)
        out.push_back({i, static_cast<std::ptrdiff_t>(k), (*written)[k].value->span, (*items)[k].tensor()});
  }
  return out;
}

}  // namespace

Candidates::Candidates(Impl& m, const std::vector<Part>& parts, const Attempt& attempt)
    : m_(m), parts_(parts), attempt_(attempt), operands_(operands_of(parts)) {
  for (const Operand& o : operands_) {
    types_.push_back(m.ctx.type_of(o.tensor));
    if (types_.back().mesh && !mesh_) mesh_ = types_.back().mesh;
  }
}

std::optional<Sharding> Candidates::with(std::size_t i, const Sharding& layout) {
  std::vector<Type> types = types_;
  types[i].sharding = layout;
  types[i].mesh = mesh_;
  return run(types, [&](const std::vector<Value>& values) { return attempt_.with(values); });
}

std::optional<Sharding> Candidates::with_all_whole() {
  std::vector<Type> types = types_;
  for (Type& t : types) t.sharding = Sharding::replicated(t.shape.size()), t.mesh = mesh_;
  return run(types, [&](const std::vector<Value>& values) { return attempt_.with(values); });
}

std::optional<Sharding> Candidates::with_out(const Sharding& layout) {
  auto spec = std::make_shared<Spec>();
  auto names = [&](const std::vector<AxisId>& axes) {
    std::vector<std::string> out;
    for (AxisId a : axes) out.push_back(mesh_->axes[a].name);
    return out;
  };
  for (const auto& d : layout.dims) spec->dims.push_back({names(d.axes), false});
  while (!spec->dims.empty() && spec->dims.back() == SpecEntry{}) spec->dims.pop_back();
  const Value out{std::shared_ptr<const Spec>(std::move(spec))};
  return run(types_, [&](const std::vector<Value>&) { return attempt_.with_out(out); });
}

std::vector<Sharding> Candidates::near(std::size_t i) const {
  const Type& mine = types_[i];
  std::vector<Sharding> out;
  auto add = [&](Sharding s) {
    if (s == mine.sharding || std::find(out.begin(), out.end(), s) != out.end()) return;
    try {
      ir::check_layout(mine.shape, {mesh_, s});
    } catch (const runtime::RuntimeError&) { return; }
    out.push_back(std::move(s));
  };
  Sharding finished = mine.sharding;
  finished.unreduced = {};
  finished.unreduced_kind = {};
  add(finished);
  for (std::size_t j = 0; j < types_.size(); ++j) {  // reduced as another operand is, or not at all
    if (j == i) continue;
    Sharding s = mine.sharding;
    s.reduced = types_[j].sharding.reduced | types_[j].sharding.unreduced;
    if ((s.reduced & s.split_axes()).empty() && (s.reduced & s.unreduced).empty()) add(s);
  }
  Sharding bare = finished;
  bare.reduced = {};
  add(bare);
  for (std::size_t d = 0; d < bare.dims.size(); ++d) {
    if (bare.dims[d].axes.empty()) continue;
    Sharding s = bare;
    s.dims[d].axes.clear();
    add(s);
  }
  for (std::size_t j = 0; j < types_.size(); ++j) {
    if (j == i) continue;
    const Type& other = types_[j];  // aligned at the last dimension
    Sharding s = Sharding::replicated(mine.shape.size());
    for (std::size_t d = 0; d < mine.shape.size(); ++d) {
      const std::size_t from_end = mine.shape.size() - d;
      if (from_end > other.shape.size() || mine.shape[d] != other.shape[other.shape.size() - from_end]) continue;
      s.dims[d].axes = other.sharding.dims[other.shape.size() - from_end].axes;
    }
    add(s);
  }
  add(Sharding::replicated(mine.shape.size()));
  return out;
}

std::optional<Type> Candidates::type_of(const std::function<Value()>& operation) {
  return result(types_, [&](const std::vector<Value>&) { return operation(); });
}

std::optional<Sharding> Candidates::run(const std::vector<Type>& types, const Operation& operation) {
  const auto type = result(types, operation);
  return type ? std::optional<Sharding>(type->sharding) : std::nullopt;
}

std::optional<Type> Candidates::result(const std::vector<Type>& types, const Operation& operation) {
  struct Quiet {  // nothing runs and nothing is printed
    trace::Context& ctx;
    grammar::Span span;
    trace::TargetScope types;
    explicit Quiet(trace::Context& c) : ctx(c), span(c.span()), types(c, c.target("types")) {}
    ~Quiet() { ctx.set_span(span); }
  } quiet(m_.ctx);
  const ErrorsThrown thrown(m_.checker);
  std::optional<Type> out;
  try {
    m_.in.trace(
        types,
        [&](std::span<const Tensor> given) {
          std::vector<Value> values;
          for (const Part& p : parts_) values.push_back(p.value);
          for (std::size_t i = 0; i < operands_.size(); ++i) {
            Value& v = values[operands_[i].part];
            if (operands_[i].element < 0)
              v = given[i];
            else
              own_items(v)[static_cast<std::size_t>(operands_[i].element)] = given[i];
          }
          for (const Value& leaf : leaves(operation(values))) {
            if (!leaf.is_tensor()) continue;
            out = leaf.tensor().type();
            break;
          }
          return std::vector<Tensor>{};
        },
        true);
  } catch (const grammar::Error&) { return std::nullopt; } catch (const runtime::RuntimeError&) {
    return std::nullopt;
  }
  return out;
}

}  // namespace shard::lang
