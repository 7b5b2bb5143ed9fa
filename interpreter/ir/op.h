// OpDef, the row of an operation: everything that any part of Shard needs to know about it. The columns are documented
// here. Rows live in stdlib/ops/<family>.cpp; a REQUIRED column left empty is refused by OpTable::add with a sentence
// saying what to write.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "interpreter/ir/collective.h"
#include "interpreter/ir/factors.h"
#include "interpreter/ir/graph.h"
#include "runtime/array/buffer.h"
#include "runtime/array/view.h"
#include "runtime/kernels/element_program.h"

namespace shard::hlo {  // interpreter/hlo/writer.h
struct Value;
struct Use;
}  // namespace shard::hlo

namespace shard::runtime {
struct Epilogue;  // kernels.h
}
namespace shard::ir {

class Builder;

// One use of an operation, as the columns see it: operand types, attributes and regions; and, where it is known, which
// values of which graph (so far) the operands are.
struct OpCall {
  const OpDef& op;
  std::span<const Type> in;
  const Attrs& attrs;
  std::span<const GraphRef> regions = {};
  const Graph* graph = nullptr;
  std::span<const Var> vars = {};
};

// ---- factors ----
// Text (see factors.h), or a function where the rule depends on attributes. Throws RuntimeError("shape", facts) for
// shapes that do not fit. Empty for composites (derived from their parts) and for structural operations (data flows as
// `structure` says).
using FactorFn = std::function<FactorRule(const OpCall&)>;
using Factors = std::variant<std::monostate, std::string_view, FactorFn>;

// ---- dtype ----
enum class Operands : std::uint8_t {
  AsIs,     // no conversion
  Promote,  // all array operands are converted to their promoted kind
  Inexact,  // the same, then to a float type (bool and integers to f32)
};
using KindFn =
    std::function<std::vector<runtime::Kind>(const OpCall&)>;  // kinds of the results, operands already converted
struct DTypeRule {
  Operands operands = Operands::Promote;
  KindFn result;  // default: the (converted) kind of operand 0
};

// ---- derivative: one fact, both directions ----
struct NodeView {     // a node under differentiation, in the builder that the derivative is appended to
  const OpCall call;  // types are those in the graph
  const Vars& in;
  const Vars& out;
  std::span<const char> wanted = {};  // reverse mode: the operands whose cotangents anybody wants (empty: all of them)
};
struct Zero {};  // piecewise constant (floor, comparisons, argmax, random bits): tangents and cotangents are zero
struct NotDifferentiable {
  std::string_view why;
};                 // an error when a gradient would pass
struct Partials {  // elementwise: d out / d in_i for every operand, an invalid Var where it is zero
  std::function<Vars(Builder&, const NodeView&)> of;
  std::vector<int> linear = {};  // operands in which it is linear while the others are fixed: a numerator
};
struct Transposes {  // linear operations
  // Operands in which the operation is linear. `jointly`: in all of them together (concat: tangents go through at once,
  // missing ones as zeros); otherwise in each while the others are fixed (matmul: one term an operand, summed).
  std::vector<int> operands;  // empty: all
  bool jointly = false;
  // The cotangent of operand i, of type `want` (shape, dtype and layout of that operand), from those of the results
  // (zeros already made where a result has none).
  std::function<Var(Builder&, const NodeView&, int operand, std::span<const Var> ct, const Type& want)> of;
  // Where its attributes make it affine: it fills in what is not 0, which every term of a sum would add.
  bool (*affine)(const OpCall&) = nullptr;
};
struct Pushed {
  Vars results, tangents;
};
struct Pullback {  // a node made anew for reverse mode, and what gives its operands' cotangents later in the same
                   // builder
  Vars results;
  std::function<Vars(Builder&, std::span<const Var> cotangents)> of;
};
struct Custom {  // everything else: max, sort, loops, user-defined rules. Invalid Vars stand for zeros, in and out.
  // Either may be left empty: it is then derived from the other one by transposition.
  std::function<Vars(Builder&, const NodeView&, std::span<const Var> tangents)> jvp;
  std::function<Vars(Builder&, const NodeView&, std::span<const Var> cotangents)> vjp;
  // Instead of jvp and vjp, where the node itself changes (loops carry tangents along, or keep values for the backward
  // part): `push` makes values and tangents at once; `pull` the values and what it keeps. `wanted`: operands whose
  // cotangents are wanted; `given`: results that may get one.
  std::function<Pushed(Builder&, const OpCall&, const Vars& in, std::span<const Var> tangents)> push = {};
  std::function<Pullback(Builder&, const OpCall&, const Vars& in, std::span<const char> wanted,
                         std::span<const char> given)>
      pull = {};
};
struct FromParts {};  // composites
using Derivative = std::variant<std::monostate, Zero, NotDifferentiable, Partials, Transposes, Custom, FromParts>;

// ---- kernel ----
// What a bound kernel was made for. Every view has the same `batch` leading dimensions (distinct blocks of the devices,
// given to operands that lack them by a stride of 0), then those of the operation. Outputs are contiguous.
struct KernelCall {
  const Attrs& attrs;
  std::span<const runtime::View> in, out;  // data is null: shapes and strides only
  int batch;
  runtime::Pool& pool;
  std::span<const char> read = {};  // by result: whether anything reads it; empty: all are read
  bool reads(std::size_t result) const { return read.empty() || read[result]; }
};
// May be called from one thread at a time; that of a row that sums (`kernel_sum`) or `reduces` from several. `target`
// gives what it was made of, if that is an F: std::function's would take other types for it whose functions the linker
// has made one with its own.
class BoundKernel {
 public:
  BoundKernel() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, BoundKernel>) BoundKernel(F&& f)
      : run_(std::forward<F>(f)), type_(&kType<std::decay_t<F>>) {}
  void operator()(void* const* in, void* const* out) const { run_(in, out); }
  explicit operator bool() const { return static_cast<bool>(run_); }
  template <class F>
  const F* target() const {
    return type_ == &kType<F> ? run_.template target<F>() : nullptr;
  }

 private:
  template <class F>
  static inline char kType = 0;
  std::function<void(void* const* in, void* const* out)> run_;
  const char* type_ = nullptr;
};
using KernelFn = std::function<BoundKernel(const KernelCall&)>;  // called once a plan
// A kernel of one dense result that may come in pieces, to which an epilogue is done: is bound as `RunPieces`.
class PiecesKernel {
 public:
  virtual ~PiecesKernel() = default;
  virtual bool has_pieces(std::int64_t together) const = 0;  // for such an epilogue
  virtual void run(void* const* in, void* out, const runtime::Epilogue* epilogue) const = 0;
};
struct RunPieces {
  std::shared_ptr<const PiecesKernel> kernel;
  void operator()(void* const* in, void* const* out) const { kernel->run(in, out[0], nullptr); }
};
// The operation followed by a sum over devices, as one kernel: the terms of single devices are never stored. Inputs
// have all `batch` leading dimensions, the `summed` ones first; outputs have the others only. Called instead of the
// kernel where a psum is its only use.
using KernelSumFn = std::function<BoundKernel(const KernelCall&, int summed)>;
struct Copied {
  std::int64_t bytes, held;  // all of them; as many as there are at once
};
// The result shows elements of operand 0 with other sizes and strides: nothing is computed, and where nothing else
// needs a copy none is made. Nothing where the strides of the operand do not allow it; those of row-major order always
// do.
struct ViewOf {
  std::function<std::optional<runtime::Strided>(const runtime::Strided& x, const Attrs&, const runtime::Shape& result)>
      strides;
  bool part = false;  // shows some of the elements only (a slice), or some of them often
  // Elements of 0 before and behind each dimension of an operand of this rank, which it is copied between first.
  std::function<Pairs(const Attrs&, std::size_t rank)> frame = {};
};
// `x` as it lies in between: sizes with the frame.
inline runtime::Shape framed(runtime::Shape x, const Pairs& frame) {
  for (std::size_t d = 0; d < frame.size(); ++d) x[d] += frame[d].first + frame[d].second;
  return x;
}
using Compose =
    std::function<Vars(Builder&, std::span<const Var> operands, const Attrs&)>;  // composites: what it is made of
enum class Structure : std::uint8_t {
  Constant,  // attrs: value (number or bool), dtype, weak; a scalar
  Shard,     // the layout of a value: attrs layout; a constraint (auto axes), a reshard (explicit axes). Without the
             // attribute: two operands, the first shall be laid out as the second where nothing else is said
  Scan,      // regions [body]; attrs consts, carry (counts), length, reverse. in: consts, carry, xs; out: carry, ys
  While,     // regions [cond, body]; attrs cond_consts, body_consts (counts). in: cond consts, body consts, carry; out:
             // carry
  Branch,    // regions [then, else]; in: a bool scalar, then what both regions take; out: results of the chosen one
  Call,      // regions [body]; in and out are the body's (remat, custom gradients: the row's derivative says what is
             // special)
  Manual,    // regions [body]; per-device code: the body's types are local over the manual axes. attrs: axes (Ints, the
             // manual axes), in0, in1, ... and out0, out1, ... (Layout: specs of operands and results over the manual
             // axes)
  Effect,    // print, assert, error: attrs say which; handled by a host hook in order. In a local graph operands are
             // whole, or local where their type varies; attrs `layouts` then has the layouts that they had, as text
  Collective,  // the `comm` column says which
};
using Kernel = std::variant<std::monostate, runtime::Code, KernelFn, ViewOf, Compose, Structure>;

// ---- complex numbers: what a row does with operands that are (complex_parts.h). Views and structures need not say it.
// ----
struct OnParts {};   // linear over the real numbers: the same to the real and to the imaginary part
struct InKernel {};  // its kernel, derivative and StableHLO take them as they are
using OfComplex = std::variant<std::monostate, OnParts, InKernel, Compose>;  // nothing: they are refused

// ---- StableHLO: what the row is in the text that other engines compile (interpreter/hlo) ----
using HloFn = std::function<std::vector<hlo::Value>(const hlo::Use&)>;  // writes it; gives the results
// The text is the name of an operation without attributes, of the same operands and results.
using Hlo = std::variant<std::monostate, std::string_view, HloFn>;

// ---- partition override: the local form of one operation where a factor map is not enough ----
struct LocalCall {
  const OpCall& call;  // global types and attributes
  const FactorRule& rule;
  const runtime::Mesh& mesh;
  std::span<const std::vector<runtime::AxisId>> axes;  // by factor: the axes that split it, major to minor
  Attrs attrs;                                         // localised attributes (`shape` replaced)
};
using PartitionFn = std::function<Vars(Builder&, const LocalCall&, std::span<const Var> local_operands)>;

// ---- batch override: with a new leading dimension of `size` on some operands; gives results with it in front ----
struct Mapped {
  Var var;
  bool mapped;
};  // mapped: dimension 0 is the new one
// What the row is better written as, in a global or a local graph, given the node that made its operand for it alone
// and that node's operands; nothing where it stays.
using WithMakerFn = std::function<std::optional<Var>(Builder&, const OpCall&, const Node& maker, const Vars& in)>;
using BatchFn =
    std::function<std::vector<Mapped>(Builder&, const OpCall& unbatched, std::span<const Mapped>, std::int64_t size)>;

// ---- samples: inputs that exercise the operation, as text (samples.h); the table test runs all of them ----
using Range = std::pair<double, double>;
struct Samples {
  Samples() = default;
  Samples(const char* t, std::optional<Range> r = {}, std::string_view more = {}) : text(t), also(more), range(r) {}
  std::string_view text, also;
  std::optional<Range> range;  // of all operands that say none
};

// The column `aliases` of rows and host functions: what users of other languages and libraries write for them. Only
// messages read it (lang/names/aliases.h). Texts are literals.
struct Alias {
  std::string_view name;
  // How it is done here, where our name cannot simply be put in its place. Under the function's own name: what a call
  // of it does elsewhere and not here.
  std::string_view say;
  constexpr Alias(const char* elsewhere, std::string_view here = {}) : name(elsewhere), say(here) {}
};

struct OpDef {
  std::string_view name;       // REQUIRED  as users write it
  std::string_view signature;  // REQUIRED  "sum(x, axis: ints? = none, keepdims: bool = false)"; see op_table.h
  std::string_view doc;        // REQUIRED  one sentence, then what help shows
  Factors factors = {};        // REQUIRED  but for composite and structural kernels
  std::function<std::vector<runtime::Shape>(const OpCall&)> shape = {};  // default: sizes of the factors in the results
  DTypeRule dtype = {};
  Derivative derivative = {};  // REQUIRED
  Kernel kernel = {};          // REQUIRED
  // REQUIRED but for composites, elementwise codes (hlo/code_text.cpp) and structures, effects excepted
  // (hlo/emit_regions.cpp). An effect gives what must hold.
  Hlo hlo = {};
  OfComplex of_complex = {};
  KernelSumFn kernel_sum = {};  // with a sum over devices behind it: contractions
  // Bytes that the kernel copies first to memory of its own, as the operands lie (views without data); `summed` as for
  // kernel_sum.
  Copied (*copies)(const KernelCall&, int summed) = nullptr;
  // What the kernel does where that is a reduction along the attribute `axes`, which vanish: it may be done row by row
  // with what stands before and after it.
  std::optional<runtime::Reduce> reduces = {};
  bool any_order = false;  // the kernels write results whose dimensions lie in any order, not row-major only
  // The kernel neither makes nor writes results that nobody reads (KernelCall::reads), which then have no memory.
  bool skips_unread = false;
  bool in_place = false;  // the kernel may write the result over operand 0: it changes some elements of it
  double flops = 1;       // per point of the factor space
  std::optional<Collective> comm = {};  // collectives only (local level): collective.h
  // Explicit mode refuses what the partitioner could do: a sentence with the facts, or nothing.
  std::function<std::optional<std::string>(const OpCall&, const FactorRule&)> explicit_refuses = {};
  PartitionFn partition = {};
  WithMakerFn with_maker = {};
  BatchFn batch = {};
  Samples samples = {};             // REQUIRED  but for structural rows
  bool internal = false;            // not callable by name in scripts
  bool of_trees = false;            // scripts may give a tree as operand 0: it is done to each leaf
  std::vector<Alias> aliases = {};  // what users of NumPy, JAX, PyTorch write for it: for messages
  // Structural rows whose result types the factors cannot give (loops, branches, collectives): kinds, shapes and
  // layouts at once.
  std::function<std::vector<Type>(const OpCall&)> infer = {};
};

inline bool is_composite(const OpDef& op) { return std::holds_alternative<Compose>(op.kernel); }
inline const Structure* structure_of(const OpDef& op) { return std::get_if<Structure>(&op.kernel); }
// Whether all elements of its operand are only shown otherwise (reshape, permute, broadcast).
inline bool shows_all(const OpDef& op) {
  auto* view = std::get_if<ViewOf>(&op.kernel);
  return view && !view->part;
}
// The sum over all devices along some axes, on each of them.
inline bool sums_all(const OpDef& op) {
  return op.comm && op.comm->combines_all() && op.comm->combine == runtime::Reduce::Sum;
}
inline bool is(const OpDef& op, Structure kind) {
  auto* s = structure_of(op);
  return s && *s == kind;
}
inline bool is(const Node& n, Structure kind) { return is(*n.op, kind); }
inline bool is_effect(const OpDef& op) { return is(op, Structure::Effect); }

// ---- the law of one operation, read from the row (builder.cpp)
FactorRule factors_of(const OpCall& call);  // evaluates the column; throws RuntimeError("shape")
// The results' types from the operands': elements' types by the dtype rule, sizes by the factors, layouts on explicit
// axes by the same factors (or the error that names both types and the ways out), varying axes as the union of the
// operands'. Throws runtime::RuntimeError(code, facts); the Builder adds the span. `rule`: gets the factors, where the
// types follow from them.
std::vector<Type> infer(const OpCall& call, std::shared_ptr<const FactorRule>* rule = nullptr);
// Element types of the results: the dtype column, or the code's.
std::vector<runtime::Kind> result_kinds(const OpCall& call, std::size_t results);
std::string use_of(const OpDef& op, std::span<const Type> in);  // "add(f32[2], f32[3])", for people

}  // namespace shard::ir
