#include "server/http/body_framing.h"

#include <boost/beast/http/error.hpp>
#include <string_view>

#include "server/http/head_check.h"

namespace server {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

// The bound on bytes that the parser cannot use yet, such as half of a chunk's header.
constexpr std::size_t max_unparsed = 32u << 10;

// The last chunk and an empty line, at the end of a chunked body.
constexpr std::size_t shortest_end = 5;

// The bound for all chunks of a body together.
constexpr std::size_t max_extension_bytes = 4u << 10;

// Returns whether `unparsed`, which begins with a chunk, has its whole line, and a quoted extension
// that does not end in it: Beast waits for that end beyond the line.
bool leaves_quote_open(std::string_view unparsed) {
  if (unparsed.starts_with("\r\n")) unparsed.remove_prefix(2);
  const std::size_t end = unparsed.substr(0, 2 * max_extension_bytes).find("\r\n");
  bool open = false;
  for (std::size_t i = 0; end != unparsed.npos && i < end; ++i) {
    if (open && unparsed[i] == '\\') {
      ++i;
    } else if (unparsed[i] == '"') {
      open = !open;
    }
  }
  return open;
}

// Returns whether a body's end has begun but is incomplete: Beast takes its remaining bytes for
// granted when it looks again.
bool is_begun_end(std::string_view unparsed) {
  return unparsed.size() < shortest_end && unparsed.starts_with("0\r\n");
}

std::string_view text_of(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

}  // namespace

void ChunkExtensions::operator()(std::uint64_t chunk_bytes, boost::beast::string_view text,
                                 error_code& error) {
  body_bytes += chunk_bytes;
  bytes += text.size();
  const bool fine = bytes <= max_extension_bytes && is_printable({text.data(), text.size()});
  if (!fine) error = http::error::bad_chunk_extension;
}

template <bool is_request>
BodyStep parse_body(http::basic_parser<is_request>& parser, boost::beast::flat_buffer& buffer,
                    BodyPlace place) {
  if (parser.is_done()) return BodyStep::whole;
  error_code error;
  const bool early =
      parser.chunked() && place == BodyPlace::chunk_line && is_begun_end(text_of(buffer));
  if (buffer.size() > 0 && !early) buffer.consume(parser.put(buffer.data(), error));
  if (error == http::error::need_buffer) return BodyStep::full;
  if (error == http::error::body_limit) return BodyStep::too_large;
  if (!error && parser.is_done()) return BodyStep::whole;
  const bool starved = early || buffer.size() == 0 ||
                       (error == http::error::need_more && !leaves_quote_open(text_of(buffer)));
  if ((error && !starved) || buffer.size() > max_unparsed) return BodyStep::malformed;
  return starved ? BodyStep::starved : BodyStep::progress;
}

template BodyStep parse_body(http::basic_parser<true>&, boost::beast::flat_buffer&, BodyPlace);
template BodyStep parse_body(http::basic_parser<false>&, boost::beast::flat_buffer&, BodyPlace);

}  // namespace server
