#include "runtime/array/late_library.h"

#include <dlfcn.h>

namespace shard::runtime {

LateLibrary::LateLibrary(const char* name) : library_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
  if (library_) return;
  const char* why = dlerror();
  missing_ = why ? why : std::string("cannot load ") + name;
}

void* LateLibrary::address(const char* name) {
  void* const found = library_ ? dlsym(library_, name) : nullptr;
  if (library_ && !found) missing_ = std::string("it has no ") + name;
  return found;
}

}  // namespace shard::runtime
