// shard_c.h over shard.h: errors and engines, and the border itself. Values are in c_values.cpp.
#include "interpreter/embed/c_inner.h"

using namespace shard::c;
using shard::Value;

namespace {

shard_error out_of_memory{"memory", "there is not enough memory for this",
                          "error: there is not enough memory for this\n", "[]\n"};

shard::Engine& engine_of(shard_engine* e) {
  need(e, "the engine");
  return e->engine;
}

}  // namespace

namespace shard::c {

shard_error* no_memory() noexcept { return &out_of_memory; }

shard_error* made(const char* code, const std::string& message) noexcept {
  try {
    return new shard_error{code, message, "error: " + message + "\n", "[]\n"};
  } catch (...) { return &out_of_memory; }
}

shard_error* told(const Error& e) noexcept {
  try {
    auto out = std::make_unique<shard_error>();
    for (const Diagnostic& d : e.diagnostics) {
      if (out->code.empty()) out->code = d.code, out->message = d.message;
      out->rendered += d.rendered;
      out->json += (out->json.empty() ? "[\n " : ",\n ") + d.json;
    }
    out->json += "\n]\n";
    return out.release();
  } catch (...) { return &out_of_memory; }
}

void need(bool given, const char* what) {
  if (!given) throw std::invalid_argument(std::string(what) + " is NULL");
}

const Value& value_of(const shard_value* v) {
  need(v, "a value");
  return v->value;
}

std::vector<Value> values_of(const shard_value* const* items, std::size_t count) {
  need(items || count == 0, "the list of values");
  std::vector<Value> out;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) out.push_back(value_of(items[i]));
  return out;
}

void give(shard_value** out, Value v) {
  need(out, "the place of the result");
  *out = new shard_value{std::move(v)};
}

}  // namespace shard::c

extern "C" {

int shard_api_version(void) { return SHARD_API_VERSION; }

// ---- errors

const char* shard_error_code(const shard_error* e) { return e ? e->code.c_str() : ""; }
const char* shard_error_message(const shard_error* e) { return e ? e->message.c_str() : ""; }
const char* shard_error_rendered(const shard_error* e) { return e ? e->rendered.c_str() : ""; }
const char* shard_error_json(const shard_error* e) { return e ? e->json.c_str() : "[]\n"; }
void shard_error_free(shard_error* e) {
  if (e != no_memory()) delete e;
}
shard_error* shard_error_create(const char* message) { return made("host", message ? message : ""); }

// ---- engines

shard_error* shard_engine_create(const char* options, shard_engine** out) {
  return guarded([&] {
    need(out, "the place of the engine");
    *out = new shard_engine{shard::Engine(options ? shard::c::read_options(options) : shard::Options())};
  });
}
void shard_engine_free(shard_engine* e) { delete e; }

shard_error* shard_output(shard_engine* e, shard_writer write, void* user) {
  return guarded([&] {
    std::function<void(std::string_view)> output;
    if (write) output = [write, user](std::string_view text) { write(user, text.data(), text.size()); };
    engine_of(e).set_output(std::move(output));
  });
}

shard_error* shard_run(shard_engine* e, const char* text, const char* name, shard_value** out) {
  return guarded([&] {
    need(text, "the text");
    give(out, engine_of(e).run(text, name ? name : "script"));
  });
}

shard_error* shard_run_file(shard_engine* e, const char* path, shard_value** out) {
  return guarded([&] {
    need(path, "the path");
    give(out, engine_of(e).run_file(path));
  });
}

shard_error* shard_module(shard_engine* e, const char* name, const char* text, int replace) {
  return guarded([&] {
    need(name && text, "the name or the text");
    engine_of(e).module(name, text, shard::Replace(replace != 0));
  });
}

shard_error* shard_call(shard_engine* e, const char* function, const shard_value* const* arguments, size_t count,
                        shard_value** out) {
  return guarded([&] {
    need(function, "the name");
    give(out, engine_of(e).call(function, values_of(arguments, count)));
  });
}

shard_error* shard_call_value(shard_engine* e, const shard_value* function, const shard_value* const* arguments,
                              size_t count, shard_value** out) {
  return guarded([&] { give(out, engine_of(e).call(value_of(function), values_of(arguments, count))); });
}

shard_error* shard_get(shard_engine* e, const char* name, shard_value** out) {
  return guarded([&] {
    need(name, "the name");
    give(out, engine_of(e).get(name));
  });
}

shard_error* shard_set(shard_engine* e, const char* name, const shard_value* value) {
  return guarded([&] {
    need(name, "the name");
    engine_of(e).set(name, value_of(value));
  });
}

shard_error* shard_define(shard_engine* e, const char* name, const char* signature, shard_function function, void* user,
                          void (*release)(void* user), int replace) {
  // `release` is called also where this fails: the caller has handed `user` over.
  return guarded([&] {
    const std::shared_ptr<void> held(user, [release](void* p) {
      if (release) release(p);
    });
    need(name && signature, "the name or the signature");
    need(function != nullptr, "the function");
    engine_of(e).define(
        name, signature,
        [function, held](std::vector<Value> given) -> Value {
          std::vector<shard_value> boxes;
          std::vector<const shard_value*> arguments;
          for (Value& v : given) boxes.push_back({std::move(v)});
          for (const shard_value& v : boxes) arguments.push_back(&v);
          shard_value* out = nullptr;
          const std::unique_ptr<shard_error, void (*)(shard_error*)> failed(
              function(held.get(), arguments.data(), arguments.size(), &out), shard_error_free);
          const std::unique_ptr<shard_value> made_by_host(out);
          if (failed) throw std::runtime_error(failed->message);
          return out ? out->value : Value();
        },
        shard::Replace(replace != 0));
  });
}

void shard_interrupt(shard_engine* e, int stop) {
  if (e) e->engine.interrupt(stop != 0);
}

}  // extern "C"
