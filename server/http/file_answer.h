// Sends a file, or the requested part of it, as an answer that is never held in memory.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jail/fd.h"
#include "runtime/sandbox/cancel.h"
#include "server/http/message.h"
#include "server/http/response_stream.h"

namespace server {

// A range of at least one byte of a file.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

enum class NoRange : std::uint8_t {
  whole,          // none is requested, or one that a server may ignore: other units, several ranges
  unsatisfiable,  // it begins behind the file's end
};

// Parses the value of a Range header for a file of `size` bytes; RFC 9110, section 14.
std::variant<ByteRange, NoRange> range_of(std::string_view value, std::uint64_t size);

struct FileAnswer {
  jail::Fd file;             // a regular file, open for reading
  std::string content_type;  // for a guest's file: application/octet-stream
  std::string etag;          // with its quotes, for ETag and If-Range; empty: none
  std::vector<Header> headers;
  runtime::Cancel cancel;  // breaks the answer off when requested
};

// Answers a GET or HEAD: 200, 206 or 416. Reads as the client takes it, some ten KiB at a time and
// on the connection's thread. If the file becomes shorter meanwhile, the answer is broken off.
// handle() must return the result.
boost::asio::awaitable<Response> send_file(RequestHead request, ResponseStream& stream,
                                           FileAnswer answer);

}  // namespace server
