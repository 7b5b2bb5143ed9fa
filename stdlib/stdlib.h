// The standard library as an engine takes it in: the rows of all operations, then the host functions, and the modules
// in Shard by name. The only header of stdlib/ that programs need (interpreter/embed/machine.cpp puts an engine
// together).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/ir/op_table.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

void install(ir::OpTable& table);                                     // has all rows, made when one is first asked for
void install(lang::Interpreter& in);                                  // defines all host functions, and how effects act
std::optional<std::string> embedded_module(const std::string& name);  // the text of nn, optim, ...

// ---- documentation
struct Example {
  std::string name, group, code, shapes, gradient, layout;  // facts only where no row tells them
  std::string what;                                         // of a word or a module, in place of a signature
  std::string subjects;                                     // "a, b": what else leads here
};
std::string examples_text();  // stdlib/examples.txt
std::string lessons_text();   // what scripts and pages show of their subjects (pack.cpp)
std::vector<Example> examples();
std::vector<std::string> builtin_functions(lang::Interpreter& in);  // the names that scripts may call
std::string reference_page(lang::Interpreter& in);  // Markdown: all builtins, by the groups of the examples
std::vector<std::string> public_modules();          // the names that scripts import: nn, optim, ...
// What is known under this name: a builtin, a word of the language, nn or nn.linear; a name that stands in a module
// alone (adam). Empty where nothing is.
std::string help_named(lang::Interpreter& in, const std::string& name);
// What `shard help WORDS`, help("WORDS") and `?WORDS` tell: of a name, of what others call so, of a subject ("tensor
// parallel"), or what speaks of all these words ("average over devices"), the nearest first. Empty where nothing does.
std::string help_on(lang::Interpreter& in, const std::string& topic);
std::string help_subjects();  // how to ask, and the subjects
// What to say where help_on gives nothing: a near miss, or how to ask.
std::vector<std::string> help_hints(lang::Interpreter& in, const std::string& topic);

}  // namespace shard::stdlib
