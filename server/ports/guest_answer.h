// The answer of a server inside a sandbox, read as strictly as a request.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/body_framing.h"
#include "server/http/message.h"
#include "server/ports/guest_stream.h"

namespace server {

// Nothing of the body is kept. The stream outlives it.
class GuestAnswer {
 public:
  // What was asked decides where the answer ends.
  enum class Asked : std::uint8_t { with_body, head_only, upgrade };

  GuestAnswer(GuestStream& stream, Asked asked) : stream_(stream), asked_(asked) {}

  // Reads the head, and passes over interim answers. Nothing where it is there, else what is wrong.
  boost::asio::awaitable<std::optional<std::string>> read_head(std::chrono::milliseconds patience);

  // What follows holds once the head is there.
  int status() const;
  const std::vector<Header>& headers() const noexcept { return headers_; }
  std::optional<std::uint64_t> content_length() const;

  struct Piece {
    std::size_t size = 0;
    bool is_broken = false;  // the body ends before its end
  };
  // As many bytes as there are, at most what `room` takes; none: it was the last of the body.
  boost::asio::awaitable<Piece> read(std::span<char> room, std::chrono::milliseconds patience);
  // Whether a part of the body, or its end, has come already.
  bool has_more_at_hand() const;

  // What came behind the head: after an upgrade it is of another protocol.
  std::string_view left_over() const;

 private:
  using Parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;

  void begin_message();
  boost::asio::awaitable<bool> read_more(std::chrono::milliseconds patience);
  std::optional<std::string> check_head();

  GuestStream& stream_;
  const Asked asked_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  ChunkExtensions extensions_;
  std::uint64_t received_ = 0;  // bytes of the body
  std::vector<Header> headers_;
};

}  // namespace server
