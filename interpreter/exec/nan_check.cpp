// The target `nan_check`: every node is an instruction of its own, and one behind it looks whether the node made a nan
// or an infinity, which none of its operands held. What is found is an error on the node's line, in loops and gradients
// too.
#include <cmath>

#include "grammar/diagnostic.h"
#include "interpreter/exec/lowering.h"
#include "runtime/array/array_text.h"
#include "runtime/mesh/device_array.h"

namespace shard::exec {
namespace {

using ir::Node;

struct Looked {
  View view;  // leading dimensions for the devices, then the block's
  std::string type;
  bool same_points = false;  // as the result: dimension by dimension
};

// Calls visit(index, its address) for every element, until it gives true.
template <class Visit>
void each(const View& v, const void* data, Visit visit) {
  const auto item = item_bytes(v.dtype);
  const std::int64_t count = runtime::numel(v.shape);
  Shape index(v.shape.size(), 0);
  std::int64_t at = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    if (visit(index, static_cast<const char*>(data) + at * item)) return;
    for (std::size_t d = index.size(); d-- > 0;) {
      at += v.strides[d];
      if (++index[d] < v.shape[d]) break;
      at -= v.strides[d] * v.shape[d];
      index[d] = 0;
    }
  }
}

template <class Is>
bool any(const View& v, const void* data, Is is) {
  bool found = false;
  each(v, data, [&](const Shape&, const void* x) { return found = is(runtime::element_double(v.dtype, x)); });
  return found;
}
bool is_nan(double x) { return std::isnan(x); }
bool is_infinity(double x) { return std::isinf(x); }

std::string shown(DType dtype, const void* element) {
  return runtime::format_element(View{dtype, {}, {}, const_cast<void*>(element)});
}

struct Check {
  std::string operation;
  grammar::Span span;
  std::vector<Looked> operands, results;                      // of floats
  std::vector<std::pair<std::string, std::int64_t>> devices;  // axes that lead in a result, and their sizes
  bool made_of_infinity = false;                              // an attribute says one

  void run(void* const* in) const {
    for (std::size_t r = 0; r < results.size(); ++r) {
      const void* result = in[operands.size() + r];
      bool nan = any(results[r].view, result, is_nan);
      bool infinity = !made_of_infinity && any(results[r].view, result, is_infinity);
      for (std::size_t i = 0; i < operands.size() && (nan || infinity); ++i) {
        if (any(operands[i].view, in[i], is_nan)) return;
        infinity = infinity && !any(operands[i].view, in[i], is_infinity);
      }
      if (nan || infinity) tell(results[r], result, in, nan);
    }
  }

  [[noreturn]] void tell(const Looked& made, const void* result, void* const* in, bool nan) const {
    Shape first;
    std::int64_t count = 0, all = runtime::numel(made.view.shape);
    each(made.view, result, [&](const Shape& at, const void* element) {
      const double x = runtime::element_double(made.view.dtype, element);
      if ((nan ? is_nan(x) : is_infinity(x)) && count++ == 0) first = at;
      return false;
    });
    std::vector<std::string> notes;
    if (all > 1)
      notes.push_back(std::to_string(count) + " of its " + std::to_string(all) + " values, the first at " +
                      place(first));
    std::string there;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Looked& x = operands[i];
      if (x.same_points) {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < first.size(); ++d) offset += first[d] * x.view.strides[d];
        const auto item = item_bytes(x.view.dtype);
        there += (there.empty() ? "" : ", ") + shown(x.view.dtype, static_cast<const char*>(in[i]) + offset * item);
        continue;
      }
      const void *least = nullptr, *most = nullptr;
      const auto value = [&](const void* element) { return runtime::element_double(x.view.dtype, element); };
      each(x.view, in[i], [&](const Shape&, const void* v) {
        if (!least || value(v) < value(least)) least = v;
        if (!most || value(v) > value(most)) most = v;
        return false;
      });
      if (least)
        notes.push_back("an operand " + x.type + " from " + shown(x.view.dtype, least) + " to " +
                        shown(x.view.dtype, most));
    }
    if (!there.empty()) notes.push_back("made of " + there);
    throw grammar::Error("nan", span, "`" + operation + "` made " + (nan ? "a nan" : "an infinity"), std::move(notes));
  }

  std::string place(const Shape& at) const {
    std::string out = "[", on;
    for (std::size_t d = devices.size(); d < at.size(); ++d)
      out += (d > devices.size() ? ", " : "") + std::to_string(at[d]);
    out += "]";
    for (std::size_t d = 0; d < devices.size(); ++d)
      on += (d ? ", @" : "@") + devices[d].first + ": " + std::to_string(at[d]);
    return on.empty() ? out : out + " of the block on (" + on + ")";
  }
};

bool says_infinity(const ir::Attrs& attrs) {
  for (const auto& [name, value] : attrs)
    if (const double* x = std::get_if<double>(&value); x && !std::isfinite(*x)) return true;
  return false;
}

}  // namespace

void check_nans(Lowering& l, const Node& n) {
  if (n.inputs.empty() || (ir::structure_of(*n.op) && !is(n, ir::Structure::Collective)))
    return;  // loops and branches are watched inside
  auto check = std::make_shared<Check>();
  std::vector<StridedView> places;
  const auto add = [&](std::vector<Looked>& to, ir::Var v, const StridedView& like) {
    const StridedView& p = l.place(v);
    if (!runtime::is_float(p.dtype)) return;
    const bool same = std::holds_alternative<runtime::Code>(n.op->kernel) && p.shape == like.shape &&
                      (p.distinct - like.distinct).empty();
    const runtime::Type local = runtime::Type::of(p.dtype, p.shape, false);
    to.push_back({view_of(p, (same ? like : p).distinct.list(), l.mesh()), runtime::to_string(local), same});
    places.push_back(p);
  };
  const StridedView like = l.place(n.outputs[0]);
  for (ir::Var v : n.inputs) add(check->operands, v, like);
  const std::size_t operands = places.size();
  for (ir::Var v : n.outputs) add(check->results, v, like);
  if (places.size() == operands) return;
  for (AxisId a : like.distinct.list()) check->devices.emplace_back(l.mesh()->axes[a].name, l.mesh()->size_of(a));
  check->operation = n.op->name;
  check->span = n.span;
  check->made_of_infinity = says_infinity(n.attrs);
  l.step([check](void* const* in, void* const*) { check->run(in); }, places, {});
}

}  // namespace shard::exec
