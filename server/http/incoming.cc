#include "server/http/incoming.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// The bound on bytes that a client sends ahead. A client that sends more is no longer watched.
constexpr std::size_t max_read_ahead = 64u << 10;

}  // namespace

asio::awaitable<bool> Incoming::more() {
  if (read_.expired()) {
    // The kernel reports an end that was read while nobody waited only once: another read would
    // wait for ever.
    if (error_ && error_ != asio::error::operation_aborted) co_return false;
    start();
  }
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(
      [this](auto handler) {
        const auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        read_.lock()->waiter = [shared] { std::move (*shared)(); };
      },
      asio::use_awaitable);
  co_return !error_;
}

void Incoming::watch(std::function<void()> gone) {
  gone_ = std::move(gone);
  if (read_.expired()) read_on();
}

asio::awaitable<void> Incoming::stop() {
  if (read_.expired()) co_return;
  error_code ignored;
  socket_.cancel(ignored);
  co_await more();
}

void Incoming::read_on() {
  if (buffer_.size() < max_read_ahead) start();
}

void Incoming::start() {
  const auto read = std::make_shared<Read>();
  read_ = read;
  socket_.async_read_some(asio::buffer(block_), [self = shared_from_this(), read](
                                                    const error_code& error, std::size_t count) {
    self->take(error, count);
    if (read->waiter) read->waiter();
  });
}

void Incoming::take(const error_code& error, std::size_t count) {
  read_.reset();
  error_ = error;
  buffer_.commit(asio::buffer_copy(buffer_.prepare(count), asio::buffer(block_)));
  if (!gone_) return;
  if (error) {
    std::exchange(gone_, nullptr)();
  } else {
    read_on();
  }
}

}  // namespace server
