// Makes a graph: parameters, then nodes one after another, each with its types inferred from the row (op.h), then
// results. Composites are expanded as they are emitted, so a graph holds only operations with kernels or structure.
#pragma once
#include <initializer_list>
#include <span>
#include <utility>

#include "interpreter/ir/graph.h"
#include "interpreter/ir/op.h"
#include "interpreter/ir/op_table.h"

namespace shard::ir {

class Builder {
 public:
  explicit Builder(const OpTable& table) : table_(table) {}
  const OpTable& table() const { return table_; }
  const CoreOps& core() const { return table_.core(); }

  Var param(Type type);
  // Appends one use of `op`: converts operands as its dtype rule says, infers the results' types, expands composites.
  // Throws grammar::Error at the current span with the operands' types where they do not fit.
  Vars emit(const OpDef& op, std::span<const Var> operands, Attrs attrs = {}, std::vector<GraphRef> regions = {});
  Vars emit(const OpDef& op, std::initializer_list<Var> operands, Attrs attrs = {}, std::vector<GraphRef> regions = {});
  Var emit1(const OpDef& op, std::initializer_list<Var> operands, Attrs attrs = {});  // the only result
  Var call(std::string_view name, std::initializer_list<Var> operands,
           Attrs attrs = {});  // rows calling rows, by name (stdlib only)
  // Appends a node whose result types are known (passes that move nodes between graphs: GraphCopy); gives its results,
  // which lie there until the next.
  const Vars& append(const OpDef& op, Vars inputs, Attrs attrs, std::vector<GraphRef> regions,
                     std::vector<Type> result_types, std::shared_ptr<const FactorRule> rule = {});
  void expect(const Graph& g);  // as much will be appended
  // Appends all nodes of `g` with its parameters replaced; gives what its results became.
  Vars inline_graph(const Graph& g, std::span<const Var> arguments);

  const Type& type(Var v) const { return graph_.type(v); }
  const Graph& graph() const { return graph_; }  // so far
  const Node* maker(Var v) const;                // valid until the next node; null: a parameter
  std::size_t size() const { return graph_.nodes.size(); }
  Graph finish(Vars results);  // the builder is empty afterwards

  void set_local(runtime::MeshRef mesh) {
    graph_.local = true;
    graph_.mesh = std::move(mesh);
  }
  // What is recorded will run here: a result larger than any array may be is an error where it is recorded.
  void limit_sizes(bool on) { limit_sizes_ = on; }
  // In what nobody has written, a derivative, a sum that is still unreduced is finished where the operation would round
  // its terms one by one; elsewhere that is an error.
  void set_finishes_sums() { finishes_sums_ = true; }
  const Origin& span() const { return span_; }
  void set_span(Origin s) { span_ = s; }  // given to the nodes that follow
  // What is computed again on purpose: the attribute `barrier` of the nodes that follow (transform/passes.h); 0: none.
  std::int64_t barrier() const { return barrier_; }
  void set_barrier(std::int64_t barrier) { barrier_ = barrier; }

 private:
  friend class WhyScope;
  const OpTable& table_;
  Graph graph_;
  Origin span_;
  std::int64_t barrier_ = 0;
  std::shared_ptr<const Why> why_;
  bool limit_sizes_ = false;
  bool finishes_sums_ = false;
};

class SpanScope {  // sets a builder's span for a block
 public:
  SpanScope(Builder& b, Origin s) : b_(b), old_(b.span()) {
    if (s.known()) b.set_span(s);
  }
  ~SpanScope() { b_.set_span(old_); }
  SpanScope(const SpanScope&) = delete;

 private:
  Builder& b_;
  Origin old_;
};

class WhyScope {  // says for a block why its collectives are there (why.h); without one they were written
 public:
  WhyScope(Builder& b, std::shared_ptr<const Why> why) : b_(b), old_(std::exchange(b.why_, std::move(why))) {}
  ~WhyScope() { b_.why_ = std::move(old_); }
  WhyScope(const WhyScope&) = delete;

 private:
  Builder& b_;
  std::shared_ptr<const Why> old_;
};

// Nodes of a graph on their way into a builder, one after another, with what each of its values has become there.
class GraphCopy {
 public:
  GraphCopy(Builder& to, const Graph& from) : now(from.types.size()), b_(to), g_(from) {
    if (to.size() == 0) to.expect(from);
  }
  void params();  // become parameters
  Var& operator[](Var v) { return now[at(v)]; }
  Vars operator()(const Vars& vars) const;
  void become(const Vars& vars, const Vars& made);
  // The node, of what its operands have become, or of `inputs`.
  void node(const Node& n) { node(n, n.attrs, n.regions); }
  void node(const Node& n, Attrs attrs, std::vector<GraphRef> regions);
  void node(const Node& n, Vars inputs, Attrs attrs, std::vector<GraphRef> regions);
  Graph finish() { return b_.finish((*this)(g_.results)); }
  Vars now;  // by Var of the graph

 private:
  Builder& b_;
  const Graph& g_;
};

}  // namespace shard::ir
