// Ids and secrets that nobody can guess.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace runtime {

// Returns a random UUID (version 4) from the kernel's generator.
std::string make_uuid();

// Returns `count` bytes, at most 256, from the kernel's generator.
std::string random_bytes(std::size_t count);

// Returns 128 random bits in lower-case base 32: 26 letters and digits.
std::string random_text();

// Accepts 8-4-4-4-12 hexadecimal digits, of any version and case.
bool is_uuid(std::string_view text) noexcept;

}  // namespace runtime
