#include "server/ports/guest_answer.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <charconv>

namespace server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint32_t max_head_bytes = 32u << 10;
constexpr int max_interim_answers = 16;
constexpr std::size_t read_bytes = 16u << 10;

milliseconds left_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
  return std::max(left, milliseconds(0));
}

}  // namespace

void GuestAnswer::begin_message() {
  parser_.emplace();
  parser_->header_limit(max_head_bytes);
  parser_->body_limit(boost::none);
  parser_->skip(asked_ == Asked::head_only);
}

asio::awaitable<std::optional<std::string>> GuestAnswer::read_head(milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  begin_message();
  for (int interim = 0; interim <= max_interim_answers;) {
    boost::system::error_code error;
    if (buffer_.size() > 0) buffer_.consume(parser_->put(buffer_.data(), error));
    if (error && error != http::error::need_more) co_return "it does not answer in HTTP/1.1";
    if (parser_->is_header_done()) {
      const int code = status();
      const bool is_final = code >= 200 || (code == 101 && asked_ == Asked::upgrade);
      if (is_final) co_return check_head();
      if (code < 100 || code == 101) co_return "it switches protocols unasked";
      ++interim;
      begin_message();
      continue;
    }
    // The parser has used, and bounded, everything else by then.
    if (buffer_.size() > max_head_bytes) co_return "the head of its answer is too large";
    if (co_await read_more(left_until(deadline))) continue;
    if (stream_.is_late()) co_return "it does not answer in time";
    co_return "it ends the connection without an answer";
  }
  co_return "it sends interim answers without end";
}

asio::awaitable<bool> GuestAnswer::read_more(milliseconds patience) {
  const auto room = buffer_.prepare(read_bytes);
  const std::span<char> bytes(static_cast<char*>(room.data()), room.size());
  const std::size_t count = co_await stream_.read(bytes, patience);
  buffer_.commit(count);
  co_return count > 0;
}

std::optional<std::string> GuestAnswer::check_head() {
  const auto& message = parser_->get();
  for (const auto& field : message) {
    headers_.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  if (status() > 599) return "its answer has no status of HTTP";
  // Another coding would have to be decoded, or passed on to the client.
  const auto coding = message.find(http::field::transfer_encoding);
  if (coding != message.end() && !equal_ignoring_case(std::string(coding->value()), "chunked")) {
    return "its answer has a transfer coding other than chunked";
  }
  if (message.count(http::field::transfer_encoding) > 1) {
    return "its answer has more than one Transfer-Encoding";
  }
  parser_->on_chunk_header(extensions_);
  parser_->eager(true);
  return std::nullopt;
}

int GuestAnswer::status() const { return static_cast<int>(parser_->get().result_int()); }

std::optional<std::uint64_t> GuestAnswer::content_length() const {
  if (parser_->chunked()) return std::nullopt;
  if (asked_ == Asked::head_only) {
    // The parser skips the body, so it does not know its length.
    const auto field = parser_->get().find(http::field::content_length);
    if (field == parser_->get().end()) return std::nullopt;
    const auto text = field->value();
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error != std::errc()) return std::nullopt;
    return length;
  }
  const auto length = parser_->content_length();
  if (!length) return std::nullopt;
  return *length;
}

bool GuestAnswer::has_more_at_hand() const { return buffer_.size() > 0 || parser_->is_done(); }

std::string_view GuestAnswer::left_over() const {
  return {static_cast<const char*>(buffer_.data().data()), buffer_.size()};
}

asio::awaitable<GuestAnswer::Piece> GuestAnswer::read(std::span<char> room, milliseconds patience) {
  auto& body = parser_->get().body();
  body.data = room.data();
  body.size = room.size();
  body.more = true;
  while (!parser_->is_done()) {
    const BodyPlace place =
        extensions_.body_bytes > received_ ? BodyPlace::chunk_data : BodyPlace::chunk_line;
    const BodyStep step = parse_body<false>(*parser_, buffer_, place);
    const std::size_t size = room.size() - body.size;
    if (step == BodyStep::malformed || step == BodyStep::too_large) co_return Piece{0, true};
    if (size > 0) {
      received_ += size;
      co_return Piece{size, false};
    }
    if (step != BodyStep::starved) continue;
    if (co_await read_more(patience)) continue;
    // Such a body ends only with the connection.
    const bool is_end = parser_->need_eof() && stream_.has_ended();
    co_return Piece{0, !is_end};
  }
  co_return Piece{};
}

}  // namespace server
