// The host functions of the language: functions that act on values rather than on arrays alone. `register_NAME` of the
// file NAME.cpp defines one family in an interpreter (README.md says what is in which).
#pragma once
#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// What every family speaks of.
using lang::BoundArgs;
using lang::CallArg;
using lang::Interpreter;
using lang::Value;
using runtime::ArrayRef;
using runtime::DType;
using runtime::Shape;
using runtime::Type;
using trace::Tensor;

// clang-format off
#define SHARD_HOST_FAMILIES(F)                                                                                 \
  F(output) F(assertions) F(lists) F(extremes) F(arrays) F(trees) F(ravel) F(conversions) F(placement) F(visualize) F(plot)    \
  F(table) F(help_function) F(files) F(load_save) F(checkpoint_store) F(loader) F(progress) F(training_log)             \
  F(keys) F(counting) F(rolling) F(texts)   \
  F(collectives) F(ragged_exchange) F(prove) F(derivatives) F(mapping) F(vmap) \
  F(custom) F(remat) F(compilation) F(estimates) F(explaining)
// clang-format on

#define SHARD_DECLARE(name) void register_##name(Interpreter& in);
SHARD_HOST_FAMILIES(SHARD_DECLARE)
#undef SHARD_DECLARE

// ---- shared by the families
// What a `for` would walk: items of lists and tuples, numbers of a range, rows of an array, batches of a loader. An
// error naming `what` where the value has none.
std::vector<Value> items_of(Interpreter& in, const Value& v, grammar::Span span, std::string_view what);
// The operation of this name, called as a script calls it.
Value call_row(Interpreter& in, std::string_view name, std::vector<CallArg> args, grammar::Span span);
Value call_row(Interpreter& in, std::string_view name, std::vector<Value> args, grammar::Span span);
// The same with all arguments of this call: those that have a place, then those of a trailing `xs...`.
Value pass_on(Interpreter& in, std::string_view name, BoundArgs& a);
// The argument of this name among those of a trailing `xs...`, taken out; nothing where there is none.
std::optional<CallArg> take_named(BoundArgs& a, std::string_view name);
// The note, where it is wanted: for errors.
std::vector<std::string> note_if(bool wanted, std::string note);
Value list_of(const std::vector<std::int64_t>& numbers);
Tensor as_array(Interpreter& in, const Value& v, grammar::Span span);  // an array itself, else `array_of` by itself
// The whole array in this process, for `what`, which needs one that is there.
ArrayRef on_host(Interpreter& in, const Tensor& x, std::string_view what);
Tensor converted(Interpreter& in, const Tensor& x, DType dtype, bool weak = false);
// Host numbers, truth values and nested lists of them (tensors among them are stacked) as one strongly typed array.
// JAX's default types; integers that do not fit and ragged lists are errors that name the place.
Tensor array_of(Interpreter& in, const Value& v, std::optional<DType> dtype, grammar::Span span);
// Row-major host data as a new array.
Tensor new_array(Interpreter& in, DType dtype, Shape shape, const void* data);
// What stands in a text between others, or between blanks where `by` is none.
Value split_text(Interpreter& in, const std::string& text, const Value& by, grammar::Span span);
// The layout of a concrete array as a spec.
Value spec_of(const runtime::DeviceArray& a);
// Records an effect (print, assert, ...) in the open trace; it is carried out by run_effect when the program runs.
void record_effect(Interpreter& in, std::string what, const lang::DeferredString& message, std::vector<Tensor> operands,
                   ir::Attrs more = {});
void run_effect(Interpreter& in, const ir::Attrs& attrs, const std::vector<ArrayRef>& operands,
                const std::vector<std::string>& layouts, grammar::Span span);
// Throws the error of a failed comparison, or returns. Arrays are on any layout.
void compare_close(Interpreter& in, const ArrayRef& got, const ArrayRef& want, double rtol, double atol,
                   grammar::Span span, const std::string& where);
// visualize.cpp: the picture of a layout, to the output or, where `path` is not empty, to that file.
void draw_layout(Interpreter& in, const Type& type, const std::string& path, grammar::Span span);

}  // namespace shard::stdlib
