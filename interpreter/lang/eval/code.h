// Code of bodies that run often: what a function or the body of a loop does, step after step, on the same variables as
// the walk over its tree. A step has a straight path for host numbers; all else it hands to the walk, which is the
// meaning of every form: what no step is for is walked whole, and so is all of a script that is checked.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

// Where a value is: a variable of the frame, a value that lies between steps, or a literal.
struct Operand {
  enum Kind : std::uint8_t { Local, Temporary, Literal };
  Kind kind = Local;
  std::int32_t index = 0;
};

struct CodeStep {
  enum Op : std::uint8_t {
    Poll,     // before each statement and turn: at `span`
    Copy,     // a to dst
    Read,     // a variable with a cell
    Unary,    // dst = op a
    Binary,   // dst = a op b, by the operator `to`
    Truth,    // dst = a, which must be a truth value: the right side of a logical operator
    Decides,  // the left side: where it decides, dst is the result, and the step goes to `to`
    Branch,  // goes to `to` where a is false; where only a run knows, the walk does the `if`, to dst, and goes to `end`
    While,   // goes to `to` where a is false; where only a run knows, the walk does the loop
             // ... of both: `compares`, the condition is that of a and b
    Next,    // the next number of a range, a, to dst; goes to `to` where it is b
    Callee,  // dst = the function at the slot b, none where it is the running one, if it takes its arguments, `end`, as
             // they are written; else the walk does the call to a, and goes to `to`
    Call,    // dst = the function in a with the temporaries from b on
    Walk,    // dst = what the walk makes of the expression
    Flow,    // the same of a block or a branch, which may be left
    Execute,  // the walk does a statement
    Update,   // dst, a variable, by the operator `to` with a
    Assign,   // a to the statement's target
    Drop,     // of a temporary
    Clear,    // variables from `to` to `end`
    Jump,     // to `to`
    Break,    // out of what the code is of
    Continue,
    Return,  // a
    Result,  // a is the value of the whole, and its end
    End,
  };
  Op op;
  Operand dst = {}, a = {}, b = {};
  std::int32_t to = 0, end = 0;
  grammar::Span span = {};
  const void* node = nullptr;  // the expression or statement, of the type that `op` takes
  std::optional<grammar::BinaryOp> compares = {};
  Where where = Where::Unknown;  // of the slot b
};

struct Code {
  struct Loop {  // its steps, its body's variables
    std::int32_t begin, end, first_local, end_local;
  };
  static constexpr int kTemporaries = 12;
  std::vector<CodeStep> steps;
  std::vector<Value> literals;
  std::vector<Slot> parameters;  // of a function that is `simple`
  std::vector<Loop> loops;       // inner ones first
  int temporaries = 0;
  std::int32_t first_local = 0, end_local = 0;  // let go where the code is left before its end
};

std::shared_ptr<const Code> code_of(const Unit& unit, const grammar::Expr& body);
std::shared_ptr<const Code> code_of(const Unit& unit, const grammar::Function& f);
std::shared_ptr<const Code> code_of(const Unit& unit, const grammar::WhileStmt& loop, grammar::Span span);
std::shared_ptr<const Code> code_of(const Unit& unit, const grammar::ForStmt& loop);  // over a range
// `out`: the value of the body; null where nobody wants it.
Flow run_code(Interpreter::Impl& m, const Code& code, Value* out);
Flow run_code(Interpreter::Impl& m, const Code& loop, const Range& range);

// The code of a tree of the running frame, made when it is first wanted; null: it is to be walked.
template <class... Tree>
const Code* code_for(Interpreter::Impl& m, std::shared_ptr<const Code>& kept, const Tree&... tree) {
  if (m.checker || m.ctx.types_only() || m.in.options().counts) return nullptr;  // the walk looks at every turn
  if (!kept) kept = code_of(*m.frame().unit, tree...);
  return kept.get();
}

}  // namespace shard::lang
