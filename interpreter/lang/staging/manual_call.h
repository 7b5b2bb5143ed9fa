// One call of per-device code (manual.cpp): its arguments are cut as their specs say (manual_arguments.cpp), its body
// is traced on local types with the taken axes made manual, and its results are put together again
// (manual_results.cpp).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "interpreter/lang/staging/modes.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {

class ManualFunction final : public Wrapped {
 public:
  ManualFunction(Value f, std::string how, ManualSpecs s)
      : Wrapped(Kind::Manual, std::move(how), std::move(f)), specs(std::move(s)) {
    const Closure* closure = written_function(function);
    const std::string written = closure ? closure->function->name : "";
    name = word != "manual" ? word + "(...)" : written.empty() ? "a manual function" : written;
  }
  Value call(Interpreter& in, std::vector<CallArg>& args, grammar::Span span) const override;

  const ManualSpecs specs;
  std::string name;  // for messages
};

class ManualCall {
 public:
  ManualCall(Interpreter& in, const ManualFunction& body, grammar::Span span);
  Value operator()(std::vector<CallArg> args);

 private:
  // One argument leaf with its layout.
  struct Placed {
    trace::Tensor tensor;
    ir::Layout layout;
  };
  struct Given {
    CallArg arg;  // named behind a parameter that is left out (it has a default)
    std::size_t parameter;
  };
  // Where a result is written, as far as the text shows it: its expression and its spec.
  struct Written {
    const grammar::Expr* value = nullptr;
    const grammar::Annot* spec = nullptr;
    grammar::Span around = {};  // of the expression that gives the tree it is a part of
    grammar::Span span(grammar::Span otherwise) const {
      return value ? value->span : around.known() ? around : otherwise;
    }
  };
  using EachLeaf = std::function<void(const Value& leaf, const Value& spec, const Written& written)>;

  void take_axes();
  void tell_blocks(grammar::Diagnostic& d, const std::vector<Given>& args) const;
  Value emit(const trace::Traced& traced, const TreeStructure& result, const std::vector<ir::Layout>& out_layouts);

  // ---- arguments
  std::vector<Given> in_order(std::vector<CallArg> args);
  void check_specs(std::size_t positional, std::size_t most);
  const Value& spec_of(std::size_t position) const;
  void place(const Value& argument, const Value& specs, std::size_t position, grammar::Span span);
  void check_explicit(const trace::Tensor& t, const ir::Layout& layout, std::size_t position, grammar::Span span);
  [[noreturn]] void misplaced(const runtime::Type& type, const std::string& spec, std::size_t position,
                              grammar::Span span);
  runtime::Type local_type(const Placed& p) const;
  // Numbers of the host stay numbers inside.
  static bool is_operand(const Value& leaf) { return leaf.is_tensor() && !leaf.tensor().known(); }

  // ---- results
  std::vector<trace::Tensor> results(TreeStructure& tree, std::vector<ir::Layout>& layouts);
  trace::Tensor laid_out(const Value& v, const Value& spec, const Written& written, std::size_t position,
                         std::vector<ir::Layout>& layouts);
  void check_varying(const trace::Tensor& t, const ir::Layout& layout, const Written& written, std::size_t position);

  void sum_or_name(grammar::Diagnostic& d, const runtime::Type& type, const ir::Layout& layout,
                   runtime::AxisSet undeclared, const Written& written, std::size_t position);
  void trust_or_gather(grammar::Diagnostic& d, const runtime::Type& type, const ir::Layout& layout,
                       runtime::AxisSet undeclared, std::size_t position);
  void say_the_same(grammar::Diagnostic& d, const runtime::Type& type, const ir::Layout& layout,
                    runtime::AxisSet undeclared, const std::vector<const ir::Node*>& joins, std::size_t position);

  // ---- both. `what`: "argument" or "result".
  void collect(const Value& v, const Value& spec, const char* what, std::size_t position, const Written& written,
               const EachLeaf& each);
  std::string subject(const char* what, std::size_t position) const;  // "argument 0 (`x`) of f"
  [[noreturn]] void misfit(const Value& v, const Value& spec, const char* what, std::size_t position,
                           grammar::Span span);
  // The layout that a spec means for a value; of an argument `t` without a spec, what its type says.
  ir::Layout layout_for(const Value& spec, const runtime::Type& type, const char* what, std::size_t position,
                        const trace::Tensor* t, grammar::Span span);
  // Errors of `f` say which argument or result they are about.
  template <class F>
  auto about(const std::string& who, const runtime::Type& type, grammar::Span span, F f) -> decltype(f()) {
    try {
      return in_.at(span, f);
    } catch (grammar::Error& e) {
      e.diagnostic.notes.insert(e.diagnostic.notes.begin(), who + " is " + runtime::to_string(type));
      throw;
    }
  }

  Interpreter& in_;
  trace::Context& ctx_;
  const ManualFunction& body_;
  const grammar::Function* function_ = nullptr;  // where the body is a function of the script
  grammar::Span span_;
  runtime::MeshRef outer_, inner_;
  runtime::AxisSet taken_;
  std::vector<Placed> inputs_;
  bool leaf_argument_ = false;  // the argument that is being placed is no tree
};

}  // namespace shard::lang
