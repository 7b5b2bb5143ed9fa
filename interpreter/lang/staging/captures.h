// What a compiled function reads from variables outside of it: treated as arguments, found again at each call.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/staging/pattern.h"

namespace shard::lang {

struct Capture {
  CellRef cell;
  Pattern pattern;
};

// Watches the body's reads of variables from outside: their arrays and numbers become parameters, once a variable.
class JitCaptures : public ReadObserver {
 public:
  JitCaptures(Interpreter& in, std::size_t leaves) : in_(in), leaves_(leaves) {}
  void open(trace::FrameRef frame) { frame_ = std::move(frame); }
  // The trace is over, and so all leaves are known: the computed numbers follow them.
  void close() { *base_ = leaves_; }

  Value on_read(const CellRef& cell, const Value& value) override;
  Value on_computed(const trace::Known& number, const std::string& key) override;

  // Of the captured value at this position; -1 where the trace captured it by itself: a constant.
  std::ptrdiff_t leaf_of(std::size_t captured) const;
  const trace::HostNumber* number(std::size_t leaf) const;

  std::vector<Capture> outside;
  std::vector<std::shared_ptr<const trace::HostFormula>> computed;

 private:
  trace::Tensor scalar(const trace::HostNumber& n) { return in_.context().concrete_scalar(n); }
  trace::Tensor parameter(trace::Tensor outer, std::shared_ptr<const trace::Known> known);

  Interpreter& in_;
  std::size_t leaves_;
  trace::FrameRef frame_;
  std::unordered_map<const Cell*, Value> seen_;
  std::unordered_map<std::string, Value> computed_;
  std::unordered_map<std::size_t, std::size_t> leaf_of_, place_of_;  // by position among what is captured
  std::shared_ptr<std::size_t> base_ = std::make_shared<std::size_t>(0);
  std::unordered_map<std::size_t, trace::HostNumber> numbers_;
};

// Installs an observer, and the floor that says which cells are outside.
class ReadScope {
 public:
  ReadScope(Interpreter::Impl& impl, ReadObserver* observer)
      : impl_(impl),
        old_observer_(impl.cells.observer),
        old_floor_(impl.cells.trace_floor),
        old_observer_floor_(impl.cells.observer_floor) {
    if (observer != impl.cells.observer) impl.cells.observer_floor = impl.cells.next_serial;
    impl.cells.observer = observer;
    impl.cells.trace_floor = impl.cells.next_serial;
  }
  ~ReadScope() {
    impl_.cells.observer = old_observer_;
    impl_.cells.trace_floor = old_floor_;
    impl_.cells.observer_floor = old_observer_floor_;
  }
  ReadScope(const ReadScope&) = delete;

 private:
  Interpreter::Impl& impl_;
  ReadObserver* old_observer_;
  std::uint64_t old_floor_, old_observer_floor_;
};

}  // namespace shard::lang
