// Which argument of a call goes to which parameter: one rule and one set of messages for functions of the script,
// natives, operation rows and per-device code. What a callee makes of its arguments is its own matter (call.cpp,
// bind_native.cpp, bind_row.cpp, staging/manual.cpp).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/native.h"

namespace shard::lang {

// A callee as the binder sees it.
class Parameters {
 public:
  virtual ~Parameters() = default;
  virtual std::size_t size() const = 0;
  virtual std::string_view name(std::size_t i) const = 0;  // "": a pattern, which no argument can name
  virtual bool required(std::size_t i) const = 0;
  virtual int rest() const { return -1; }      // the parameter that takes all further positional arguments
  virtual bool open() const { return false; }  // further arguments, named ones too, go to no parameter
  virtual std::string callee() const = 0;      // "`f`", "this function": for messages
  virtual std::string signature() const = 0;   // "fn f(a, b = 1)"
};

struct Bound {
  std::vector<std::int32_t> argument;  // by parameter: the argument that it gets, or -1
  std::vector<std::int32_t> further;   // what `rest` or an open callee takes beyond, in order
};
// Throws Error("call") with the callee's signature. An argument without a span of its own stands where the call does.
Bound bind_arguments(const Parameters& parameters, std::span<const CallArg> args, grammar::Span call);

// Of a function of the script.
class ClosureParameters final : public Parameters {
 public:
  explicit ClosureParameters(const grammar::Function& f) : f_(f) {}
  std::size_t size() const override { return f_.params.size(); }
  std::string_view name(std::size_t i) const override {
    auto* n = std::get_if<grammar::NamePattern>(&f_.params[i].pattern->node);
    return n ? std::string_view(n->name) : std::string_view();
  }
  bool required(std::size_t i) const override { return f_.params[i].default_value == nullptr; }
  std::string callee() const override { return f_.name.empty() ? "this function" : "`" + f_.name + "`"; }
  std::string signature() const override;

 private:
  const grammar::Function& f_;
};

}  // namespace shard::lang
