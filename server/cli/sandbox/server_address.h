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
  std::string named_by = "AGENT_SANDBOX_URL";

  // For messages: holds no secret.
  std::string shown() const;
};

// From AGENT_SANDBOX_URL and AGENT_SANDBOX_KEY of the environment alone: a file .env of whatever
// directory one is in could send a key to somebody else. Errors: ErrorKind::invalid, naming the
// variable and repeating no key.
jail::Result<ServerAddress> server_address(const runtime::Environment& environment);
// The same with the URL that stands behind the option `named_by`, not empty.
jail::Result<ServerAddress> server_address(const runtime::Environment& environment, std::string url,
                                           std::string named_by);

}  // namespace server::client
