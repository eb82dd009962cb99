// What a client sends, also while nobody waits for it.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <cstddef>
#include <functional>
#include <memory>

#include "server/http/socket.h"

namespace server {

// Everything happens on the socket's executor, which does one thing after the other. The socket
// outlives whoever reads or watches.
class Incoming : public std::enable_shared_from_this<Incoming> {
 public:
  explicit Incoming(Socket& socket) : socket_(socket) {}

  // Read and not yet used.
  boost::beast::flat_buffer& buffer() noexcept { return buffer_; }

  // False: the client is gone, or the socket was cancelled or closed.
  boost::asio::awaitable<bool> more();

  // Only reading tells that a client went away: reads on, for a while. `gone` may be called once.
  void watch(std::function<void()> gone);
  // The read that is under way stays so: it gets the next request.
  void unwatch() { gone_ = nullptr; }

  // Until no read is under way, for whoever takes the socket over.
  boost::asio::awaitable<void> stop();

 private:
  // Belongs to what completes it: a coroutine that waits for it goes with it when the loop is
  // dropped.
  struct Read {
    std::function<void()> waiter;  // may be empty
  };

  void read_on();
  void start();
  void take(const boost::system::error_code& error, std::size_t count);

  Socket& socket_;
  // Not in the buffer, which may be used while a read goes on.
  std::array<char, 16u << 10> block_;
  std::weak_ptr<Read> read_;         // the one that goes on
  boost::system::error_code error_;  // of the last one
  boost::beast::flat_buffer buffer_;
  std::function<void()> gone_;
};

}  // namespace server
