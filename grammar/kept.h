// A variable that is another one for a while: set where this is made, as it was before at its end.
#pragma once
#include <type_traits>
#include <utility>

namespace shard::grammar {

template <class T>
class Kept {
 public:
  Kept(T& variable, std::type_identity_t<T> now)
      : variable_(variable), before_(std::exchange(variable, std::move(now))) {}
  ~Kept() { variable_ = std::move(before_); }
  Kept(const Kept&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace shard::grammar
