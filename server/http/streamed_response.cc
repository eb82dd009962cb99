#include "server/http/streamed_response.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <utility>

#include "server/http/as_values.h"

namespace server {
namespace {

namespace asio = boost::asio;

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view last_chunk = "0\r\n\r\n";

// The line before a chunk of this size.
class ChunkLine {
 public:
  explicit ChunkLine(std::size_t size) {
    char* const end = std::to_chars(text_.data(), text_.data() + text_.size(), size, 16).ptr;
    end[0] = '\r';
    end[1] = '\n';
    size_ = static_cast<std::size_t>(end - text_.data()) + 2;
  }

  asio::const_buffer buffer() const { return asio::buffer(text_.data(), size_); }

 private:
  std::array<char, 2 * sizeof(std::size_t) + 2> text_{};
  std::size_t size_;
};

}  // namespace

void StreamedResponse::reset(const Terms& terms) {
  terms_ = terms;
  state_ = State::unused;
  sent_bytes_ = 0;
}

void StreamedResponse::begin(const Response& head) {
  if (!terms_.knows_chunks) terms_.connection = Connection::close;
  open(head, {.kind = terms_.knows_chunks ? Framing::Kind::chunked : Framing::Kind::until_close});
}

void StreamedResponse::begin(const Response& head, std::uint64_t length) {
  open(head, {.kind = Framing::Kind::length, .length = length});
}

void StreamedResponse::open(const Response& head, const Framing& framing) {
  state_ = State::open;
  status_ = head.status;
  framing_ = framing;
  left_ = framing.length;
  head_ = render_head(head, terms_.request_id, terms_.connection, framing_);
}

asio::awaitable<bool> StreamedResponse::write(std::string_view piece) {
  if (state_ != State::open || terms_.head_only) co_return false;
  if (framing_.kind == Framing::Kind::length) {
    if (piece.size() > left_) co_return fail();
    left_ -= piece.size();
  }
  // A chunk without bytes would be the last one.
  const bool is_chunk = framing_.kind == Framing::Kind::chunked && !piece.empty();
  const ChunkLine line(piece.size());
  const std::array<asio::const_buffer, 4> parts = {
      asio::buffer(head_), is_chunk ? line.buffer() : asio::const_buffer(), asio::buffer(piece),
      asio::buffer(is_chunk ? line_end : std::string_view())};
  co_return co_await send(parts);
}

asio::awaitable<bool> StreamedResponse::end() {
  if (state_ != State::open) co_return state_ == State::complete;
  const bool has_body = !terms_.head_only;
  if (has_body && left_ > 0) co_return fail();
  const bool is_chunked = has_body && framing_.kind == Framing::Kind::chunked;
  const std::array<asio::const_buffer, 2> parts = {
      asio::buffer(head_), asio::buffer(is_chunked ? last_chunk : std::string_view())};
  if (!co_await send(parts)) co_return false;
  state_ = State::complete;
  co_return true;
}

asio::awaitable<bool> StreamedResponse::send(std::span<const asio::const_buffer> parts) {
  if (asio::buffer_size(parts) == 0) co_return true;
  is_writing_ = true;
  start_deadline();
  const auto [error, count] = co_await asio::async_write(socket_, parts, as_values);
  is_writing_ = false;
  deadline_.clear();
  head_.clear();
  sent_bytes_ += count;
  co_return !error || fail();
}

void StreamedResponse::start_deadline() {
  deadline_.set(write_timeout_, [this] {
    boost::system::error_code ignored;
    socket_.close(ignored);
  });
}

bool StreamedResponse::fail() {
  state_ = State::failed;
  gone_.request();
  return false;
}

void StreamedResponse::hurry(std::chrono::milliseconds write_timeout) {
  write_timeout_ = write_timeout;
  if (is_writing_) start_deadline();
}

}  // namespace server
