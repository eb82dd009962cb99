#include "server/http/body_in_pieces.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <string_view>
#include <utility>

#include "server/http/as_values.h"

namespace server {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

}  // namespace

BodyInPieces::BodyInPieces(HeadParser&& parser, Socket& socket, Incoming& incoming, BodyPace pace,
                           Expectation expectation)
    : socket_(socket),
      incoming_(incoming),
      pace_(pace),
      deadline_(std::make_shared<Deadline>(socket.get_executor())),
      parser_(std::move(parser)),
      owes_continue_(expectation == Expectation::continue_first) {
  parser_.body_limit(boost::none);
  if (parser_.is_done()) {
    state_ = State::whole;
    return;
  }
  parser_.on_chunk_header(extensions_);
  parser_.eager(true);
}

void BodyInPieces::hasten(std::chrono::milliseconds time) {
  hastened_ = time;
  deadline_->hasten(time);
}

asio::awaitable<RequestBody::Piece> BodyInPieces::read(std::span<char> room) {
  auto& body = parser_.get().body();
  body.data = room.data();
  body.size = room.size();
  while (state_ == State::open) {
    const BodyPlace place =
        extensions_.body_bytes > received_ ? BodyPlace::chunk_data : BodyPlace::chunk_line;
    const BodyStep step = parse_body(parser_, incoming_.buffer(), place);
    const std::size_t size = room.size() - body.size;
    if (step == BodyStep::whole) state_ = State::whole;
    if (step == BodyStep::malformed || step == BodyStep::too_large) state_ = State::malformed;
    if (size > 0 && state_ != State::malformed) {
      received_ += size;
      co_return Piece{size, is_whole() ? Piece::State::whole : Piece::State::more};
    }
    if (step != BodyStep::starved || co_await read_more()) continue;
    if (state_ == State::open) state_ = is_late_ ? State::late : State::gone;
  }
  co_return Piece{0, is_whole() ? Piece::State::whole : Piece::State::failed};
}

void BodyInPieces::stop() {
  if (state_ != State::open) return;
  state_ = State::stopped;
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

asio::awaitable<bool> BodyInPieces::read_more() {
  if (std::exchange(owes_continue_, false)) {
    co_await send_continue();
    // The buffer may already hold what the client sent meanwhile.
    co_return true;
  }
  const auto by_rate = std::chrono::milliseconds(
      static_cast<std::int64_t>(received_ * 1000 / pace_.bytes_per_second));
  auto left =
      pace_.timeout + by_rate - std::chrono::duration_cast<std::chrono::milliseconds>(waited_);
  if (hastened_) left = std::min(left, *hastened_);
  deadline_->set(std::max(left, std::chrono::milliseconds(0)), [this] {
    is_late_ = true;
    boost::system::error_code ignored;
    socket_.cancel(ignored);
  });
  const auto began = Clock::now();
  const bool came = co_await incoming_.more();
  waited_ += Clock::now() - began;
  deadline_->clear();
  co_return came && !is_late_;
}

// A failure shows in the next read.
asio::awaitable<void> BodyInPieces::send_continue() {
  static constexpr std::string_view line = "HTTP/1.1 100 Continue\r\n\r\n";
  co_await asio::async_write(socket_, asio::buffer(line), as_values);
}

Response BodyInPieces::refusal() const {
  if (state_ == State::malformed) {
    return problem(RefusalCode::bad_http, "the request's body is not framed as HTTP/1.1 says");
  }
  if (hastened_) return stopping();
  return problem(RefusalCode::request_timeout, "the request's body did not arrive in time");
}

bool BodyInPieces::can_skip_rest(std::size_t max_bytes) const {
  const auto left = parser_.content_length_remaining();
  return is_whole() || (!owes_continue_ && (!left || *left <= max_bytes));
}

asio::awaitable<bool> BodyInPieces::skip_rest(std::size_t max_bytes) {
  if (!can_skip_rest(max_bytes)) co_return false;
  std::array<char, 4096> room;
  for (std::size_t skipped = 0; state_ == State::open && skipped <= max_bytes;) {
    skipped += (co_await read(room)).size;
  }
  co_return is_whole();
}

}  // namespace server
