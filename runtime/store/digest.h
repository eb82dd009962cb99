// SHA-256, to recognize programs and keys without keeping them.
#pragma once

#include <string>
#include <string_view>

namespace runtime {

// Returns 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

// Returns the 20 bytes of SHA-1, which protects nothing: WebSocket's handshake demands it.
std::string sha1(std::string_view bytes);

// HMAC-SHA-256: returns the 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// The same in hexadecimal digits, to be kept in place of a text: without `key` nobody can find the
// text of a digest by trying.
std::string keyed_sha256(std::string_view key, std::string_view bytes);

}  // namespace runtime
