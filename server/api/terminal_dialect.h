// The messages of the two sides of a terminal over a WebSocket, in the form of one interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/json/reader.h"
#include "runtime/service/sandbox_requests.h"
#include "runtime/service/sandboxes.h"
#include "server/http/message.h"
#include "server/websocket/channel.h"

namespace server {

// Takes the member `type` out of a message; empty where it is missing or not a string.
std::string take_type(runtime::json::Object& members);

// Belongs to one connection.
class TerminalDialect {
 public:
  virtual ~TerminalDialect() = default;

  // The content of a client's message.
  struct Order {
    std::string typed{};
    std::optional<runtime::ResizeRequest> size{};
    std::optional<runtime::SignalRequest> signal{};
    bool is_goodbye = false;
  };
  // Parses a text or binary message; returns what is wrong with it otherwise.
  virtual std::variant<Order, Response> order_of(Channel::Message message) = 0;

  struct Message {
    std::string bytes;
    bool is_binary = false;
  };
  // The messages for the client; there may be none.
  using Messages = std::vector<Message>;
  // For the start of the process.
  virtual Messages begun() = 0;
  virtual Messages output(std::string bytes) = 0;
  // For bytes that are lost because nobody took them in time.
  virtual Messages lost(std::uint64_t bytes) = 0;
  // The last messages, where the process has ended.
  virtual Messages ended(const runtime::Sandboxes& sandboxes, const runtime::Sandbox& sandbox,
                         const runtime::LivingProcess& process) = 0;
  // The last messages to a client that has said goodbye.
  virtual Messages parted() = 0;
  // The last messages, where the session cannot go on.
  virtual Messages failed(const Response& problem) = 0;
};

}  // namespace server
