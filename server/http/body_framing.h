// Where the body of a request or a response ends, read as strictly as every proxy before us reads
// it.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <cstdint>

namespace server {

// Called by a parser for each chunk. Beast takes any byte in a quoted extension, where others may
// see the end of a line, and any number of them.
struct ChunkExtensions {
  void operator()(std::uint64_t chunk_bytes, boost::beast::string_view text,
                  boost::system::error_code& error);

  std::size_t bytes = 0;         // of all chunks of a body together
  std::uint64_t body_bytes = 0;  // that the chunks so far have announced
};

enum class BodyStep : std::uint8_t {
  progress,   // go on
  whole,      // the body ended; what is left in the buffer belongs to the next request
  full,       // the memory that the parser was given for the body is used up
  starved,    // more has to be read first
  too_large,  // past the parser's limit
  malformed,  // not framed as HTTP/1.1 says
};

// What the buffer begins with, where a body comes in chunks.
enum class BodyPlace : std::uint8_t {
  chunk_line,  // a chunk's first line, or part of it
  chunk_data,  // data of a chunk that is not yet complete
};

// Gives the parser, whose head is done, what of the body is in the buffer, and takes that out.
template <bool is_request>
BodyStep parse_body(boost::beast::http::basic_parser<is_request>& parser,
                    boost::beast::flat_buffer& buffer, BodyPlace place);

}  // namespace server
