// A terminal in a living sandbox, over a WebSocket.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "runtime/service/services.h"
#include "server/api/routes.h"
#include "server/api/terminal_dialect.h"

namespace server {

// The request for a terminal, before the connection becomes a WebSocket.
struct TerminalWish {
  runtime::ProcessRequest process;  // empty argv: the shell; it has a terminal
  std::string pid;                  // the process to attach to; empty: a new one is started
  bool has_size = false;
};

// Returns the problem why there is no terminal of that process in the sandbox that `call` names, or
// std::nullopt.
std::optional<Response> why_no_terminal(const runtime::Services& services, const Call& call,
                                        const std::string& pid);

// Serves the terminal to the end of the connection.
boost::asio::awaitable<void> serve_terminal(runtime::Services services, Upgrade upgrade,
                                            TerminalWish wish,
                                            std::unique_ptr<TerminalDialect> dialect);

}  // namespace server
