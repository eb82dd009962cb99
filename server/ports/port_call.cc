#include "server/ports/port_call.h"

#include <charconv>

namespace server {

std::string PortTarget::prefix() const {
  if (form == PortForm::host) return {};
  if (!place.empty()) return place;
  return "/v1/sandboxes/" + id + "/ports/" + port;
}

std::optional<std::uint16_t> port_number(std::string_view text) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.starts_with('0')) return std::nullopt;
  return number;
}

std::optional<PortTarget> port_of_host(std::string_view host, std::string_view domain) {
  if (domain.empty()) return std::nullopt;
  const std::string_view name = host.substr(0, host.find(':'));
  const std::string_view behind = host.substr(name.size());
  if (!behind.empty() && !port_number(behind.substr(1))) return std::nullopt;
  const std::size_t dot = name.find('.');
  if (dot == name.npos || !equal_ignoring_case(name.substr(dot + 1), domain)) return std::nullopt;
  const std::string_view label = name.substr(0, dot);
  const std::size_t hyphen = label.find('-');
  if (hyphen == label.npos || !port_number(label.substr(0, hyphen))) return std::nullopt;
  PortTarget target{.form = PortForm::host,
                    .id = std::string(label.substr(hyphen + 1)),
                    .port = std::string(label.substr(0, hyphen)),
                    .path = "/",
                    .place = {}};
  // Host names have no case; ids and names of sandboxes have small letters.
  for (char& c : target.id) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return target;
}

}  // namespace server
