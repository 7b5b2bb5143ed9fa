// Under AddressSanitizer a share of the cases is tried: what it looks for does not hang on the numbers.
#pragma once

namespace shard::testing {
#ifdef __SANITIZE_ADDRESS__
inline constexpr int kShare = 4;
#else
inline constexpr int kShare = 1;
#endif
}  // namespace shard::testing
