#include "server/http/file_answer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace server {
namespace {

namespace asio = boost::asio;

constexpr std::size_t piece_bytes = 64u << 10;

// Returns std::nullopt for a text that is not a decimal number. One that is too large stands for
// the largest.
std::optional<std::uint64_t> number_of(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  std::uint64_t number = UINT64_MAX;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// If the client has a part of another version of the file, the file is sent as a whole.
std::variant<ByteRange, NoRange> asked_range(const RequestHead& request, const FileAnswer& answer,
                                             std::uint64_t size) {
  const auto range = request.header("Range");
  if (!range) return NoRange::whole;
  const auto condition = request.header("If-Range");
  if (condition && (answer.etag.empty() || *condition != answer.etag)) return NoRange::whole;
  return range_of(*range, size);
}

ssize_t read_at(int fd, std::span<char> room, std::uint64_t offset) {
  ssize_t count = 0;
  do {
    count = ::pread(fd, room.data(), room.size(), static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  return count;
}

}  // namespace

std::variant<ByteRange, NoRange> range_of(std::string_view value, std::uint64_t size) {
  constexpr std::string_view unit = "bytes=";
  if (!equal_ignoring_case(value.substr(0, unit.size()), unit)) return NoRange::whole;
  value.remove_prefix(unit.size());
  const std::size_t dash = value.find('-');
  if (dash == value.npos) return NoRange::whole;
  const auto first = number_of(value.substr(0, dash));
  const auto last = number_of(value.substr(dash + 1));
  if (dash == 0) {
    if (!last) return NoRange::whole;
    const std::uint64_t count = std::min(*last, size);
    if (count == 0) return NoRange::unsatisfiable;
    return ByteRange{.first = size - count, .count = count};
  }
  const bool is_open = dash + 1 == value.size();
  if (!first || (!last && !is_open) || (last && *last < *first)) return NoRange::whole;
  if (*first >= size) return NoRange::unsatisfiable;
  return ByteRange{.first = *first, .count = std::min(last.value_or(size), size - 1) - *first + 1};
}

asio::awaitable<Response> send_file(RequestHead request, ResponseStream& stream,
                                    FileAnswer answer) {
  struct stat entry {};
  if (::fstat(answer.file.get(), &entry) != 0)
    co_return problem(RefusalCode::internal_server_error, "the file cannot be read");
  const auto size = static_cast<std::uint64_t>(entry.st_size);
  const auto asked = asked_range(request, answer, size);
  const std::string of_size = "/" + std::to_string(size);
  std::vector<Header> headers = std::move(answer.headers);
  headers.push_back({"Accept-Ranges", "bytes"});
  if (!answer.etag.empty()) headers.push_back({"ETag", answer.etag});
  ByteRange range{.first = 0, .count = size};
  Response head{.content_type = answer.content_type};
  if (const auto* part = std::get_if<ByteRange>(&asked)) {
    range = *part;
    head.status = 206;
    headers.push_back({"Content-Range", "bytes " + std::to_string(range.first) + "-" +
                                            std::to_string(range.first + range.count - 1) +
                                            of_size});
  } else if (std::get<NoRange>(asked) == NoRange::unsatisfiable) {
    headers.push_back({"Content-Range", "bytes *" + of_size});
    co_return problem(RefusalCode::range_not_satisfiable, "Range: expected one within the file",
                      std::move(headers));
  }
  head.headers = std::move(headers);
  stream.begin(head, range.count);
  const auto room = std::make_unique<std::array<char, piece_bytes>>();
  while (range.count > 0) {
    if (answer.cancel.requested()) co_return Response();
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(range.count, piece_bytes));
    const ssize_t count = read_at(answer.file.get(), std::span(*room).first(most), range.first);
    if (count <= 0) co_return Response();
    const auto read = static_cast<std::size_t>(count);
    if (!co_await stream.write(std::string_view(room->data(), read))) co_return Response();
    range.first += read;
    range.count -= read;
  }
  co_await stream.end();
  co_return Response();
}

}  // namespace server
