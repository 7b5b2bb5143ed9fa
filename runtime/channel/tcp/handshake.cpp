#include "runtime/channel/tcp/handshake.h"

#include <sodium.h>

#include "runtime/array/late_library.h"
#include "runtime/array/shape.h"

namespace shard::runtime {
namespace {

struct Sodium {
  LateLibrary library{SHARD_LIBSODIUM};
  decltype(&::sodium_init) init = library.find("sodium_init");
  decltype(&::randombytes_buf) random = library.find("randombytes_buf");
  decltype(&::sodium_bin2hex) hex = library.find("sodium_bin2hex");
  decltype(&::sodium_memcmp) compare = library.find("sodium_memcmp");
  decltype(&::crypto_auth_hmacsha256_init) hmac_init = library.find("crypto_auth_hmacsha256_init");
  decltype(&::crypto_auth_hmacsha256_update) hmac_update = library.find("crypto_auth_hmacsha256_update");
  decltype(&::crypto_auth_hmacsha256_final) hmac_final = library.find("crypto_auth_hmacsha256_final");

  Sodium() {
    if (!library.missing().empty())
      throw RuntimeError("process", "processes prove who they are with libsodium: " + library.missing());
    if (init() < 0) throw RuntimeError("process", "this system gives no random numbers");
  }
};

const Sodium& sodium() {
  static const Sodium library;
  return library;
}

}  // namespace

std::string new_token() {
  std::array<unsigned char, 32> bytes;
  sodium().random(bytes.data(), bytes.size());
  std::string out(2 * bytes.size() + 1, '\0');
  sodium().hex(out.data(), out.size(), bytes.data(), bytes.size());
  out.pop_back();
  return out;
}

Nonce new_nonce() {
  Nonce out;
  sodium().random(out.data(), out.size());
  return out;
}

Handshake handshake_of(const std::string& token, Side side, const Nonce& asks, const Nonce& answers) {
  crypto_auth_hmacsha256_state state;
  sodium().hmac_init(&state, reinterpret_cast<const unsigned char*>(token.data()), token.size());
  const auto which = static_cast<unsigned char>(side);
  sodium().hmac_update(&state, &which, 1);
  sodium().hmac_update(&state, asks.data(), asks.size());
  sodium().hmac_update(&state, answers.data(), answers.size());
  Handshake out;
  sodium().hmac_final(&state, out.data());
  return out;
}

bool same_handshake(const Handshake& a, const Handshake& b) {
  return sodium().compare(a.data(), b.data(), a.size()) == 0;
}

}  // namespace shard::runtime
