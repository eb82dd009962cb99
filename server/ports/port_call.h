// A request for a server inside a sandbox, after its target was found and its access was checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/sandbox/cancel.h"
#include "runtime/service/sandboxes.h"
#include "server/http/message.h"

namespace server {

// The place where the request names the port.
enum class PortForm : std::uint8_t {
  path,  // below our own origin, /v1/sandboxes/{id}/ports/{port}/ or /sandbox/{id}/
  host,  // at an origin of its own, {port}-{id}.{domain}
};

// The target as the client wrote it.
struct PortTarget {
  PortForm form = PortForm::path;
  std::string id;          // the id or the name of the sandbox
  std::string port;        // the port, not yet checked
  std::string path;        // for the server inside: begins with a slash, and is not decoded
  std::string place = {};  // in place of /v1/sandboxes/...; empty: that

  // The part before `path` in addresses that the client uses: /v1/sandboxes/..., /sandbox/... or
  // empty.
  std::string prefix() const;
};

struct PortCall {
  PortTarget target;
  std::uint16_t port = 0;
  runtime::Sandboxes::Found sandbox;
  runtime::Cancel access{};           // requested when what opened it opens nothing any more
  bool is_upgrade = false;            // to WebSocket
  bool key_is_authorization = false;  // the header Authorization is for us, and not for the server
  std::string peer;                   // the client, as peer_of() returns it
};

// Accepts 1 .. 65535 in decimal digits without a leading zero.
std::optional<std::uint16_t> port_number(std::string_view text);

// Parses a Host header: "8000-ID.DOMAIN", perhaps with a port behind it. Returns std::nullopt where
// it is another name, or `domain` is empty. The target's path is "/".
std::optional<PortTarget> port_of_host(std::string_view host, std::string_view domain);

}  // namespace server
