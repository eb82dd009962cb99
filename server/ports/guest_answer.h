// The answer of a server inside a sandbox, parsed as strictly as a request.
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

// The body is not kept. The stream must outlive it.
class GuestAnswer {
 public:
  // The kind of request, which decides where the answer ends.
  enum class Asked : std::uint8_t { with_body, head_only, upgrade };

  GuestAnswer(GuestStream& stream, Asked asked) : stream_(stream), asked_(asked) {}

  // Reads the head, and skips interim answers. Returns std::nullopt where it is valid, else what is
  // wrong.
  boost::asio::awaitable<std::optional<std::string>> read_head(std::chrono::milliseconds patience);

  // The following functions must be called after the head was read.
  int status() const;
  const std::vector<Header>& headers() const noexcept { return headers_; }
  std::optional<std::uint64_t> content_length() const;

  struct Piece {
    std::size_t size = 0;
    bool is_broken = false;  // the body broke off
  };
  // Returns the available bytes, at most the size of `room`; none: the body is complete.
  boost::asio::awaitable<Piece> read(std::span<char> room, std::chrono::milliseconds patience);
  // Returns whether a part of the body, or its end, has come already.
  bool has_more_at_hand() const;

  // The bytes behind the head: after an upgrade they belong to another protocol.
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
