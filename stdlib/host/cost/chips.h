// Chips as scripts write them: a record with the fields of cost_model/chip.h, or the name of one in the module `chips`.
#pragma once
#include <optional>

#include "interpreter/cost_model/estimate.h"
#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/staging/explanation.h"
#include "interpreter/lang/staging/jit.h"

namespace shard::stdlib {

// Errors name what is missing or of the wrong kind, and the chips and stacks that there are. `stack`: the software that
// runs there (`stacks` in the module `chips`); empty: as the record has it.
cost_model::Chip chip_of(lang::Interpreter& in, const lang::Value& v, grammar::Span span,
                         const std::string& stack = {});
std::vector<cost_model::Chip> all_chips(lang::Interpreter& in);  // of the module
// The arguments `chip:` and `stack:`, taken out of those that are a function's; nothing where there is none.
std::optional<cost_model::Chip> take_chip(lang::Interpreter& in, lang::BoundArgs& a);

// The call on the chip, its state handed over.
cost_model::Estimate predicted(const cost_model::Chip& chip, const lang::CompiledCall& call);
// What a call says between devices, holds and computes, and what it keeps for its backward part, as text.
std::string explained_call(const lang::CompiledCall& call, const grammar::SourceMap& sources,
                           const lang::Prices* prices = nullptr);
// What a call says between devices with the price of each, and what it takes on the chip, as text. (explaining.cpp)
std::string explained_on(const lang::CompiledCall& call, const cost_model::Estimate& e, const cost_model::Chip& chip,
                         const grammar::SourceMap& sources);

}  // namespace shard::stdlib
