#include "runtime/channel/tcp/proof.h"

#include <sodium.h>

#include "runtime/array/shape.h"

namespace shard::runtime {
namespace {

void begin() {
  if (sodium_init() < 0) throw RuntimeError("process", "this system gives no random numbers");
}

}  // namespace

std::string new_token() {
  begin();
  std::array<unsigned char, 32> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  std::string out(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(out.data(), out.size(), bytes.data(), bytes.size());
  out.pop_back();
  return out;
}

Nonce new_nonce() {
  begin();
  Nonce out;
  randombytes_buf(out.data(), out.size());
  return out;
}

Proof proof_of(const std::string& token, Side side, const Nonce& asks, const Nonce& answers) {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, reinterpret_cast<const unsigned char*>(token.data()), token.size());
  const auto which = static_cast<unsigned char>(side);
  crypto_auth_hmacsha256_update(&state, &which, 1);
  crypto_auth_hmacsha256_update(&state, asks.data(), asks.size());
  crypto_auth_hmacsha256_update(&state, answers.data(), answers.size());
  Proof out;
  crypto_auth_hmacsha256_final(&state, out.data());
  return out;
}

bool same_proof(const Proof& a, const Proof& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace shard::runtime
