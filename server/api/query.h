// The query of a request's target.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "jail/result.h"

namespace server {

using Parameters = std::map<std::string, std::string, std::less<>>;

// None of the values that are allowed anywhere needs %-encoding. The error names a parameter that
// repeats.
jail::Result<Parameters> parameters_of(std::string_view query);

// `limit`, 1 .. `highest`. What is wrong with it, or nothing.
std::optional<std::string> read_limit(const std::string& value, std::uint32_t highest,
                                      std::uint32_t& limit);

}  // namespace server
