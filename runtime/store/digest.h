// SHA-256, for telling programs and keys apart without keeping them.
#pragma once

#include <string>
#include <string_view>

namespace runtime {

// 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

// HMAC-SHA-256, the 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// The same in hexadecimal digits, for keeping in place of a text: without `key` nobody can tell
// which text a digest belongs to by trying.
std::string keyed_sha256(std::string_view key, std::string_view bytes);

}  // namespace runtime
