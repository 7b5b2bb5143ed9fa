// What the transforms that differentiate share: which arguments of a call they are with respect to. Used by
// derivatives.cpp and jacobian.cpp.
#pragma once
#include <vector>

#include "stdlib/host/transforms/traced_call.h"

namespace shard::stdlib {

struct Wrt {
  std::vector<int> args;
  bool tuple = false;
};  // tuple: gradients come as a tuple
Wrt read_wrt(lang::Interpreter& in, const lang::Value& v, grammar::Span span);
// Throws unless `t` is of floating point.
void check_float(lang::Interpreter& in, const trace::Tensor& t, const char* who, grammar::Span span);

// The arguments of one call, and those of them that a derivative is with respect to (positions may count from the end).
struct Chosen {
  std::vector<lang::CallArg> call;
  std::vector<std::size_t> where, sizes;  // chosen arguments: their place in `call`, and how many leaves each has
  std::vector<trace::Tensor> params;      // leaves of the chosen arguments
  bool tuple = false;
  Chosen(lang::Interpreter& in, const Wrt& wrt, std::vector<lang::CallArg> call, const char* who, grammar::Span span);
  std::vector<lang::CallArg> with(
      std::span<const trace::Tensor> leaves) const;               // the call with other leaves in the chosen ones
  lang::Value like(std::span<const trace::Tensor> leaves) const;  // a value shaped as the chosen arguments
};

// The function that gives the gradient of `f`, with its value in front where that is asked for.
lang::Value gradient_function(const lang::Value& f, const Wrt& wrt, bool aux, bool with_value);

}  // namespace shard::stdlib
