// Loading a plug-in, and calls of it.
#include "runtime/pjrt/plugin.h"

#include <dlfcn.h>

#include <cstdlib>

namespace shard::runtime::pjrt {
namespace {

std::string value_text(const abi::NamedValue& v) {
  switch (v.kind) {
    case abi::NamedValue::String: return {v.text, v.value_size};
    case abi::NamedValue::Int64: return std::to_string(v.number);
    case abi::NamedValue::Float: return std::to_string(v.real);
    case abi::NamedValue::Bool: return v.truth ? "true" : "false";
    case abi::NamedValue::Int64List: break;
  }
  std::string out;
  for (std::size_t i = 0; i < v.value_size; ++i) out += (i > 0 ? "." : "") + std::to_string(v.numbers[i]);
  return out;
}

}  // namespace

std::shared_ptr<const Plugin> Plugin::load(const std::string& path) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0);  // it is read when the library starts: errors alone
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw RuntimeError("engine", std::string("the plug-in cannot be loaded: ") + dlerror());
  const auto entry = reinterpret_cast<const abi::Api* (*)()>(dlsym(library, "GetPjrtApi"));
  const abi::Api* api = entry ? entry() : nullptr;
  if (!api) throw RuntimeError("engine", path + " is no plug-in of PJRT: it has no function `GetPjrtApi`");
  if (api->major != 0)
    throw RuntimeError("engine", path + " speaks PJRT " + std::to_string(api->major) + "." +
                                     std::to_string(api->minor) + "; this Shard speaks 0.x");
  std::shared_ptr<const Plugin> out(new Plugin(path, *api));
  struct {
    abi::Head head;
  } nothing{};
  if (out->has(abi::kPluginInitialize)) out->call(abi::kPluginInitialize, nothing, "starting");
  return out;
}

bool Plugin::has(abi::Call call) const {
  const std::size_t at = offsetof(abi::Api, functions) + (call + 1) * sizeof api_.functions[0];
  return at <= api_.head.size && (&api_.functions[0])[call];
}

abi::Error* Plugin::invoke(abi::Call which, void* arguments) const {
  if (!has(which))
    throw RuntimeError("engine", path_ + " is too old: it speaks PJRT " + std::to_string(major()) + "." +
                                     std::to_string(minor()) + " and lacks call " + std::to_string(which));
  return (&api_.functions[0])[which](arguments);
}

void Plugin::check(abi::Error* error, const char* doing) const {
  if (!error) return;
  abi::Text message{{sizeof message, nullptr}, error, nullptr, 0};
  (&api_.functions[0])[abi::kErrorMessage](&message);
  std::string text(message.text, message.size);
  abi::Number code{{sizeof code, nullptr}, error, 0};  // as absl::StatusCode has them
  if (has(abi::kErrorCode)) (&api_.functions[0])[abi::kErrorCode](&code);
  drop(abi::kErrorDestroy, error);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::string said = std::string("the plug-in of engine xla says, ") + doing + ": " + text;
  constexpr int kExhausted = 8;
  // While it compiles XLA tries kernels, and what it says where none has memory is only in the text.
  if (code.number == kExhausted || said.find("RESOURCE_EXHAUSTED") != std::string::npos)
    throw RuntimeError("memory", "a device has no memory left: " + said);
  throw RuntimeError("engine", said);
}

void Plugin::drop(abi::Call which, const void* object) const noexcept {
  abi::Plain arguments{{sizeof arguments, nullptr}, object};
  if (!object || !has(which)) return;
  abi::Error* error = (&api_.functions[0])[which](&arguments);
  if (error && which != abi::kErrorDestroy) drop(abi::kErrorDestroy, error);  // that one gives nothing at all
}

Attributes Plugin::attributes() const {
  Attributes out;
  if (!has(abi::kPluginAttributes)) return out;
  abi::Attributes all{};
  call(abi::kPluginAttributes, all, "asked for its attributes");
  for (std::size_t i = 0; i < all.count; ++i)
    out.emplace_back(std::string(all.values[i].name, all.values[i].name_size), value_text(all.values[i]));
  return out;
}

std::string Plugin::text(abi::Call which, const void* object) const {
  abi::Text arguments{{}, object, nullptr, 0};
  call(which, arguments, "asked for a name");
  return {arguments.text, arguments.size};
}

int Plugin::number(abi::Call which, const void* object) const {
  abi::Number arguments{{}, object, 0};
  call(which, arguments, "asked for a number");
  return arguments.number;
}

std::vector<void*> Plugin::objects(abi::Call which, const void* object) const {
  abi::Objects arguments{{}, object, nullptr, 0};
  call(which, arguments, "asked for its devices");
  return {arguments.results, arguments.results + arguments.count};
}

void Plugin::await(abi::Event* event, const char* doing) const {
  if (!event) return;
  abi::Plain arguments{{sizeof arguments, nullptr}, event};
  abi::Error* error = invoke(abi::kEventAwait, &arguments);
  drop(abi::kEventDestroy, event);
  check(error, doing);
}

}  // namespace shard::runtime::pjrt
