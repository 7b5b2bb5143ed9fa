// Functions that the host gives to scripts: how they are declared and what they see of a call. The host functions of
// the language (print, map, grad, ...) are registered in stdlib/host; programs that embed Shard register theirs through
// shard.h.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/ir/op.h"
#include "interpreter/lang/values/value.h"

namespace shard::lang {

class Interpreter;  // interpreter.h: the evaluator of an engine
struct TracedRange;

struct CallArg {
  std::string name;
  Value value;
  grammar::Span span;
  // Of a compiled function: the part of its result that takes the argument's place (Unit::becomes).
  std::optional<std::int32_t> becomes = std::nullopt;
  grammar::Span name_span = {};  // of the name, where it has one
};                               // name "" where positional

// Arguments bound to the parameters of a native's signature, in order. Left-out ones have `given` false and their
// default (or none). A trailing `xs...` takes further positional arguments and all named ones that no parameter has.
struct BoundArg {
  Value value;
  bool given = false;
  grammar::Span span;
};
struct BoundArgs {
  std::vector<BoundArg> args;
  std::vector<CallArg> rest;  // of a trailing `xs...`
  grammar::Span span;
  Value& operator[](std::size_t i) { return args[i].value; }
  bool given(std::size_t i) const { return args[i].given; }
};

struct NativeSignature;  // bind_native.cpp: `signature`, parsed

struct Native {
  std::string name;
  std::string signature;  // "grad(f, wrt = 0, aux = false)": names, `= literal` defaults, a last `xs...`
  std::string doc;
  std::function<Value(Interpreter&, BoundArgs&)> call;
  std::vector<ir::Alias> aliases = {};  // what others call it (names/aliases.h)
  // A call of it does something beside giving its value; so does whatever gives none, without this.
  bool acts = false;
  bool asserts = false;         // a call is left out where what it is asked about is known only in a run
  bool reserved = false;        // no script declares a name like it
  bool sees_variables = false;  // a call without arguments gets a record of all variables that are known there
  mutable std::shared_ptr<const NativeSignature> parsed = {};  // filled at the first call
};

// For natives that a host declares: throws std::invalid_argument with a sentence where name or signature are malformed.
void check_signature(const Native& native);

struct Loader {  // something a `for` can walk that is not in memory
  virtual ~Loader() = default;
  virtual std::optional<Value> next(Interpreter&) = 0;
  virtual std::optional<std::int64_t> length() const { return std::nullopt; }
  virtual void restart() = 0;  // a `for` begins at the front
  virtual std::string describe() const = 0;
  virtual const TracedRange* traced() const { return nullptr; }                    // where it is one
  virtual std::optional<std::int64_t> position() const { return std::nullopt; }    // turns since its first epoch began
  virtual std::shared_ptr<Loader> resumed(std::int64_t) const { return nullptr; }  // behind so many more turns
};

// What `range` gives where an end is only known when the program runs. A `for` over it is one loop of the program;
// nothing else can walk it.
struct TracedRange final : Loader {
  Value begin, end;
  std::int64_t step;
  TracedRange(Value from, Value to, std::int64_t by) : begin(std::move(from)), end(std::move(to)), step(by) {}
  std::optional<Value> next(Interpreter&) override;  // an error: only a loop of the program goes through it
  void restart() override {}
  std::string describe() const override { return kind; }
  const TracedRange* traced() const override { return this; }
  static constexpr const char* kind = "range that only a run knows";
};

bool only_a_run_knows(const Value& v);  // a traced integer that stands for no host number

}  // namespace shard::lang
