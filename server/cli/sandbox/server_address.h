// Where the server is, and the key to show there.
#pragma once

#include <string>
#include <string_view>

#include "jail/result.h"
#include "runtime/config/environment.h"

namespace server::client {

struct ServerAddress {
  std::string url;          // http or https, without a slash at its end
  std::string socket_path;  // of a Unix socket; empty: the URL says where
  std::string key;          // empty: none

  // For messages: holds no secret.
  std::string shown() const;
};

// From AGENT_SANDBOX_URL and AGENT_SANDBOX_KEY of the environment alone: a file .env of whatever
// directory one is in could send a key to somebody else. Errors: ErrorKind::invalid, naming the
// variable and repeating no key.
jail::Result<ServerAddress> server_address(const runtime::Environment& environment);

}  // namespace server::client
