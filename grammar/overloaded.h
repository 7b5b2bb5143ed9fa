// Several functions as one, for std::visit.
#pragma once

namespace shard::grammar {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace shard::grammar
