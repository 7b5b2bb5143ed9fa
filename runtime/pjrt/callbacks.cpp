#include "runtime/pjrt/callbacks.h"

#include <chrono>
#include <thread>

#include "runtime/array/shape.h"

namespace shard::runtime::pjrt {
namespace {

enum Code : std::int32_t { kDeadlineExceeded = 4, kNotFound = 5, kUnavailable = 14 };  // of errors of plug-ins

KeyValues& values_of(void* argument) { return *static_cast<KeyValues*>(argument); }

abi::Error* failed(abi::Fail* fail, Code code, const std::string& why) { return (*fail)(code, why.data(), why.size()); }

template <class Arguments>
void give(Arguments& a, const std::string& found) {
  a.value = new char[found.size() + 1];
  found.copy(a.value, found.size());
  a.value[found.size()] = '\0';
  a.value_size = found.size();
  a.drop = [](char* value) { delete[] value; };
}

// No exception may pass through the plug-in.
template <class Arguments, class Body>
abi::Error* guarded(Arguments& a, Body body) {
  try {
    return body(std::string_view(a.key, a.key_size));
  } catch (const std::exception& e) { return failed(a.fail, kUnavailable, e.what()); }
}

abi::Error* get(abi::KeyGet* a) {
  return guarded(*a, [&](std::string_view key) -> abi::Error* {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(a->timeout);
    for (auto pause = std::chrono::milliseconds(1);; pause = std::min(2 * pause, std::chrono::milliseconds(50))) {
      if (const auto found = values_of(a->argument).find(key)) return give(*a, *found), nullptr;
      if (std::chrono::steady_clock::now() >= until)
        return failed(a->fail, kDeadlineExceeded,
                      "no process has put `" + std::string(key) + "` within " + std::to_string(a->timeout) + " ms");
      std::this_thread::sleep_for(pause);
    }
  });
}

abi::Error* try_get(abi::KeyTryGet* a) {
  return guarded(*a, [&](std::string_view key) -> abi::Error* {
    if (const auto found = values_of(a->argument).find(key)) return give(*a, *found), nullptr;
    return failed(a->fail, kNotFound, "no process has put `" + std::string(key) + "`");
  });
}

abi::Error* put(abi::KeyPut* a) {
  return guarded(*a, [&](std::string_view key) -> abi::Error* {
    values_of(a->argument).put(key, {a->value, a->value_size});
    return nullptr;
  });
}

}  // namespace

void set_callbacks(abi::ClientCreate& create, KeyValues& values) {
  create.get = reinterpret_cast<void*>(&get);
  create.put = reinterpret_cast<void*>(&put);
  create.try_get = reinterpret_cast<void*>(&try_get);
  create.get_argument = create.put_argument = create.try_get_argument = &values;
}

}  // namespace shard::runtime::pjrt
