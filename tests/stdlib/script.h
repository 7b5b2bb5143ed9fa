// Scripts as tests run them: a fresh engine with the standard library, what it printed, and what went wrong.
#pragma once
#include <memory>
#include <string>

#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/report/report.h"
#include "stdlib/stdlib.h"

namespace shard::test {

class Script {
 public:
  explicit Script(lang::Options options = {}) {
    stdlib::install(table_);
    options.output = [this](std::string_view text) { printed += text; };
    options.embedded_module = stdlib::embedded_module;
    const int devices = options.devices;
    context_ = std::make_unique<trace::Context>(table_, pool_, devices);
    in_ = std::make_unique<lang::Interpreter>(*context_, std::move(options));
    stdlib::install(*in_);
  }
  lang::Interpreter& in() { return *in_; }
  std::string printed;

 private:
  runtime::Pool pool_;
  ir::OpTable table_;
  std::unique_ptr<trace::Context> context_;
  std::unique_ptr<lang::Interpreter> in_;
};

inline std::string run(const std::string& text, lang::Options options = {}) {
  Script s(std::move(options));
  try {
    s.in().run("test.shard", text);
  } catch (const grammar::Error& e) { return s.printed + lang::report(e.diagnostic, s.in().sources()); }
  return s.printed;
}

// The report of the error that the script must end in; "" where it does not.
inline std::string error(const std::string& text, lang::Options options = {}) {
  Script s(std::move(options));
  try {
    s.in().run("test.shard", text);
  } catch (const grammar::Error& e) { return lang::report(e.diagnostic, s.in().sources()); }
  return "";
}

}  // namespace shard::test
