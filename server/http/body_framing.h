// Finds the end of a request's or response's body, as strictly as every proxy before us.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <cstdint>

namespace server {

// Called by a parser for each chunk. Beast accepts any byte in a quoted extension, where others may
// see the end of a line, and extensions of any length.
struct ChunkExtensions {
  void operator()(std::uint64_t chunk_bytes, boost::beast::string_view text,
                  boost::system::error_code& error);

  std::size_t bytes = 0;         // of all chunks of a body together
  std::uint64_t body_bytes = 0;  // the length that the chunks so far have announced
};

enum class BodyStep : std::uint8_t {
  progress,   // the caller can go on
  whole,      // the body has ended; the rest of the buffer belongs to the next request
  full,       // the memory that the parser was given for the body is full
  starved,    // more bytes must be read first
  too_large,  // the body exceeds the parser's limit
  malformed,  // the framing violates HTTP/1.1
};

// What the buffer begins with in a chunked body.
enum class BodyPlace : std::uint8_t {
  chunk_line,  // a chunk's first line, or part of it
  chunk_data,  // data of a chunk that is not yet complete
};

// Gives the parser, whose head is done, the part of the body in the buffer, and removes it from
// there.
template <bool is_request>
BodyStep parse_body(boost::beast::http::basic_parser<is_request>& parser,
                    boost::beast::flat_buffer& buffer, BodyPlace place);

}  // namespace server
