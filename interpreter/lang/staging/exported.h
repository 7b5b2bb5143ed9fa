// A compiled call as StableHLO, and what is beside the text: names, shapes, layouts. For `shard export` and
// `export_stablehlo`.
#pragma once
#include <string>

#include "interpreter/hlo/module.h"
#include "interpreter/lang/staging/jit.h"

namespace shard::lang {

// "manual", "replica", "auto"; RuntimeError("value") for another word.
hlo::Form form_named(std::string_view word);
hlo::Module exported(const CompiledCall& call, hlo::Form form, const ir::OpTable& table,
                     const grammar::SourceMap& sources);
// One JSON object: {"function", "file", "line", "form", "mesh", "arguments", "results", "tested_with"}, an entry a
// parameter and a result of @main, in order.
std::string exported_json(const CompiledCall& call, hlo::Form form, const hlo::Module& module,
                          const grammar::SourceMap& sources);

}  // namespace shard::lang
