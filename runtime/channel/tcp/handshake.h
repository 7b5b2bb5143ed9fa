// Whether the other side of a connection belongs to the job: both prove that they know its token, by an HMAC over
// random bytes of both, before any other byte is read. The token itself never travels.
#pragma once
#include <array>
#include <string>

namespace shard::runtime {

using Nonce = std::array<unsigned char, 32>;
using Handshake = std::array<unsigned char, 32>;
enum class Side : unsigned char { Asks = 1, Answers = 2 };  // a handshake of one side is none for the other

std::string new_token();  // 64 letters
Nonce new_nonce();
Handshake handshake_of(const std::string& token, Side side, const Nonce& asks, const Nonce& answers);
bool same_handshake(const Handshake& a, const Handshake& b);  // in constant time

}  // namespace shard::runtime
