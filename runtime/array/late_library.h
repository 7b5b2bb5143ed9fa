// A shared library that few runs need, loaded when one does. Each that a program is linked to costs every start of it:
// libedit with what it needs in turn and libsodium took a tenth of a short script's time.
#pragma once
#include <dlfcn.h>

#include <string>

namespace shard::runtime {

class LateLibrary {
 public:
  explicit LateLibrary(const char* name) : library_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {  // never unloaded
    if (library_) return;
    const char* why = dlerror();
    missing_ = why ? why : std::string("cannot load ") + name;
  }
  // A function of the library, of the type that its header says.
  struct Found {
    void* address;
    template <class F>
    operator F*() const {
      return reinterpret_cast<F*>(address);
    }
  };
  Found find(const char* name) {
    void* const found = library_ ? dlsym(library_, name) : nullptr;
    if (library_ && !found) missing_ = std::string("it has no ") + name;
    return {found};
  }
  const std::string& missing() const { return missing_; }  // what went wrong; empty: all that was asked for is there

 private:
  void* library_;
  std::string missing_;
};

}  // namespace shard::runtime
