#include "server/events/response_events.h"

#include <utility>

namespace server {
namespace {

namespace asio = boost::asio;

}  // namespace

// Some proxies collect an answer before they pass it on, unless a header forbids it.
void ResponseEvents::begin() {
  if (stream_.begun()) return;
  Response head;
  head.content_type = media_type_of(format_);
  head.headers.push_back({"X-Accel-Buffering", "no"});
  stream_.begin(head);
}

asio::awaitable<bool> ResponseEvents::open() {
  begin();
  co_return co_await stream_.write(std::string_view());
}

// An event contains no line end: JSON text escapes them.
asio::awaitable<bool> ResponseEvents::write(std::string event) {
  begin();
  std::string piece;
  if (format_ == EventFormat::ndjson) {
    piece = std::move(event);
    piece += '\n';
  } else {
    const std::string id = std::exchange(next_id_, {});
    piece.reserve(event.size() + id.size() + 16);
    if (!id.empty()) piece.append("id: ").append(id).append("\n");
    piece.append("data: ").append(event).append("\n\n");
  }
  co_return co_await stream_.write(piece);
}

asio::awaitable<EventSink::Heartbeat> ResponseEvents::beat() {
  if (format_ == EventFormat::ndjson) co_return Heartbeat();
  begin();
  const bool is_sent = co_await stream_.write(": heartbeat\n\n");
  co_return Heartbeat{.is_event = false, .is_sent = is_sent};
}

}  // namespace server
