#include "runtime/llm/wire_format.h"

#include <algorithm>
#include <array>
#include <utility>

namespace runtime::llm {

Fault fault_of_status(int status) {
  switch (status) {
    case 401:
    case 402:
    case 403:
      return Fault::unauthorized;
    case 404:
      return Fault::not_found;
    case 408:
    case 409:
      return Fault::unavailable;
    case 429:
      return Fault::rate_limited;
    default:
      break;
  }
  if (status >= 500) return Fault::unavailable;
  return status >= 300 ? Fault::bad_request : Fault::malformed;
}

bool refuses_schema(const ProviderFault& fault) {
  if (fault.status != 400 && fault.status != 404 && fault.status != 422) return false;
  constexpr std::array<std::string_view, 9> words{
      "response_format",      "json_schema",       "output_config",
      "output_format",        "structured output", "responseJsonSchema",
      "response_json_schema", "JSON mode",         "No endpoints found that can handle"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return fault.text.find(word) != std::string::npos;
  });
}

std::string with_path(std::string base_url, std::string_view path) {
  while (base_url.ends_with('/')) base_url.pop_back();
  const std::size_t scheme = base_url.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  if (base_url.find('/', host) == std::string::npos) base_url += path;
  return base_url;
}

std::string ending_with_path(std::string base_url, std::string_view path) {
  std::string url = with_path(std::move(base_url), path);
  if (!url.ends_with(path)) url += path;
  return url;
}

std::string schema_prompt(const AnswerSchema& schema) {
  return "Answer with one JSON object that is valid by the JSON schema below, and with nothing "
         "else: no prose, no code fence.\n" +
         schema.schema;
}

}  // namespace runtime::llm
