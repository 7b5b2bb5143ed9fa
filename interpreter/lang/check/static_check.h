// What `shard check` finds out: errors (eval/checking), and the types of names for who shows them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grammar/characters.h"
#include "interpreter/lang/eval/checking/checking.h"

namespace shard::lang {

// ---- variables of functions that are compiled, whose layouts are known when the whole function is: until
// then their values are kept. For an editor, which shows `h: f32[64@data,4@model]` inside of a jit function too.

// The type of any value as `shard check --types` prints it; `layout`: what is known of a traced array beside its type,
// nothing: its type alone is shown.
using LayoutOf = std::function<std::optional<exec::ArrayInfo>(const trace::Tensor&)>;
std::string type_text(const trace::Context& ctx, const Value& v, const LayoutOf& layout = nullptr);

bool is_traced(const Value& v);  // an array of an open trace is in it

class TracedValues {
 public:
  void add(std::size_t let, Value value) { values_.push_back({let, std::move(value)}); }
  // Tells the type with its layout of each value of the trace that was compiled.
  using Told = std::function<void(std::size_t let, std::string text)>;
  void lay_out(const trace::Context& ctx, const CompiledCall& call, const Told& told);
  void rest(const std::function<void(std::size_t let, const Value& value)>& told);  // all others

 private:
  struct TracedLet {
    std::size_t let;
    Value value;
  };
  std::vector<TracedLet> values_;
};

// ---- all of it

class Check final : public Checking {
 public:
  using Checking::Checking;

  struct Let {
    grammar::Span span;  // of the whole statement; of a parameter its name
    std::string name;
    std::vector<std::string> types;
    grammar::Span word = {};  // the name
    bool parameter = false;
    std::string type() const { return grammar::separated(types, " or "); }
  };
  std::vector<Let> lets;
  bool with_parameters = false;  // whether `lets` shall have those of the script's functions too, as calls bind them
  // With them: a call was compiled, so that the layouts are known which its values get. At the end: no more will be.
  void lay_out(const CompiledCall& call);
  void finish();

  void declared(const grammar::LetStmt& s, grammar::Span span) override;
  void enter(const Closure& f, grammar::Span call) override;

 private:
  void note(const grammar::Pattern& p, grammar::Span statement, bool parameter);
  void add_type(std::size_t let, std::string text);

  TracedValues traced_;
};

}  // namespace shard::lang
