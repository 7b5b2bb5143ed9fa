#include "runtime/kernels/generated/rare.h"

#include <math.h>

#include <cstring>

#include "runtime/kernels/generated/recorded.h"

namespace shard::runtime::generated {

const std::array<Library, 3> kLibrary{
    {{Code::Sin, sinf, codes::kAngle}, {Code::Cos, cosf, codes::kAngle}, {Code::Tan, tanf, codes::kAngle}}};

void Rare::compute(std::uint32_t what, unsigned char* registers, std::uint32_t vector) {
  const std::uint32_t from = what & 0xff, to = what >> 8 & 0xff, function = what >> 16 & 0xff, lanes = what >> 24;
  const Library& library = kLibrary[function];
  for (std::uint32_t i = 0; i < lanes; ++i) {
    float x;
    std::memcpy(&x, registers + from * vector + i * sizeof x, sizeof x);
    if (!(fabsf(x) > library.limit)) continue;
    x = library.of(x);
    std::memcpy(registers + to * vector + i * sizeof x, &x, sizeof x);
  }
}

}  // namespace shard::runtime::generated
