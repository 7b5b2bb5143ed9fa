// Functions made of functions: `jit`, `manual`, `auto` and `explicit` (staging), `grad`, `vmap`, `remat` and their like
// (stdlib/host/transforms). A kind of value of its own: it takes the arguments of a call as they are written, for it
// hands them on to the function that it wraps.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/lang/values/native.h"

namespace shard::lang {

struct Wrapped {
  enum class Kind : std::uint8_t { Jit, Manual, Mode, Transform };
  Wrapped(Kind k, std::string how, Value f) : kind(k), word(std::move(how)), function(std::move(f)) {}
  virtual ~Wrapped() = default;
  Wrapped(const Wrapped&) = delete;
  // The arguments are left where it fails before using them.
  virtual Value call(Interpreter& in, std::vector<CallArg>& args, grammar::Span span) const = 0;
  virtual std::string doc() const { return {}; }  // of a transform: what it makes of the function

  const Kind kind;
  const std::string word;  // how it was made: "jit", "shard_map", "grad"
  const Value function;
};

// A transform's function, run by `run`, which may take its arguments apart.
Value transformed(std::string word, std::string doc, Value function,
                  std::function<Value(Interpreter& in, std::vector<CallArg> args, grammar::Span span)> run);

// The function of the script behind all that wraps it; null where it is one of the host.
const Closure* written_function(const Value& f);
// What people call a function: "f", "fn" where it has no name, "grad(f)".
std::string called(const Value& f);

}  // namespace shard::lang
