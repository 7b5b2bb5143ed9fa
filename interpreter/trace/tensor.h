// An array value of a running program: concrete (data on devices) or traced (a variable of a graph that is being
// recorded). Copying is cheap. Host numbers are not tensors until an operation needs them (see Context::scalar).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <variant>

#include "interpreter/ir/graph.h"
#include "runtime/mesh/device_array.h"

namespace shard::trace {

class Frame;  // one open trace, see context.h
using FrameRef = std::shared_ptr<Frame>;
using HostNumber = std::variant<bool, std::int64_t, double>;

// How a number follows from the arguments of the guarded frame, for each call anew.
using HostFormula = std::function<HostNumber(std::span<const std::optional<HostNumber>> leaves)>;

// What a traced host number was, and which arguments of the outermost trace it was computed from. Reading it
// (Context::need) puts a guard on those arguments: the compiled call is only reused for the same values.
struct Known {
  HostNumber value;
  std::set<int> sources;  // argument leaves of the guarded frame
  FrameRef frame;         // the frame whose arguments they are
  // Of a number from outside of a compiled function, or computed from such alone: it stays a number of the host, in
  // double precision. Null where an argument of the call takes part.
  std::shared_ptr<const HostFormula> formula = nullptr;
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(runtime::ArrayRef array) : array_(std::move(array)) {}
  Tensor(FrameRef frame, ir::Var var, std::shared_ptr<const Known> known = nullptr)
      : frame_(std::move(frame)), var_(var), known_(std::move(known)) {}
  bool valid() const { return array_ || frame_; }
  bool traced() const { return frame_ != nullptr; }
  const runtime::ArrayRef& array() const { return array_; }  // concrete only
  const FrameRef& frame() const { return frame_; }           // traced only
  ir::Var var() const { return var_; }
  const std::shared_ptr<const Known>& known() const { return known_; }
  const runtime::Type& type() const;

 private:
  runtime::ArrayRef array_;
  FrameRef frame_;
  ir::Var var_;
  std::shared_ptr<const Known> known_;
};

}  // namespace shard::trace
