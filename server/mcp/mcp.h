// The Model Context Protocol: tools of this server for language models, as JSON-RPC messages.
// Revisions 2024-11-05 to 2025-11-25, and 2026-07-28, which has no session.
// Source: https://modelcontextprotocol.io/specification
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/json/reader.h"
#include "runtime/sandbox/cancel.h"
#include "runtime/service/request_rules.h"
#include "runtime/service/services.h"
#include "server/mcp/tools.h"

namespace server {

// The HTTP headers that describe a message; all empty on a pipe.
struct McpHeaders {
  std::optional<std::string_view> version;  // MCP-Protocol-Version
  std::optional<std::string_view> method;   // Mcp-Method
  std::optional<std::string_view> name;     // Mcp-Name
};

struct McpAnswer {
  int status = 200;    // HTTP status
  std::string body{};  // empty: the message gets no answer
};

// The facts that a transport with many concurrent messages needs about one.
struct McpEnvelope {
  std::string id{};       // as JSON; empty: no answer is expected
  std::string cancels{};  // the id of the request that it cancels, as JSON; empty: none
};

// Reads the envelope of `message`; it is empty where that is not a message.
McpEnvelope read_envelope(const std::string& message);

// The answers to input that is not a message, and to a message whose answer failed. `id` is JSON.
std::string mcp_refusal(std::string_view why);
std::string mcp_failure(std::string_view id);

// Thread-safe.
class Mcp {
 public:
  // Referenced objects must outlive it.
  Mcp(const runtime::Services& services, const runtime::RequestRules& rules, std::string version);

  // `cancel` ends the work of a tool. `sandbox` is the id of the sandbox in which all tools work,
  // in which case there are only such tools; empty: all tools are available.
  boost::asio::awaitable<McpAnswer> answer(runtime::Caller caller, std::string text,
                                           McpHeaders headers, runtime::Cancel cancel,
                                           std::string sandbox = {}) const;

 private:
  struct Message;

  boost::asio::awaitable<McpAnswer> answer_request(runtime::Caller caller, const Message& message,
                                                   runtime::Cancel cancel) const;
  std::string initialize(const Message& message) const;
  std::string discover() const;
  std::string list_tools(const Message& message) const;
  void write_server(runtime::json::Writer& writer) const;

  const std::string version_;
  const McpTools tools_;
};

}  // namespace server
