// What the server tells of sandboxes, processes and files, for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/json/reader.h"
#include "server/cli/sandbox/server_address.h"

namespace server::client {

// Tables fit `width` columns of a terminal; 0: no bound.
std::string sandboxes_text(const runtime::json::Array& sandboxes, std::size_t width);
std::string processes_text(const runtime::json::Array& processes, std::size_t width);
std::string events_text(const runtime::json::Array& events, std::size_t width);
// One of them on a line of its own, for who reads as they happen.
std::string event_line(const runtime::json::Value& event);
// What happened to a file that is watched: "created     /a", "moved       /a -> /b".
std::string file_event_line(std::string_view type, const runtime::json::Value& data);
std::string files_text(const runtime::json::Array& entries, std::size_t width);

// What a sandbox uses and may use, one thing a line.
std::string metrics_text(const runtime::json::Value& metrics);

// Where a server that listens on `port` of a sandbox can be reached, with the sandbox's access
// token: at a name of its own where the server gives ports names, else below the server's own
// address.
std::string port_url(const ServerAddress& address, const runtime::json::Value& sandbox,
                     std::uint32_t port);

// One a line: "name: value".
std::string sandbox_text(const runtime::json::Value& sandbox);

}  // namespace server::client
