#include "server/cli/sandbox/server_address.h"

#include <algorithm>
#include <utility>

#include "runtime/llm/http_text.h"

namespace server::client {
namespace {

constexpr std::string_view default_url = "http://127.0.0.1:8000";

std::string variable(const runtime::Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

bool is_visible(char letter) { return letter > 0x20 && letter < 0x7F; }

}  // namespace

std::string ServerAddress::shown() const {
  return socket_path.empty() ? runtime::llm::origin_of(url) : "unix:" + socket_path;
}

jail::Result<ServerAddress> server_address(const runtime::Environment& environment) {
  std::string url = variable(environment, "AGENT_SANDBOX_URL");
  if (url.empty()) url = default_url;
  return server_address(environment, std::move(url), ServerAddress().named_by);
}

jail::Result<ServerAddress> server_address(const runtime::Environment& environment, std::string url,
                                           std::string named_by) {
  constexpr std::string_view unix_prefix = "unix:";
  ServerAddress address;
  address.named_by = std::move(named_by);
  address.key = variable(environment, "AGENT_SANDBOX_KEY");
  if (!std::all_of(address.key.begin(), address.key.end(), is_visible)) {
    return jail::invalid("AGENT_SANDBOX_KEY: expected a key without blanks");
  }
  if (url.starts_with(unix_prefix)) {
    address.socket_path = url.substr(unix_prefix.size());
    address.url = "http://localhost";
    if (address.socket_path.starts_with('/')) return address;
    return jail::invalid(address.named_by + ": expected an absolute path after unix:");
  }
  while (url.ends_with('/')) url.pop_back();
  const bool is_web = url.starts_with("http://") || url.starts_with("https://");
  const bool is_plain =
      std::all_of(url.begin(), url.end(), is_visible) && url.find_first_of("?#") == url.npos;
  if (!is_web || !is_plain || url.ends_with(':')) {
    return jail::invalid(address.named_by + ": expected http://HOST:PORT, https:// or unix:/PATH");
  }
  address.url = std::move(url);
  return address;
}

}  // namespace server::client
