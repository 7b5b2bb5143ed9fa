#include "runtime/kernels/processor.h"

namespace shard::runtime {

const Processor& processor() {
  static const Processor it = [] {
    Processor p;
#ifdef SHARD_X86
    p.stores_wait = __builtin_cpu_is("intel");
    // Zen 5 has this instruction, which AMD's before it lack, and the first divider of AMD that is as wide as vectors.
    p.divides_slowly = p.stores_wait || !__builtin_cpu_supports("avx512vp2intersect");
#endif
    return p;
  }();
  return it;
}

}  // namespace shard::runtime
