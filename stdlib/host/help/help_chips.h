// The table of `help chips`. Used by help_function.cpp.
#pragma once
#include <string>

#include "interpreter/lang/values/value.h"

namespace shard::stdlib {

// A line for each field of a module that is a chip: a record with `name` and `flops`. Empty where there is none.
std::string chips_table(const lang::Record& module);

}  // namespace shard::stdlib
