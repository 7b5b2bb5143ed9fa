// What the files of the C interface share: the boxes behind the handles, and the border that nothing is thrown across.
#pragma once
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/shard.h"
#include "interpreter/shard_c.h"

struct shard_error {
  std::string code, message, rendered, json;
};
struct shard_engine {
  shard::Engine engine;
};
struct shard_value {
  shard::Value value;
  // What was read from the handle and lives as long as it.
  mutable std::string text = {}, layout = {}, shown = {};
  mutable std::vector<std::int64_t> shape = {};
  mutable std::vector<std::pair<std::string, shard::Value>> fields = {};
};

namespace shard::c {

Options read_options(const char* text);  // c_options.cpp; throws Error("options")

shard_error* made(const char* code, const std::string& message) noexcept;  // an error that is no script's
shard_error* told(const Error& e) noexcept;
shard_error* no_memory() noexcept;  // made long before

template <class F>
shard_error* guarded(F f) noexcept {
  try {
    f();
    return nullptr;
  } catch (const Error& e) { return told(e); } catch (const std::invalid_argument& e) {
    return made("argument", e.what());
  } catch (const std::bad_alloc&) { return no_memory(); } catch (const std::exception& e) {
    return made("internal", e.what());
  } catch (...) { return made("internal", "an exception that says nothing"); }
}

void need(bool given, const char* what);  // throws std::invalid_argument: `what` is NULL
const Value& value_of(const shard_value* v);
std::vector<Value> values_of(const shard_value* const* items, std::size_t count);
void give(shard_value** out, Value v);

}  // namespace shard::c
