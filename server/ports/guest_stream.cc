#include "server/ports/guest_stream.h"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <utility>

#include "server/http/as_values.h"

namespace server {
namespace {

namespace asio = boost::asio;

// Asio requires the family, on which nothing here depends.
int family_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family;
}

}  // namespace

std::shared_ptr<GuestStream> GuestStream::create(const asio::any_io_executor& executor,
                                                 jail::Fd socket) {
  return std::shared_ptr<GuestStream>(new GuestStream(executor, std::move(socket)));
}

GuestStream::GuestStream(const asio::any_io_executor& executor, jail::Fd socket)
    : socket_(executor),
      read_deadline_(std::make_shared<Deadline>(executor)),
      write_deadline_(std::make_shared<Deadline>(executor)) {
  const Socket::protocol_type protocol(family_of(socket.get()), 0);
  socket_.assign(protocol, socket.release());
}

void GuestStream::close_after(Deadline& deadline, std::chrono::milliseconds patience) {
  deadline.set(patience, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->is_late_ = true;
    self->close();
  });
}

asio::awaitable<std::size_t> GuestStream::read(std::span<char> room,
                                               std::chrono::milliseconds patience) {
  close_after(*read_deadline_, patience);
  const std::size_t count = co_await read(room);
  read_deadline_->clear();
  co_return count;
}

asio::awaitable<std::size_t> GuestStream::read(std::span<char> room) {
  const auto [error, count] =
      co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), as_values);
  has_ended_ = error == asio::error::eof;
  co_return error ? 0 : count;
}

asio::awaitable<bool> GuestStream::write(std::string_view bytes,
                                         std::chrono::milliseconds patience) {
  while (!bytes.empty()) {
    close_after(*write_deadline_, patience);
    const auto [error, count] =
        co_await socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()), as_values);
    write_deadline_->clear();
    if (error) co_return false;
    bytes.remove_prefix(count);
  }
  co_return true;
}

void GuestStream::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void GuestStream::end_writing() {
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void GuestStream::reset() {
  boost::system::error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

}  // namespace server
