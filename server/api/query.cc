#include "server/api/query.h"

#include <algorithm>
#include <charconv>

#include "runtime/json/writer.h"

namespace server {
namespace {

std::string unknown(std::string_view name, const QueryNames& known) {
  std::string names;
  for (const auto each : known) names += (names.empty() ? "" : ", ") + std::string(each);
  return runtime::json::quoted(name) + ": unknown; expected " +
         (names.empty() ? "no parameters behind the ?" : names);
}

}  // namespace

jail::Result<Parameters> parameters_of(std::string_view query, const QueryNames& known) {
  Parameters parameters;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    const std::size_t sign = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(sign + 1, pair.size()));
    const std::string name(pair.substr(0, sign));
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return jail::invalid(unknown(name, known));
    }
    if (!parameters.emplace(name, value).second) {
      return jail::invalid(runtime::json::quoted(name) + ": expected once");
    }
  }
  return parameters;
}

std::optional<std::string> read_limit(const std::string& value, std::uint32_t highest,
                                      std::uint32_t& limit) {
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, limit);
  if (error == std::errc() && stop == end && limit >= 1 && limit <= highest) return std::nullopt;
  return "limit: expected an integer 1 .. " + std::to_string(highest);
}

}  // namespace server
