// One WebSocket connection as messages.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/http/body_budget.h"
#include "server/http/message.h"
#include "server/http/socket.h"

namespace server {

struct ChannelOptions {
  std::size_t max_message_bytes = 16u << 20;  // 0: no bound, for messages that are read in pieces
  std::chrono::milliseconds handshake_timeout{10'000};
  // A client that takes nothing for this long is considered gone.
  std::chrono::milliseconds write_timeout{60'000};
  std::chrono::milliseconds close_timeout{3'000};
};

// The codes of RFC 6455, 7.4, and IANA's registry; from 4000 on they are ours.
enum class CloseCode : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  policy = 1008,
  too_large = 1009,
  own_failure = 1011,
  try_later = 1013,
  sandbox_ended = 4001,
  port_broken = 4002,
  port_timeout = 4003,
};

// The code for an error of this HTTP status.
CloseCode close_code_of(int status) noexcept;

// Must be used on the socket's executor, a strand. Reading, writing and closing may be pending at
// the same time, each once.
class Channel {
 public:
  static std::unique_ptr<Channel> create(Socket socket, ChannelOptions options);
  virtual ~Channel() = default;

  virtual boost::asio::any_io_executor executor() = 0;

  // Answers the handshake. Returns false where it was refused, or the client is gone.
  virtual boost::asio::awaitable<bool> accept(const RequestHead& head) = 0;

  struct Message {
    enum class Kind : std::uint8_t { text, binary, too_large, closed } kind;
    std::string bytes;
  };
  // Reads the next message; `share` accounts for its memory. Pings are answered meanwhile.
  virtual boost::asio::awaitable<Message> read(BodyBudget::Share& share) = 0;

  struct Piece {
    Message::Kind kind = Message::Kind::closed;  // never too_large
    std::size_t size = 0;                        // the bytes that are in `room` now
    bool is_last = false;                        // of its message
    bool is_goodbye = false;  // closed: the client has said so, and has not just vanished
  };
  // Reads what has come of a message, as soon as some of it is there. One connection is read by
  // this or by read(), not by both.
  virtual boost::asio::awaitable<Piece> read_piece(std::span<char> room) = 0;

  // Only one of these may be pending. Return false where the connection is over.
  virtual boost::asio::awaitable<bool> write(std::string text) = 0;
  virtual boost::asio::awaitable<bool> write_binary(std::string bytes) = 0;
  // Shows that the connection lives, and finds out where it does not. May be pending beside a
  // write.
  virtual boost::asio::awaitable<bool> ping() = 0;

  // Says goodbye, with a reason for people, and waits a short time for the answer. Ends a pending
  // read. A reason of more than 123 bytes is cut.
  virtual boost::asio::awaitable<void> close(CloseCode code, std::string_view reason) = 0;
  boost::asio::awaitable<void> close(CloseCode code) { return close(code, std::string_view()); }

  // Ends the connection at once, with all pending operations.
  virtual void abort() = 0;
};

}  // namespace server
