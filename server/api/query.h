// The query of a request's target.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/result.h"

namespace server {

// The names of parameters that a route knows.
using QueryNames = std::vector<std::string_view>;
using Parameters = std::map<std::string, std::string, std::less<>>;

// The parameters in `query`, each of which is one of `known`. None of the names and values that are
// allowed anywhere needs %-encoding. Errors: ErrorKind::invalid, which names the first parameter
// that repeats or is not known, and the known ones.
jail::Result<Parameters> parameters_of(std::string_view query, const QueryNames& known);

// `limit`, 1 .. `highest`. What is wrong with it, or nothing.
std::optional<std::string> read_limit(const std::string& value, std::uint32_t highest,
                                      std::uint32_t& limit);

}  // namespace server
