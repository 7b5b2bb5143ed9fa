#include "runtime/kernels/dense/lapack.h"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/array/late_library.h"
#include "runtime/array/shape.h"
#include "runtime/kernels/kernels.h"

namespace shard::runtime::dense {
namespace {

#ifdef __APPLE__
constexpr const char* kName = "liblapacke.3.dylib";
#else
constexpr const char* kName = "liblapacke.so.3";
#endif

Lapack found(LateLibrary& library, char letter) {
  const bool complex = letter == 'c' || letter == 'z';
  const auto name = [letter](const char* before, const char* after) {
    return (before + (letter + std::string(after)));
  };
  const auto find = [&](const char* of) { return library.find(name("LAPACKE_", of).c_str()); };
  Lapack out{};
  out.potrf = find("potrf_work");
  out.getrf = find("getrf_work");
  out.getrs = find("getrs_work");
  out.geqrf = find("geqrf_work");
  out.orgqr = find(complex ? "ungqr_work" : "orgqr_work");
  out.geqrt = find("geqrt_work");
  out.larfb = find("larfb_work");
  out.syevd = find(complex ? "heevd" : "syevd");
  out.gesdd = find("gesdd");
  if (letter == 's') out.strsm = library.find("cblas_strsm");
  if (letter == 'd') out.dtrsm = library.find("cblas_dtrsm");
  if (complex) out.gemm = library.find(name("cblas_", "gemm").c_str());
  return out;
}

struct Library {
  Lapack f32, f64, c64, c128;
  void (*set_threads)(int);  // of OpenBLAS, else null
  bool in_turn;              // no two threads may call it at once
};

// OpenBLAS takes a processor that came after it for the oldest of its kind, at a third of the speed. While it is loaded
// the environment asks for kernels of the instruction set that Shard's own have, if it asks for none.
LateLibrary loaded_for_this_machine() {
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  const std::string_view isa = matmul_isa();
  const bool ask = isa != "sse2" && !std::getenv(kVariable);
  if (ask) setenv(kVariable, isa == "avx512" ? "SkylakeX" : "Haswell", 1);
  LateLibrary library(kName);
  if (ask) unsetenv(kVariable);
  return library;
}

Library loaded() {
  LateLibrary library = loaded_for_this_machine();
  Library out{found(library, 's'), found(library, 'd'), found(library, 'c'), found(library, 'z'), nullptr, false};
  if (!library.missing().empty())
    throw RuntimeError("kernel", "decompositions of matrices need LAPACK: " + library.missing() +
                                     " (Debian: sudo apt install liblapacke libopenblas0-pthread)");
  // Threads are ours, one a matrix: sums that a library spreads over threads of its own differ with their number.
  out.set_threads = library.find("openblas_set_num_threads");
  int (*kind)() = library.find("openblas_get_parallel");
  if (out.set_threads) out.set_threads(1);
  constexpr int kPosix = 1;  // without threads it has no locks, and with OpenMP each thread has a number of its own
  out.in_turn = kind && kind() != kPosix;
  return out;
}

const Library& library() {
  static const Library out = loaded();
  return out;
}

std::timed_mutex& turn() {
  static auto* mutex = new std::timed_mutex;  // never destroyed: a call that was left behind may hold it at the end
  return *mutex;
}

}  // namespace

const Lapack& lapack(DType t) {
  const Library& all = library();
  return t == DType::F32 ? all.f32 : t == DType::F64 ? all.f64 : t == DType::C64 ? all.c64 : all.c128;
}

Turn::Turn(const Stop* stop) {
  if (!library().in_turn) return;
  while (!turn().try_lock_for(std::chrono::milliseconds(20)))
    if (stop) stop->ask();
  library().set_threads(1);
}
Turn::~Turn() {
  if (library().in_turn) turn().unlock();
}

}  // namespace shard::runtime::dense
