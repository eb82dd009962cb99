// Forms with files: a body of the type multipart/form-data (RFC 7578), part by part.
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

// The boundary that a Content-Type names. Nothing where it is no multipart/form-data, or has no
// boundary of 1 to 70 of the characters that RFC 2046 allows.
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
    std::string name;                     // of the field; the client's bytes, unchecked
    std::optional<std::string> filename;  // likewise, and no path to be trusted
    std::string content_type;             // empty where the client says none
  };

  static constexpr std::size_t max_parts = 1000;
  static constexpr std::size_t max_part_head_bytes = 8u << 10;

  // `boundary` as form_boundary() returned it.
  FormReader(RequestBody& body, std::string_view boundary);

  // The next part; what is left of the one before is skipped. Nothing behind the last part, and
  // where the form is refused.
  boost::asio::awaitable<std::optional<Part>> next();

  // Waits for the next bytes of this part and puts as many of them into `room`, which is not empty.
  // 0: the part is over, or the form is refused. A part is complete only once next() was called
  // behind it and refusal() is still nothing.
  boost::asio::awaitable<std::size_t> read(std::span<char> room);

  // What the client hears where the form does not hold to its rules or its body fails. Nothing
  // else of it can be read then.
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
  const std::string delimiter_;  // with the line end that belongs to it
  std::string held_;             // read and not handed out: from at_ on
  std::size_t at_ = 0;
  std::size_t content_end_ = 0;  // no delimiter begins between at_ and here
  std::size_t parts_ = 0;
  bool is_in_line_end_ = false;  // at_ is before the line end between a part's head and its bytes
  bool is_whole_ = false;        // nothing comes behind what is held
  State state_ = State::content;
  std::optional<Response> refusal_;
};

}  // namespace server
