// breakpoint: the script stands still, and whoever runs it may look around.
#include "stdlib/host/host.h"

namespace shard::stdlib {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

void register_breakpoint(Interpreter& in) {
  lang::Native native{
      "breakpoint",
      "breakpoint(variables = none)",
      "Opens the REPL with all variables that are known here, or with the fields of a record; `:continue` "
      "goes on. In a trace the variables have types and no elements. Where nothing can be read the script "
      "goes on at once.",
      [](Interpreter& i, BoundArgs& a) {
        const auto& ask = i.options().breakpoint;
        const lang::Record* variables = a[0].fields();
        if (!variables && !a[0].is_none())
          i.fail("type", a.span, "breakpoint takes a record of variables, this is " + lang::kind_name(a[0]));
        if (ask) ask(i, variables ? variables->fields : decltype(variables->fields){}, a.span);
        return Value();
      },
      {{"set_trace", "the script stands still at `breakpoint()`"},
       {"pdb", "the script stands still at `breakpoint()`"}}};
  native.sees_variables = true;
  in.define(std::move(native));
}

}  // namespace shard::stdlib
