#include "server/cli/option_words.h"

#include <string_view>
#include <utility>

namespace server {

std::string in_options(const std::string& detail) {
  constexpr std::pair<std::string_view, std::string_view> options[] = {
      {"args, env: ", "the arguments and --env: "},
      {"artifacts: ", "--artifact: "},
      {"env: ", "--env: "},
      {"files: ", "--file: "},
      {"language: ", "--language: "},
      {"max_attempts: ", "--attempts: "},
      {"memory_limit_mb: ", "--memory: "},
      {"model: ", "--model: "},
      {"network: ", "--allow: "},
      {"provider: ", "--provider: "},
      {"template: ", "--template: "},
      {"timeout_seconds: ", "--timeout: "}};
  for (const auto& [field, option] : options) {
    if (detail.starts_with(field)) return std::string(option) + detail.substr(field.size());
  }
  return detail;
}

std::string in_options_for_server(const std::string& detail) {
  std::string text = in_options(detail);
  constexpr std::string_view verb = ": expected ";
  const std::size_t at = text.find(verb);
  if (at != text.npos && text != detail) text.replace(at, verb.size(), ": the server expects ");
  return text;
}

}  // namespace server
