// Reads what a client sends, also while nobody waits for it.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <cstddef>
#include <functional>
#include <memory>

#include "server/http/socket.h"

namespace server {

// Everything happens on the socket's executor, which must run one handler at a time. The socket
// must outlive all readers and watchers.
class Incoming : public std::enable_shared_from_this<Incoming> {
 public:
  explicit Incoming(Socket& socket) : socket_(socket) {}

  // The bytes that were read and not yet used.
  boost::beast::flat_buffer& buffer() noexcept { return buffer_; }

  // Returns false where the client is gone, or the socket was cancelled or closed.
  boost::asio::awaitable<bool> more();

  // Goes on reading for a while, since only reading shows that a client went away. `gone` may be
  // called once.
  void watch(std::function<void()> gone);
  // A pending read goes on: it will get the next request.
  void unwatch() { gone_ = nullptr; }

  // Waits until no read is pending, for code that takes the socket over.
  boost::asio::awaitable<void> stop();

 private:
  // Belongs to its completion handler: a coroutine that waits for it is destroyed with it when the
  // loop is dropped.
  struct Read {
    std::function<void()> waiter;  // may be empty
  };

  void read_on();
  void start();
  void take(const boost::system::error_code& error, std::size_t count);

  Socket& socket_;
  // Separate from the buffer, which may be used while a read is pending.
  std::array<char, 16u << 10> block_;
  std::weak_ptr<Read> read_;         // the pending one
  boost::system::error_code error_;  // error of the last one
  boost::beast::flat_buffer buffer_;
  std::function<void()> gone_;
};

}  // namespace server
