// The query of a request's target.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/result.h"
#include "runtime/sandbox/run_request.h"
#include "server/http/message.h"

namespace server {

// The names of parameters that a route knows.
using QueryNames = std::vector<std::string_view>;
using Parameters = std::map<std::string, std::string, std::less<>>;

// The parameters in `query`, each of which is one of `known`. None of the names and values that are
// allowed anywhere needs %-encoding. Errors: ErrorKind::invalid, which names the first parameter
// that repeats or is not known, and the known ones.
jail::Result<Parameters> parameters_of(std::string_view query, const QueryNames& known);

// Whether `query` has a parameter of that name.
bool has_parameter(std::string_view query, std::string_view name);

// `text` with its %-encoding undone; nothing where a % is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

// The same of a value behind the ?, where + is a space, as forms and URLSearchParams have it.
std::optional<std::string> form_decoded(std::string_view text);

// `text` as a part of a URL's path or query: all but letters, digits, - . _ ~ as %XX. With
// `slashes` those stay as they are.
enum class Slashes : unsigned char { stay, are_encoded };
std::string percent_encoded(std::string_view text, Slashes slashes = Slashes::are_encoded);

// `path`, an absolute one, where it is given. A problem where it is none.
std::optional<Response> read_path(const Parameters& parameters, std::string& path);

// A non-negative integer in decimal digits; nothing where `text` is none.
std::optional<std::uint64_t> number_of(std::string_view text);

// Whether a parameter that is a yes or no says yes: true, 1 or nothing. Nothing where it is neither
// that nor false or 0.
std::optional<bool> flag_of(const Parameters& parameters, std::string_view name);

// A time as answers have it ("2026-11-21T20:16:00.123Z"), or in seconds since 1970; nothing where
// `text` is none.
std::optional<std::chrono::system_clock::time_point> time_of(const std::string& text);

// `encoding`. What is wrong with it, or nothing.
std::optional<std::string> read_encoding(const std::string& value,
                                         runtime::OutputEncoding& encoding);

// `limit`, 1 .. `highest`. What is wrong with it, or nothing.
std::optional<std::string> read_limit(const std::string& value, std::uint32_t highest,
                                      std::uint32_t& limit);

}  // namespace server
