#include "runtime/kernels/codes.h"

#include <utility>

namespace shard::runtime {
namespace {

#define SHARD_CODE_FACTS(code, operands, gives, cost, takes, hlo) \
  CodeFacts{#code, operands, Gives::gives, cost, takes, hlo},
constexpr std::array kFacts{SHARD_CODES(SHARD_CODE_FACTS)};
#undef SHARD_CODE_FACTS

TypeSet set_of(DType type) {
  if (type == DType::Key) return kKeys;
  if (type == DType::Bool) return kBools;
  if (is_complex(type)) return kComplexes;
  return is_float(type) ? kFloats : kIntegers;
}

}  // namespace

const CodeFacts& facts(Code code) { return kFacts[static_cast<std::size_t>(code)]; }

Code joins(Reduce how) {
  constexpr std::array kJoins{Code::Add, Code::Mul, Code::Max, Code::Min, Code::BitAnd, Code::BitOr};
  return kJoins[static_cast<std::size_t>(how)];
}

bool holds(TypeSet types, DType type) { return (types & set_of(type)) != 0; }

bool takes(Code code, DType type) { return holds(facts(code).takes, type); }

std::string to_string(TypeSet types) {
  std::string out;
  const auto say = [&](TypeSet part, const char* word) {
    if ((types & part) != part) return;
    types = static_cast<TypeSet>(types & ~part);
    out += (out.empty() ? "" : " and ") + std::string(word);
  };
  say(kNumbers, "numbers");
  say(kFloats, "floats");
  say(kIntegers, "integers");
  say(kBools, "bools");
  say(kKeys, "keys");
  say(kComplexes, "complex numbers");
  return out;
}

}  // namespace shard::runtime
