// A request for a server inside a sandbox, once it is clear which one is meant and that it may be
// asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/service/sandboxes.h"
#include "server/http/message.h"

namespace server {

// Where the client found the port.
enum class PortForm : std::uint8_t {
  path,  // below our own origin, /v1/sandboxes/{id}/ports/{port}/
  host,  // at an origin of its own, {port}-{id}.{domain}
};

// As the client wrote it.
struct PortTarget {
  PortForm form = PortForm::path;
  std::string id;    // or the name of the sandbox
  std::string port;  // what is to be one
  std::string path;  // for the server inside: begins with a slash, and is not decoded

  // What stands before `path` in addresses that the client knows: /v1/sandboxes/... or nothing.
  std::string prefix() const;
};

struct PortCall {
  PortTarget target;
  std::uint16_t port = 0;
  runtime::Sandboxes::Found sandbox;
  bool is_upgrade = false;            // to WebSocket
  bool key_is_authorization = false;  // the header Authorization is ours, and not for the server
  std::string peer;                   // who asks, as peer_of() says
};

// 1 .. 65535 in decimal digits without a zero in front.
std::optional<std::uint16_t> port_number(std::string_view text);

// Of a Host header: "8000-ID.DOMAIN", perhaps with a port behind it. Nothing where it is another
// name, or `domain` is empty. Its path is "/".
std::optional<PortTarget> port_of_host(std::string_view host, std::string_view domain);

}  // namespace server
