// The host functions of the language: functions that act on values rather than on arrays alone. `register_NAME` of the
// file NAME.cpp defines one family in an interpreter (README.md says what is in which).
#pragma once
#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// clang-format off
#define SHARD_HOST_FAMILIES(F)                                                                                 \
  F(output) F(assertions) F(sequences) F(extremes) F(arrays) F(trees) F(ravel) F(conversions) F(placement) F(visualize) F(plot)    \
  F(table) F(help_function) F(files) F(load_save) F(checkpoint_store) F(loader) F(progress) F(training_log)             \
  F(from_blocks) F(gradients_check) F(random_orders) F(clock) F(keys) F(counting) F(cholesky) F(texts) F(breakpoint)   \
  F(collectives) F(ragged_exchange) F(prove) F(derivatives) F(jacobian) F(mapping) F(vmap) F(associative_scan) \
  F(custom) F(remat) F(compilation) F(estimates) F(explaining)
// clang-format on

#define SHARD_DECLARE(name) void register_##name(lang::Interpreter& in);
SHARD_HOST_FAMILIES(SHARD_DECLARE)
#undef SHARD_DECLARE

// ---- shared by the families
// What a `for` would walk: items of lists and tuples, numbers of a range, rows of an array, batches of a loader. An
// error naming `what` where the value has none.
std::vector<lang::Value> items_of(lang::Interpreter& in, const lang::Value& v, grammar::Span span,
                                  std::string_view what);
// The operation of this name, called as a script calls it.
lang::Value call_row(lang::Interpreter& in, std::string_view name, std::vector<lang::CallArg> args, grammar::Span span);
lang::Value call_row(lang::Interpreter& in, std::string_view name, std::vector<lang::Value> args, grammar::Span span);
// Host numbers, truth values and nested lists of them (tensors among them are stacked) as one strongly typed array.
// JAX's default types; integers that do not fit and ragged lists are errors that name the place.
trace::Tensor array_of(lang::Interpreter& in, const lang::Value& v, std::optional<runtime::DType> dtype,
                       grammar::Span span);
// Row-major host data as a new array.
trace::Tensor new_array(lang::Interpreter& in, runtime::DType dtype, runtime::Shape shape, const void* data);
// What stands in a text between others, or between blanks where `by` is none.
lang::Value split_text(lang::Interpreter& in, const std::string& text, const lang::Value& by, grammar::Span span);
// The layout of a concrete array as a spec.
lang::Value spec_of(const runtime::DeviceArray& a);
// Records an effect (print, assert, ...) in the open trace; it is carried out by run_effect when the program runs.
void record_effect(lang::Interpreter& in, std::string what, const lang::DeferredString& message,
                   std::vector<trace::Tensor> operands, ir::Attrs more = {});
void run_effect(lang::Interpreter& in, const ir::Attrs& attrs, const std::vector<runtime::ArrayRef>& operands,
                const std::vector<std::string>& layouts, grammar::Span span);
// Throws the error of a failed comparison, or returns. Arrays are on any layout.
void compare_close(lang::Interpreter& in, const runtime::ArrayRef& got, const runtime::ArrayRef& want, double rtol,
                   double atol, grammar::Span span, const std::string& where);
// visualize.cpp: the picture of a layout, to the output or, where `path` is not empty, to that file.
void draw_layout(lang::Interpreter& in, const runtime::Type& type, const std::string& path, grammar::Span span);

}  // namespace shard::stdlib
