// What is behind the public Value, and what may come out of it: shared by public_value.cpp and engine.cpp.
#pragma once
#include <memory>

#include "interpreter/embed/machine.h"
#include "interpreter/shard.h"

namespace shard {

struct __attribute__((visibility("hidden"))) Value::Impl {
  lang::Value value;
  // The engine that the value is of, kept as long as it may need it: functions, and containers, which may hold some.
  std::shared_ptr<const embed::Machine> owner = nullptr;
  mutable runtime::ArrayRef host = nullptr;  // the whole array in row-major order, made when bytes() first asks
};

namespace embed {

inline Value wrap(lang::Value v, const std::shared_ptr<const Machine>& owner = nullptr) {
  const bool plain = v.is_tensor() || v.is_none() || v.is_string() || v.is_host_number() || v.is<bool>();
  return Value(std::make_shared<Value::Impl>(Value::Impl{std::move(v), plain ? nullptr : owner}));
}
inline const lang::Value& unwrap(const Value& v) { return v.impl()->value; }

}  // namespace embed
}  // namespace shard
