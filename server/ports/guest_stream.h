// The connection to a server inside a sandbox, as a stream of bytes.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "jail/fd.h"
#include "server/http/deadline.h"
#include "server/http/socket.h"

namespace server {

// The server inside is the adversary: nothing here waits for it without bound. Must be used on the
// executor. One read and one write may be pending at the same time; close() ends both.
class GuestStream : public std::enable_shared_from_this<GuestStream> {
 public:
  // `socket` must be connected.
  static std::shared_ptr<GuestStream> create(const boost::asio::any_io_executor& executor,
                                             jail::Fd socket);

  // Returns 0 where the server has ended the connection or sent nothing within `patience`, or the
  // stream was closed.
  boost::asio::awaitable<std::size_t> read(std::span<char> room,
                                           std::chrono::milliseconds patience);
  // The same without a bound on the time, for servers that have nothing to say for hours.
  boost::asio::awaitable<std::size_t> read(std::span<char> room);
  // Returns false where the server takes no more or took nothing within `patience`, or the stream
  // was closed.
  boost::asio::awaitable<bool> write(std::string_view bytes, std::chrono::milliseconds patience);

  // The first returns whether a read() or write() timed out, the second whether a read() met the
  // end that the server has made.
  bool is_late() const noexcept { return is_late_; }
  bool has_ended() const noexcept { return has_ended_; }
  void close();
  // Tells the server that nothing more comes, and lets it answer.
  void end_writing();
  // Closes the connection so that the server sees that it broke off, and not that it ended.
  void reset();

 private:
  GuestStream(const boost::asio::any_io_executor& executor, jail::Fd socket);
  void close_after(Deadline& deadline, std::chrono::milliseconds patience);

  Socket socket_;
  const std::shared_ptr<Deadline> read_deadline_;
  const std::shared_ptr<Deadline> write_deadline_;
  bool is_late_ = false;
  bool has_ended_ = false;
};

}  // namespace server
