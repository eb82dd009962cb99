// An answer in pieces of a session: its head, framing, deadlines and outcome.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "runtime/sandbox/cancel.h"
#include "server/http/deadline.h"
#include "server/http/response_stream.h"
#include "server/http/socket.h"

namespace server {

// There is one for each connection, used again for each of its requests. It holds no pieces: each
// is written from the handler's memory. Referenced objects must outlive it.
class StreamedResponse final : public ResponseStream {
 public:
  // The facts about the request that is answered.
  struct Terms {
    std::string_view request_id;                // must outlive the answer
    Connection connection = Connection::close;  // changes to close where only that ends the answer
    bool knows_chunks = true;                   // the client speaks HTTP/1.1
    bool head_only = false;
  };

  // `write_timeout` is for each piece. `gone` is requested when a piece cannot be written.
  StreamedResponse(Socket& socket, Deadline& deadline, std::chrono::milliseconds write_timeout,
                   const runtime::Cancel& gone)
      : socket_(socket), deadline_(deadline), write_timeout_(write_timeout), gone_(gone) {}

  // Prepares for the next request.
  void reset(const Terms& terms);

  void begin(const Response& head) override;
  void begin(const Response& head, std::uint64_t length) override;
  bool begun() const noexcept override { return state_ != State::unused; }
  boost::asio::awaitable<bool> write(std::string_view piece) override;
  boost::asio::awaitable<bool> end() override;

  // For use after the handler has returned: whether the client got everything, how the answer was
  // framed, and the text for the log.
  bool is_complete() const noexcept { return state_ == State::complete; }
  Connection connection() const noexcept { return terms_.connection; }
  Framing::Kind framing() const noexcept { return framing_.kind; }
  int status() const noexcept { return status_; }
  std::size_t sent_bytes() const noexcept { return sent_bytes_; }

  // From now on a write, including a pending one, has no more time than this.
  void hurry(std::chrono::milliseconds write_timeout);

 private:
  enum class State : std::uint8_t { unused, open, complete, failed };

  void open(const Response& head, const Framing& framing);
  boost::asio::awaitable<bool> send(std::span<const boost::asio::const_buffer> parts);
  void start_deadline();
  bool fail();

  Socket& socket_;
  Deadline& deadline_;
  std::chrono::milliseconds write_timeout_;
  const runtime::Cancel& gone_;
  Terms terms_;
  State state_ = State::unused;
  Framing framing_;
  std::uint64_t left_ = 0;  // bytes of the announced length that are not written
  std::string head_;        // empty: it was sent
  int status_ = 0;
  std::size_t sent_bytes_ = 0;
  bool is_writing_ = false;
};

}  // namespace server
