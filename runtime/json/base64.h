// Base64 encoding and decoding: RFC 4648 section 4, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace runtime::json {

std::string base64(std::string_view bytes);

// Returns std::nullopt for anything that base64() would not have written: other characters, white
// space, missing padding, bits that are set behind the last byte.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace runtime::json
