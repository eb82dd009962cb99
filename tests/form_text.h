// A form that is read from a text, split as a test wants it.
#pragma once

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/http/form_reader.h"

namespace server {

// Returns a text, `piece_bytes` at a time, and fails at its end where that is requested.
class TextBody final : public RequestBody {
 public:
  enum class End : std::uint8_t { whole, failed };
  TextBody(std::string text, std::size_t piece_bytes, End end = End::whole)
      : text_(std::move(text)), piece_bytes_(piece_bytes), end_(end) {}

  boost::asio::awaitable<Piece> read(std::span<char> room) override {
    const std::size_t count = std::min({room.size(), piece_bytes_, text_.size() - at_});
    std::memcpy(room.data(), text_.data() + at_, count);
    at_ += count;
    max_room_ = std::max(max_room_, room.size());
    if (at_ == text_.size() && end_ == End::whole) co_return Piece{count, Piece::State::whole};
    co_return Piece{count, count > 0 ? Piece::State::more : Piece::State::failed};
  }
  void stop() override {}
  Response refusal() const override {
    return problem(runtime::RefusalCode::request_timeout, "too slow");
  }

  std::size_t max_room() const { return max_room_; }

 private:
  const std::string text_;
  const std::size_t piece_bytes_;
  const End end_;
  std::size_t at_ = 0;
  std::size_t max_room_ = 0;
};

struct ReadPart {
  FormReader::Part part;
  std::string content;
};

struct ReadForm {
  std::vector<ReadPart> parts;
  std::optional<Response> refusal;
};

// Runs until `work` is done, and rethrows its exception.
inline void run_to_end(boost::asio::awaitable<void> work) {
  boost::asio::io_context loop;
  std::exception_ptr thrown;
  boost::asio::co_spawn(loop, std::move(work), [&](std::exception_ptr error) { thrown = error; });
  loop.run();
  if (thrown) std::rethrow_exception(thrown);
}

inline boost::asio::awaitable<void> read_parts(FormReader& form, std::size_t room_bytes,
                                               ReadForm& result) {
  std::string room(room_bytes, ' ');
  while (auto part = co_await form.next()) {
    std::string& content = result.parts.emplace_back(ReadPart{std::move(*part), ""}).content;
    while (const std::size_t count = co_await form.read(room)) content.append(room, 0, count);
  }
  result.refusal = form.refusal();
}

inline ReadForm read_form(RequestBody& body, std::string_view boundary, std::size_t room_bytes) {
  FormReader form(body, boundary);
  ReadForm result;
  run_to_end(read_parts(form, room_bytes, result));
  return result;
}

}  // namespace server
