// The host functions of the language, by family: functions that act on values rather than on arrays alone. Each
// register function defines one family in an interpreter; stdlib.cpp calls all of them. Transforms of functions are in
// transforms.h.
#pragma once
#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

void register_output(lang::Interpreter& in);           // output.cpp: print, error
void register_assertions(lang::Interpreter& in);       // assertions.cpp: assert assert_close assert_error
void register_lists(lang::Interpreter& in);            // lists.cpp: len zip enumerate map filter append range
void register_extremes(lang::Interpreter& in);         // extremes.cpp: max min sum of lists, passed on for arrays
void register_arrays(lang::Interpreter& in);           // arrays.cpp: meshgrid tensordot
void register_trees(lang::Interpreter& in);            // trees.cpp: tree_map tree_leaves tree_reduce
void register_ravel(lang::Interpreter& in);            // ravel.cpp: tree_ravel
void register_convert(lang::Interpreter& in);          // convert.cpp: int float str bytes array, inf nan pi
void register_layout(lang::Interpreter& in);           // layout.cpp: typeof sharding shards device_get devices ...
void register_visualize(lang::Interpreter& in);        // visualize.cpp: the picture of a layout
void register_plots(lang::Interpreter& in);            // plot.cpp: plot hist
void register_table(lang::Interpreter& in);            // table.cpp
void register_help(lang::Interpreter& in);             // help.cpp
void register_files(lang::Interpreter& in);            // files.cpp: read_text read_csv exists chars
void register_load_save(lang::Interpreter& in);        // load_save.cpp: load save
void register_checkpoints(lang::Interpreter& in);      // checkpoint_store.cpp: checkpoint_folder
void register_loader(lang::Interpreter& in);           // loader.cpp: loader
void register_progress(lang::Interpreter& in);         // progress.cpp: position resumed progress
void register_training_log(lang::Interpreter& in);     // training_log.cpp: log_scalars
void register_from_blocks(lang::Interpreter& in);      // from_blocks.cpp
void register_random_orders(lang::Interpreter& in);    // random.cpp: permutation, choice of a number of things
void register_gradients_check(lang::Interpreter& in);  // gradients_check.cpp: check_grads
void register_clock(lang::Interpreter& in);            // clock.cpp: clock time
void register_breakpoint(lang::Interpreter& in);       // breakpoint.cpp
void register_keys(lang::Interpreter& in);             // keys.cpp: key split
void register_texts(lang::Interpreter& in);            // texts.cpp: join strip replace find upper lower matches
void register_counting(lang::Interpreter& in);         // counting.cpp: unique bincount finfo iinfo
void register_factors(lang::Interpreter& in);          // factors.cpp: cho_factor cho_solve
void register_proofs(lang::Interpreter& in);           // prove.cpp: prove_equal
void register_ragged_exchange(lang::Interpreter& in);  // ragged_exchange.cpp: ragged_all_to_all
void register_collectives(lang::Interpreter& in);      // collectives.cpp: psum all_gather ... of per-device code

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
