#include "server/websocket/channel.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <utility>

#include "server/http/as_values.h"

namespace server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

constexpr std::size_t buffer_bytes = 64u << 10;
constexpr std::size_t max_reason_bytes = 123;  // RFC 6455, section 5.5

class BeastChannel final : public Channel {
 public:
  using Channel::close;

  BeastChannel(Socket socket, ChannelOptions options)
      : stream_(std::move(socket)), options_(options) {
    // A message whose header announces more is refused with 1009 before it comes. Below that read()
    // counts, which can still answer.
    stream_.read_message_max(2 * options_.max_message_bytes);
    stream_.write_buffer_bytes(buffer_bytes);
  }

  asio::any_io_executor executor() override { return stream_.get_executor(); }

  asio::awaitable<bool> accept(const RequestHead& head) override {
    http::request<http::empty_body> request;
    request.version(11);
    request.method_string(head.method);
    request.target(head.path);
    for (const Header& header : head.headers) request.insert(header.name, header.value);
    stream_.set_option(websocket::stream_base::decorator(
        [id = head.request_id](websocket::response_type& response) {
          response.set(http::field::server, "agent-sandbox");
          response.set("X-Request-Id", id);
        }));
    asio::steady_timer deadline(executor());
    close_socket_after(deadline, options_.handshake_timeout);
    const auto [error] = co_await stream_.async_accept(request, as_values);
    co_return !error;
  }

  asio::awaitable<Message> read(BodyBudget::Share& share) override {
    boost::beast::flat_buffer buffer;
    do {
      const auto [error, count] = co_await stream_.async_read_some(buffer, buffer_bytes, as_values);
      if (error) co_return closed();
      if (buffer.size() > options_.max_message_bytes || !share.cover(buffer.size())) {
        co_return too_large();
      }
    } while (!stream_.is_message_done());
    const auto bytes = buffer.cdata();
    Message message{stream_.got_text() ? Message::Kind::text : Message::Kind::binary, {}};
    message.bytes.assign(static_cast<const char*>(bytes.data()), bytes.size());
    co_return message;
  }

  asio::awaitable<Piece> read_piece(std::span<char> room) override {
    const auto [error, count] =
        co_await stream_.async_read_some(asio::buffer(room.data(), room.size()), as_values);
    Piece piece;
    if (error) {
      piece.is_goodbye = error == websocket::error::closed;
      co_return piece;
    }
    piece.kind = stream_.got_text() ? Message::Kind::text : Message::Kind::binary;
    piece.size = count;
    piece.is_last = stream_.is_message_done();
    co_return piece;
  }

  asio::awaitable<bool> write(std::string text) override {
    stream_.text(true);
    return write_message(std::move(text));
  }

  asio::awaitable<bool> write_binary(std::string bytes) override {
    stream_.binary(true);
    return write_message(std::move(bytes));
  }

  asio::awaitable<bool> ping() override {
    asio::steady_timer deadline(executor());
    close_socket_after(deadline, options_.write_timeout);
    const websocket::ping_data empty;
    const auto [error] = co_await stream_.async_ping(empty, as_values);
    co_return !error;
  }

  asio::awaitable<void> close(CloseCode code, std::string_view reason) override {
    asio::steady_timer deadline(executor());
    close_socket_after(deadline, options_.close_timeout);
    websocket::close_reason close(static_cast<std::uint16_t>(code));
    const std::string_view cut = reason.substr(0, max_reason_bytes);
    close.reason.assign(cut.data(), cut.size());
    co_await stream_.async_close(close, as_values);
    abort();
  }

  void abort() override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  asio::awaitable<bool> write_message(std::string bytes) {
    asio::steady_timer deadline(executor());
    close_socket_after(deadline, options_.write_timeout);
    const auto [error, count] = co_await stream_.async_write(asio::buffer(bytes), as_values);
    co_return !error;
  }

  static Message closed() { return {Message::Kind::closed, {}}; }
  static Message too_large() { return {Message::Kind::too_large, {}}; }

  // The timer ends with its scope, before the channel can.
  void close_socket_after(asio::steady_timer& timer, std::chrono::milliseconds time) {
    timer.expires_after(time);
    timer.async_wait([this](error_code error) {
      if (!error) abort();
    });
  }

  websocket::stream<Socket> stream_;
  const ChannelOptions options_;
};

}  // namespace

CloseCode close_code_of(int status) noexcept {
  if (status == 413) return CloseCode::too_large;
  if (status == 429 || status == 503) return CloseCode::try_later;
  return status >= 500 ? CloseCode::own_failure : CloseCode::policy;
}

std::unique_ptr<Channel> Channel::create(Socket socket, ChannelOptions options) {
  return std::make_unique<BeastChannel>(std::move(socket), options);
}

}  // namespace server
