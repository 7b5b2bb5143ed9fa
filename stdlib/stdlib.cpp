#include "stdlib/stdlib.h"

#include "interpreter/lang/fixes/fix.h"
#include "stdlib/host/host.h"
#include "stdlib/host/transforms/transforms.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {

void install(ir::OpTable& table) {
  table.fill_when_asked([](ir::OpTable& t) {
    register_all(t);
    t.freeze();
  });
}

void install(lang::Interpreter& in) {
  lang::install_fixes(in);
  register_output(in);
  register_assertions(in);
  register_lists(in);
  register_extremes(in);
  register_arrays(in);
  register_trees(in);
  register_ravel(in);
  register_convert(in);
  register_layout(in);
  register_visualize(in);
  register_plots(in);
  register_table(in);
  register_help(in);
  register_files(in);
  register_load_save(in);
  register_checkpoints(in);
  register_loader(in);
  register_progress(in);
  register_training_log(in);
  register_from_blocks(in);
  register_gradients_check(in);
  register_random_orders(in);
  register_clock(in);
  register_keys(in);
  register_counting(in);
  register_factors(in);
  register_texts(in);
  register_breakpoint(in);
  register_collectives(in);
  register_ragged_exchange(in);
  register_proofs(in);
  register_derivatives(in);
  register_mapping(in);
  register_associative_scan(in);
  register_custom(in);
  register_compilation(in);
  register_foresight(in);
  register_explaining(in);
}

}  // namespace shard::stdlib
