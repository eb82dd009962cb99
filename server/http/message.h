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
  std::string query;   // behind the first ?, never decoded
  std::vector<Header> headers;
  std::string request_id;  // a UUID: the client's own, or made for this request

  // Names compare without case. The first of that name; check_head() lets none that matters repeat.
  std::optional<std::string_view> header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";  // empty: of an empty body
  std::string body{};
  std::vector<Header> headers{};  // beside those that every response has
  // Another server's answer: its headers say when, by whom and how long it may be kept.
  bool is_relayed = false;
};

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept;

// Without blanks and tabulators around it.
std::string_view trimmed(std::string_view text) noexcept;

// Whether the list in a header's value has `word`, in whatever case.
bool lists(std::string_view value, std::string_view word) noexcept;

// The path of any form of request target: "/a?b", "http://host/a", "*".
std::string path_of(std::string_view target);

// What stands between the first ? and a #; empty where there is none.
std::string query_of(std::string_view target);

std::string_view reason_phrase(int status) noexcept;

using runtime::RefusalCode;

// RFC 9457, with the status of the refusal's code. Without a Retry-After of its own a 429 or 503
// has one of a second.
Response problem(const runtime::Refusal& refusal, std::vector<Header> headers = {});
Response problem(RefusalCode code, std::string detail, std::vector<Header> headers = {});

// 204: it is done, and there is nothing to say.
Response no_content();

// 503 for what comes while the server stops.
Response stopping();

enum class Connection { keep_alive, close };

// How the client knows where a body ends.
struct Framing {
  enum class Kind : std::uint8_t { length, chunked, until_close } kind = Kind::length;
  std::uint64_t length = 0;  // in bytes, where the kind is length
};

// Status line and headers up to the empty line. The body's length is announced also where the body
// itself is not sent (HEAD). A status that has no body (204, 304) has no framing either.
std::string render_head(const Response& response, std::string_view request_id,
                        Connection connection, const Framing& framing);

}  // namespace server
