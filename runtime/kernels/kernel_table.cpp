// Which set of vector kernels runs: the widest that the machine has, or less where SHARD_ISA (sse2, avx2) asks for it,
// so that matrix products can be replayed bit for bit as another machine computes them. Decided once.
#include "runtime/kernels/vector/loop_table.h"

#include <cstdlib>
#include <string_view>

namespace shard::runtime {
namespace {

const VectorTable& choose() {
#ifdef SHARD_X86
  const char* wish = std::getenv("SHARD_ISA");
  const std::string_view most = wish ? wish : "avx512";
  if (most != "sse2" && most != "avx2" && __builtin_cpu_supports("x86-64-v4")) return avx512::table();
  if (most != "sse2" && __builtin_cpu_supports("x86-64-v3")) return avx2::table();
#endif
  return sse2::table();
}

}  // namespace

const VectorTable& vector_table() {
  static const VectorTable& chosen = choose();
  return chosen;
}

}  // namespace shard::runtime
