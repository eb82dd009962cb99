// HTTP requests and responses as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/refusals/refusal.h"

namespace server {

struct Header {
  std::string name;
  std::string value;
};

struct RequestHead {
  std::string method;  // as sent; methods are case-sensitive
  std::string path;    // the target without scheme, authority and query; never decoded
  std::string query;   // the part behind the first ?, never decoded
  std::vector<Header> headers;
  std::string request_id;  // a UUID: the client's, or one made for this request

  // Returns the first header of that name, compared without case. check_head() lets no relevant
  // header repeat.
  std::optional<std::string_view> header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";  // empty where the body is empty
  std::string body{};
  std::vector<Header> headers{};  // in addition to those that every response has
  // An answer of another server, whose headers say its date, its server and how it may be cached.
  bool is_relayed = false;
};

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept;

// Returns the text without blanks and tabulators around it.
std::string_view trimmed(std::string_view text) noexcept;

// Returns whether the list in a header's value contains `word`, in any case.
bool lists(std::string_view value, std::string_view word) noexcept;

// The path of any form of request target: "/a?b", "http://host/a", "*".
std::string path_of(std::string_view target);

// Returns the part between the first ? and a #; empty where there is none.
std::string query_of(std::string_view target);

std::string_view reason_phrase(int status) noexcept;

using runtime::RefusalCode;

// Makes a problem by RFC 9457, with the status of the refusal's code. A 429 or 503 without a
// Retry-After gets one of a second.
Response problem(const runtime::Refusal& refusal, std::vector<Header> headers = {});
Response problem(RefusalCode code, std::string detail, std::vector<Header> headers = {});

// 204: success without content.
Response no_content();

// 503 for requests that come while the server stops.
Response stopping();

enum class Connection { keep_alive, close };

// The way in which the client finds the end of a body.
struct Framing {
  enum class Kind : std::uint8_t { length, chunked, until_close } kind = Kind::length;
  std::uint64_t length = 0;  // in bytes, where the kind is length
};

// Renders the status line and headers up to the empty line. The body's length is announced also
// where the body itself is not sent (HEAD). A status that has no body (204, 304) has no framing
// either.
std::string render_head(const Response& response, std::string_view request_id,
                        Connection connection, const Framing& framing);

}  // namespace server
