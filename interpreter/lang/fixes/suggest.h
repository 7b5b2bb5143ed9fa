// One or two fixes for an operation that failed, found by trying it again with its operands in other layouts, on types
// alone: nothing runs, and what it accepts is known from the operation itself.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "grammar/ast.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

// The parts of an operation as they are written, with their values: operands, arguments, an indexed array and its
// indices.
struct Part {
  Value value;
  const grammar::Expr* expr = nullptr;
};

struct Attempt {
  std::function<Value(std::vector<Value>)> with;          // the same operation on other values of its parts
  std::function<Value(const Value& spec)> with_out = {};  // the same with `out: spec`; empty where it has none
  std::function<grammar::Fix(const std::string& spec)> out_fix = {};  // how that is written
  std::optional<runtime::Sharding> likely = {};                       // what `out:` is to say where that works
  bool in_place = false;  // of one operand whose elements keep their order, `out:` may say where they lie already
};

// Operand `element` of part `part` (-1: the part itself): an array that stands somewhere in the source.
struct Operand {
  std::size_t part;
  std::ptrdiff_t element;
  grammar::Span span;
  trace::Tensor tensor;
};

// An array of the program, whose numbers are not known while tracing.
bool is_array(const Value& v);

class Candidates {
 public:
  Candidates(Interpreter& in, const std::vector<Part>& parts, const Attempt& attempt);

  std::string text(const runtime::Sharding& s) const { return runtime::to_string(*mesh_, s); }
  bool possible() const { return mesh_ && !operands_.empty(); }
  const std::vector<Operand>& operands() const { return operands_; }
  const runtime::Type& type(std::size_t i) const { return types_[i]; }
  const runtime::Mesh& mesh() const { return *mesh_; }

  // The layout of the operation's first result where operand i is laid out so; nothing where it is refused.
  std::optional<runtime::Sharding> with(std::size_t i, const runtime::Sharding& layout);
  // The same where all operands are laid out whole.
  std::optional<runtime::Sharding> with_all_whole();
  // The same where the result's layout is said.
  std::optional<runtime::Sharding> with_out(const runtime::Sharding& layout);
  // The type of the operation's first result, where its parts are given so; nothing where it is refused.
  std::optional<runtime::Type> type_of(const std::function<Value()>& operation);
  // Layouts for operand i that are near to its own: the sum finished, one dimension whole, as another operand, nothing
  // split.
  std::vector<runtime::Sharding> near(std::size_t i) const;

 private:
  using Operation = std::function<Value(const std::vector<Value>&)>;
  std::optional<runtime::Sharding> run(const std::vector<runtime::Type>& types, const Operation& operation);
  std::optional<runtime::Type> result(const std::vector<runtime::Type>& types, const Operation& operation);

  Interpreter& in_;
  const std::vector<Part>& parts_;
  const Attempt& attempt_;
  std::vector<Operand> operands_;
  std::vector<runtime::Type> types_;
  runtime::MeshRef mesh_;
};

inline constexpr std::size_t kFixes = 2;  // an error carries no more

// Whether `e` is an error of the layouts of this very expression that has no fix yet.
bool is_fixable(const grammar::Error& e, const grammar::Expr& at);
bool takes_out(Interpreter& in, const ir::OpDef& op);  // an argument `out: P(...)`
// The rows of a table at split positions, laid out as those are: nothing would move where the table is whole.
std::optional<runtime::Sharding> layout_of_lookup(Interpreter& in, const Value& table, const Value& index,
                                                  std::int64_t axis);
// Adds them; none where nothing that was tried helps. `whole`: the expression that failed.
void suggest(Interpreter& in, grammar::Error& e, const std::vector<Part>& parts, const Attempt& attempt,
             grammar::Span whole);

// The text at `whole` with these operands, which stand in it, laid out whole.
std::string whole_text(Interpreter& in, std::vector<grammar::Span> operands, grammar::Span whole);

// spec_fix.cpp
// A layout for an array of this shape that is near to `written`; nothing where `written` fits, or none is near.
std::optional<Spec> fitting(Interpreter& in, const Spec& written, const runtime::Shape& shape,
                            const runtime::MeshRef& mesh, grammar::Span span);

}  // namespace shard::lang
