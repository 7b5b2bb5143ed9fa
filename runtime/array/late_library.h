// A shared library that few runs need, loaded when one does. Each that a program is linked to costs every start of it:
// libedit with what it needs in turn and libsodium took a tenth of a short script's time.
#pragma once
#include <string>

namespace shard::runtime {

class LateLibrary {
 public:
  explicit LateLibrary(const char* name);  // never unloaded
  // Sets `function` to that of the library, of the type that its header says.
  template <class F>
  void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(address(name));
  }
  const std::string& missing() const { return missing_; }  // what went wrong; empty: all that was asked for is there

 private:
  void* address(const char* name);
  void* library_;
  std::string missing_;
};

}  // namespace shard::runtime
