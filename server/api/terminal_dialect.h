// What the two sides of a terminal say over a WebSocket: the same things, in the words of an
// interface.
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

// Takes the member `type` out of a message; empty where it has none that is a string.
std::string take_type(runtime::json::Object& members);

// Belongs to one connection.
class TerminalDialect {
 public:
  virtual ~TerminalDialect() = default;

  // What a client wants.
  struct Order {
    std::string typed{};
    std::optional<runtime::ResizeRequest> size{};
    std::optional<runtime::SignalRequest> signal{};
    bool is_goodbye = false;
  };
  // Of a text or binary message; or what is wrong with it.
  virtual std::variant<Order, Response> order_of(Channel::Message message) = 0;

  struct Message {
    std::string bytes;
    bool is_binary = false;
  };
  // What a client is told, which may be nothing.
  using Messages = std::vector<Message>;
  // The process runs.
  virtual Messages begun() = 0;
  virtual Messages output(std::string bytes) = 0;
  // So many bytes are gone that nobody took in time.
  virtual Messages lost(std::uint64_t bytes) = 0;
  // The last that is said, where the process has ended.
  virtual Messages ended(const runtime::Sandboxes& sandboxes, const runtime::Sandbox& sandbox,
                         const runtime::LivingProcess& process) = 0;
  // The last that is said to a client that has said goodbye.
  virtual Messages parted() = 0;
  // The last that is said, where it cannot go on.
  virtual Messages failed(const Response& problem) = 0;
};

}  // namespace server
