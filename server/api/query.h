// The query of a request's target.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/service/query.h"
#include "server/http/message.h"

namespace server {

// The names of parameters that a route knows. One that ends with a point stands for all that begin
// with it and go on.
using QueryNames = std::vector<std::string_view>;
using Parameters = runtime::QueryTexts;

// Returns the parameters in `query` with their %-encoding decoded and + as a space; each must be in
// `known`. The refusal names the first parameter that repeats, is unknown or is not well encoded.
std::variant<Parameters, runtime::Refusal> parameters_of(std::string_view query,
                                                         const QueryNames& known);

// Returns whether `query` has a parameter of that name.
bool has_parameter(std::string_view query, std::string_view name);

// Decodes the %-encoding of `text`; returns std::nullopt where a % is not followed by two
// hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

// The same for a query's value, where + is a space, as in forms and URLSearchParams.
std::optional<std::string> form_decoded(std::string_view text);

// `text` as a part of a URL's path or query: everything except letters, digits, - . _ ~ is encoded
// as %XX. Slashes::stay leaves slashes as they are.
enum class Slashes : unsigned char { stay, are_encoded };
std::string percent_encoded(std::string_view text, Slashes slashes = Slashes::are_encoded);

// Reads `parameters` by `fields` into `request`, which has the defaults. Returns a problem where
// they are invalid.
template <class Request>
std::optional<Response> read_query(const Parameters& parameters,
                                   std::span<const runtime::RequestField<Request>> fields,
                                   Request& request) {
  const auto refusal = runtime::read_parameters(parameters, fields, request);
  if (refusal) return problem(*refusal);
  return std::nullopt;
}

}  // namespace server
