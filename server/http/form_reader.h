// Reads forms with files: a body of the type multipart/form-data (RFC 7578), part by part.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/http/message.h"
#include "server/http/request_body.h"

namespace server {

// Returns the boundary in a Content-Type; std::nullopt where it is not multipart/form-data, or has
// no boundary of 1 to 70 of the characters that RFC 2046 allows.
std::optional<std::string> form_boundary(std::string_view content_type);

// Reads the parts of a form in their order, and holds some 16 KiB of it whatever its size. Used by
// one coroutine at a time, as the body that it reads. `body` outlives it.
//
//   while (const auto part = co_await form.next()) {
//     while (const std::size_t count = co_await form.read(room)) { ... room.first(count) ... }
//   }
//   if (form.refusal()) co_return *form.refusal();
class FormReader {
 public:
  struct Part {
    std::string name;                     // name of the field; the client's bytes, unchecked
    std::optional<std::string> filename;  // likewise; must not be used as a path
    std::string content_type;             // empty where the client gives none
  };

  static constexpr std::size_t max_parts = 1000;
  static constexpr std::size_t max_part_head_bytes = 8u << 10;

  // `boundary` must be one that form_boundary() returned.
  FormReader(RequestBody& body, std::string_view boundary);

  // Returns the next part; what is left of the previous one is skipped. Returns std::nullopt behind
  // the last part, and where the form is refused.
  boost::asio::awaitable<std::optional<Part>> next();

  // Waits for the next bytes of this part and puts as many of them into `room`, which is not empty.
  // Returns 0 where the part is over, or the form is refused. A part is complete only if next() was
  // called after it and refusal() is still std::nullopt.
  boost::asio::awaitable<std::size_t> read(std::span<char> room);

  // The answer to the client where the form violates its rules or its body fails. Nothing more can
  // be read then.
  const std::optional<Response>& refusal() const noexcept { return refusal_; }

 private:
  enum class State : std::uint8_t { content, behind_delimiter, over };

  std::string_view unread() const { return std::string_view(held_).substr(at_); }
  boost::asio::awaitable<bool> hold_more();
  boost::asio::awaitable<bool> find_content();
  boost::asio::awaitable<std::optional<std::string>> read_part_head();
  std::optional<Part> take_part(std::string_view text);
  std::nullopt_t refuse(std::string_view why);

  RequestBody& body_;
  const std::string delimiter_;  // including the line end that belongs to it
  std::string held_;             // bytes that were read, of which those from at_ on were not handed
                                 // out
  std::size_t at_ = 0;
  std::size_t content_end_ = 0;  // no delimiter begins between at_ and here
  std::size_t parts_ = 0;
  bool is_in_line_end_ = false;  // at_ is before the line end between a part's head and its bytes
  bool is_whole_ = false;        // nothing follows what is held
  State state_ = State::content;
  std::optional<Response> refusal_;
};

}  // namespace server
