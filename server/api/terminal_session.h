// A terminal in a sandbox that lives, over a WebSocket.
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

// What is asked for before the connection becomes a WebSocket.
struct TerminalWish {
  runtime::ProcessRequest process;  // without argv: the shell; it has a terminal
  std::string pid;                  // of the process to attach to; empty: one is started
  bool has_size = false;
};

// Why there is no terminal of that process in the sandbox that `call` is about, or nothing.
std::optional<Response> why_no_terminal(const runtime::Services& services, const Call& call,
                                        const std::string& pid);

// To the end of the connection.
boost::asio::awaitable<void> serve_terminal(runtime::Services services, Upgrade upgrade,
                                            TerminalWish wish,
                                            std::unique_ptr<TerminalDialect> dialect);

}  // namespace server
