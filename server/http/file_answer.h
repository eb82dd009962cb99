// A file, or the part of it that is asked for, as an answer that is never held in memory.
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

// Bytes of a file, at least one.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

enum class NoRange : std::uint8_t {
  whole,          // none is asked for, or what a server may ignore: other units, several ranges
  unsatisfiable,  // it begins behind the file's end
};

// What the value of a Range header asks for in a file of `size` bytes; RFC 9110, section 14.
std::variant<ByteRange, NoRange> range_of(std::string_view value, std::uint64_t size);

struct FileAnswer {
  jail::Fd file;             // regular, open for reading
  std::string content_type;  // a guest's file is application/octet-stream
  std::string etag;          // with its quotes, for ETag and If-Range; empty: none
  std::vector<Header> headers;
  runtime::Cancel cancel;  // requested: the answer is broken off
};

// Answers a GET or HEAD: 200, 206 or 416. Reads as the client takes it, some ten KiB at a time and
// on the connection's thread. A file that becomes shorter meanwhile breaks the answer off. What it
// returns is for handle() to return.
boost::asio::awaitable<Response> send_file(RequestHead request, ResponseStream& stream,
                                           FileAnswer answer);

}  // namespace server
