// The body of a session's request, in pieces.
#pragma once

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "server/http/body_framing.h"
#include "server/http/deadline.h"
#include "server/http/incoming.h"
#include "server/http/request_body.h"
#include "server/http/socket.h"

namespace server {

struct BodyPace {
  // The time that the client may keep the handler waiting in all, ...
  std::chrono::milliseconds timeout;
  // ... and the rate at which its bytes extend that time, so that a byte now and then is not
  // enough.
  std::size_t bytes_per_second;
};

// Referenced objects must outlive it.
class BodyInPieces final : public RequestBody {
 public:
  using HeadParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  // `parser` must have read the head and nothing of the body. `continue_first`: the client waits
  // for permission to send the body.
  enum class Expectation : std::uint8_t { none, continue_first };
  BodyInPieces(HeadParser&& parser, Socket& socket, Incoming& incoming, BodyPace pace,
               Expectation expectation);
  ~BodyInPieces() override { deadline_->clear(); }
  BodyInPieces(const BodyInPieces&) = delete;
  BodyInPieces& operator=(const BodyInPieces&) = delete;

  boost::asio::awaitable<Piece> read(std::span<char> room) override;
  void stop() override;
  Response refusal() const override;

  // Called when the server cannot wait any longer: what does not come within `time` is not waited
  // for.
  void hasten(std::chrono::milliseconds time);

  bool is_whole() const { return state_ == State::whole; }
  // Returns true where the client left in the middle of it.
  bool is_cut() const { return state_ == State::gone; }

  // Returns whether skip_rest() would try.
  bool can_skip_rest(std::size_t max_bytes) const;
  // Reads and discards what the handler left, where that is at most `max_bytes`. Returns true where
  // the next request can be read.
  boost::asio::awaitable<bool> skip_rest(std::size_t max_bytes);

 private:
  enum class State : std::uint8_t { open, whole, gone, late, malformed, stopped };

  boost::asio::awaitable<bool> read_more();
  boost::asio::awaitable<void> send_continue();

  Socket& socket_;
  Incoming& incoming_;
  const BodyPace pace_;
  const std::shared_ptr<Deadline> deadline_;
  boost::beast::http::request_parser<boost::beast::http::buffer_body> parser_;
  ChunkExtensions extensions_;
  bool owes_continue_;
  bool is_late_ = false;
  std::optional<std::chrono::milliseconds> hastened_;
  std::chrono::steady_clock::duration waited_{0};
  std::uint64_t received_ = 0;  // bytes of the body
  State state_ = State::open;
};

}  // namespace server
