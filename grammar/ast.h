// The tree of a program: plain structs without behaviour, each with the span it was written at.
// It is built by the parser (expression.cpp, statement.cpp, types.cpp), read by the resolver and the evaluator in
// interpreter/lang, and printed by printer.cpp. Nodes are immutable and shared: a closure keeps its function's tree
// alive.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "grammar/source.h"

namespace shard::grammar {

struct Expr;
struct Stmt;
struct Annot;
struct Pattern;
struct Function;
using ExprPtr = std::shared_ptr<const Expr>;
using StmtPtr = std::shared_ptr<const Stmt>;
using AnnotPtr = std::shared_ptr<const Annot>;
using PatternPtr = std::shared_ptr<const Pattern>;
using FunctionPtr = std::shared_ptr<const Function>;

struct Word {
  std::string text;
  Span span;
};  // a name where it stands

// ---- expressions ----------------------------------------------------------------------------------------------------
enum class UnaryOp { Neg, Pos, BitNot, Not };
enum class BinaryOp : std::uint8_t {
  Or,
  And,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Range,
  BitOr,
  BitAnd,
  Shl,
  Shr,
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  MatMul,
  Pow
};

struct IntLit {
  std::int64_t value;
};
struct FloatLit {
  double value;
};
struct BoolLit {
  bool value;
};
struct NoneLit {};
struct StringPiece {
  std::string text;
  ExprPtr value;
  std::string format;
};  // literal text, or `value` with its format
struct StringLit {
  std::vector<StringPiece> pieces;
};  // "" has no pieces
struct NameRef {
  std::string name;
};  // variables, builtins, `jit`
struct DTypeLit {
  std::string name;
};  // f32 as a value
struct AxisLit {
  std::vector<Word> names;
  bool grouped = false;
};                  // @X, @(a, b)
struct HoleLit {};  // `_`: a size or entry left out
struct OpenLit {};  // `?`: an entry left to the compiler

struct Arg {
  std::optional<Word> name;
  bool spread = false;
  ExprPtr value;
};  // f(x), f(axis: 0), f(...xs)
struct SpecLit {
  std::vector<Arg> args;
};  // P(@X, _), P(unreduced: @X)

// f32[8@X, B@(Y,Z), ..., _]{V:X}: sizes are expressions (names bind), axes by name.
struct TypeDim {
  bool ellipsis = false;
  ExprPtr size;
  std::vector<Word> axes;
  bool grouped = false;
  Span span;
};
struct TypeGroup {
  std::string tag;
  std::vector<Word> axes;
};  // tag: V U U_max U_min R
struct TypeLit {
  bool weak = false;
  std::string dtype;
  std::vector<TypeDim> dims;
  std::vector<TypeGroup> groups;
};

struct Element {
  bool spread = false;
  ExprPtr value;
};
struct TupleLit {
  std::vector<Element> elements;
};
struct ListLit {
  std::vector<Element> elements;
};
struct Entry {
  std::optional<Word> name;
  ExprPtr value;
  ExprPtr key;  // `[key]: value`, a name that is computed
};              // without a name or a key: `...value`
struct RecordLit {
  std::vector<Entry> entries;
};

struct Block {
  std::vector<StmtPtr> body;
};
struct IfExpr {
  ExprPtr condition;
  ExprPtr then;
  ExprPtr otherwise;
};  // blocks; otherwise: a block, an IfExpr or null
struct UseExpr {
  ExprPtr mesh;
  ExprPtr body;
};  // use m { ... }
struct FunctionLit {
  FunctionPtr function;
};

struct Unary {
  UnaryOp op;
  ExprPtr operand;
};
struct Binary {
  BinaryOp op;
  ExprPtr left, right;
  Span op_span;
};
struct Call {
  ExprPtr callee;
  std::vector<Arg> args;
};
struct Item {
  bool ellipsis = false, slice = false;
  ExprPtr value;
  ExprPtr start, stop, step;
  Span span;
};
struct Index {
  ExprPtr object;
  std::vector<Item> items;
};
struct Field {
  ExprPtr object;
  Word name;
};
struct Pipe {
  ExprPtr value;
  ExprPtr target;
};  // x |> f(2): target is a call or a function
struct Shard {
  ExprPtr value;
  ExprPtr spec;
  ExprPtr mesh;
};  // mesh may be null

struct Expr {
  Span span;
  std::int32_t id = 0;  // unique in a module, dense from 0: side tables (resolution) are indexed by it
  std::variant<IntLit, FloatLit, BoolLit, NoneLit, StringLit, NameRef, DTypeLit, AxisLit, HoleLit, OpenLit, SpecLit,
               TypeLit, TupleLit, ListLit, RecordLit, Block, IfExpr, UseExpr, FunctionLit, Unary, Binary, Call, Index,
               Field, Pipe, Shard>
      node;
};

// ---- patterns, annotations, functions -------------------------------------------------------------------------------
struct NamePattern {
  std::string name;
};
struct TuplePattern {
  std::vector<PatternPtr> elements;
  std::optional<std::size_t> rest;  // the element that takes what the others leave: `...xs`
};
struct ListPattern {
  std::vector<PatternPtr> elements;
  std::optional<std::size_t> rest;
};
struct FieldPattern {
  Word name;
  PatternPtr target;
  bool rest = false;  // `...others`, without a name
};                    // {w} has target NamePattern w
struct RecordPattern {
  std::vector<FieldPattern> fields;
};
struct Pattern {
  Span span;
  std::int32_t id = 0;  // shares the counter of Expr::id
  std::variant<NamePattern, TuplePattern, ListPattern, RecordPattern> node;
};

struct TypeAnnot {
  ExprPtr type;
};  // a TypeLit
struct SpecAnnot {
  ExprPtr spec;
};  // P(...), or an expression that holds specs
struct TupleAnnot {
  std::vector<AnnotPtr> elements;
};
struct ListAnnot {
  std::vector<AnnotPtr> elements;
};
struct FieldAnnot {
  Word name;
  AnnotPtr annot;
};
struct RecordAnnot {
  std::vector<FieldAnnot> fields;
};
struct Annot {
  Span span;
  std::variant<TypeAnnot, SpecAnnot, TupleAnnot, ListAnnot, RecordAnnot> node;
};

enum class ModifierKind { Jit, Manual, Auto, Explicit };
struct Modifier {
  ModifierKind kind;
  bool all_axes = true;
  std::vector<ExprPtr> axes;
  Span span;
};  // manual(@data): all_axes false
struct Param {
  PatternPtr pattern;
  AnnotPtr annot;
  ExprPtr default_value;
  Span span;
};
struct Function {
  Span span;         // from the first modifier or `fn` to the end of the body
  Span header;       // up to the body
  std::string name;  // "" for a lambda
  Span name_span;
  std::string doc;  // the `##` comment above it, without the signs
  std::vector<Modifier> modifiers;
  std::vector<Param> params;
  AnnotPtr result;
  ExprPtr body;  // a Block, or an expression
  std::int32_t id = 0;
};

// ---- statements -----------------------------------------------------------------------------------------------------
enum class AxisKind { Auto, Explicit };
enum class AssignOp { Set, Add, Sub, Mul, Div };

struct LetStmt {
  PatternPtr pattern;
  ExprPtr value;
};
struct FnStmt {
  FunctionPtr function;
};
struct MeshAxis {
  Word name;
  ExprPtr size;
  AxisKind kind = AxisKind::Auto;
};  // size may be a HoleLit
struct MeshStmt {
  Word name;
  std::vector<MeshAxis> axes;
  ExprPtr devices;
  std::int32_t id = 0;
};
struct UseStmt {
  ExprPtr mesh;
};  // for the rest of the block
struct RulesStmt {
  ExprPtr rules;
};  // `rules { a: @X }` or a record's name
struct TestStmt {
  std::string name;
  ExprPtr body;
  bool skip = false;  // `test.skip`: told, not run
};
struct ImportStmt {
  std::string module;
  bool file = false;
  Word name;
  std::int32_t id = 0;
};  // name: what it is called here
struct ForStmt {
  PatternPtr pattern;
  ExprPtr sequence;
  ExprPtr body;
};
struct WhileStmt {
  ExprPtr condition;
  ExprPtr body;
};
struct BreakStmt {};
struct ContinueStmt {};
struct ReturnStmt {
  ExprPtr value;
};  // may be null
struct AssignStmt {
  ExprPtr target;
  AssignOp op;
  ExprPtr value;
};  // target: name, index, field, or a tuple/list of names
struct ExprStmt {
  ExprPtr value;
};

struct Stmt {
  Span span;
  std::variant<LetStmt, FnStmt, MeshStmt, UseStmt, RulesStmt, TestStmt, ImportStmt, ForStmt, WhileStmt, BreakStmt,
               ContinueStmt, ReturnStmt, AssignStmt, ExprStmt>
      node;
};

struct Module {
  std::uint32_t source = 0;
  std::vector<StmtPtr> body;
  std::int32_t ids = 0;  // how many ids were given: side tables have this size
};

}  // namespace shard::grammar
