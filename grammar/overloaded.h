// Several functions as one, for std::visit; and which of its kinds a variant holds.
#pragma once
#include <variant>

namespace shard::grammar {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

template <class... T, class Variant>
bool is_one_of(const Variant& v) {
  return (std::holds_alternative<T>(v) || ...);
}

}  // namespace shard::grammar
