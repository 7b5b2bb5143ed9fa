// The core operations that indexing is made of, recorded or run at once.
#pragma once
#include <vector>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

class ArrayOps {
 public:
  ArrayOps(Interpreter& in, grammar::Span span);
  using T = trace::Tensor;
  Interpreter& in() { return in_; }
  bool tracing() const { return ctx_.tracing(); }
  T scalar(std::int64_t i) { return ctx_.scalar(i); }
  T some(std::int64_t n) { return ctx_.unknown(runtime::Type::of(runtime::DType::I32, {n})); }  // while checking
  T slice(const T& x, ir::Ints start, ir::Ints limit, ir::Ints step);
  T rev(const T& x, ir::Ints axes);
  T take(const T& x, const T& index, std::int64_t axis, bool folded = false);                 // clamped
  T scatter(const T& x, const T& index, const T& v, std::int64_t axis, std::string_view op);  // out of range is dropped
  T window(const T& x, const std::vector<T>& starts, ir::Ints axes, ir::Ints sizes);
  T put_window(const T& x, const T& v, const std::vector<T>& starts, ir::Ints axes);
  T reshape(const T& x, runtime::Shape shape);
  T transpose(const T& x, const std::vector<std::int64_t>& perm);  // positions from the front
  T broadcast(const T& x, runtime::Shape shape);                   // error where it does not fit
  T convert(const T& x, runtime::DType dtype);
  T add(const T& a, const T& b) { return ctx_.apply1(*core_.add, {a, b}); }
  T sub(const T& a, const T& b) { return ctx_.apply1(*core_.sub, {a, b}); }
  T mul(const T& a, const T& b) { return ctx_.apply1(*core_.mul, {a, b}); }
  T select(const T& c, const T& a, const T& b) { return ctx_.apply1(*core_.select, {c, a, b}); }
  T wrapped(const T& index, std::int64_t n);  // negative positions count from the end
  T clamped(const T& index, std::int64_t n);  // wrapped before
  T within(const T& index, std::int64_t n);   // bool: 0 <= index < n
  T both(const T& a, const T& b) { return ctx_.apply1(*core_.logical_and, {a, b}); }
  bool split(const T& x, std::int64_t dim) const;  // over explicit axes

 private:
  Interpreter& in_;
  trace::Context& ctx_;
  const ir::CoreOps& core_;
  grammar::Span span_;
};

}  // namespace shard::lang
