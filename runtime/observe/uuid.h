// Ids that nobody can guess.
#pragma once

#include <string>
#include <string_view>

namespace runtime {

// A random UUID (version 4) from the kernel's generator.
std::string make_uuid();

// 8-4-4-4-12 hexadecimal digits, of any version and case.
bool is_uuid(std::string_view text) noexcept;

}  // namespace runtime
