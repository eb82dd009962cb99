// The text of requests and replies, where libcurl leaves it to its caller.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/llm/http_client.h"

namespace runtime::llm {

// Returns the text without the blanks and line ends on both sides.
std::string_view trimmed(std::string_view text);

// Returns "https://host:port" of a URL, without user, path and query, which may hold secrets.
std::string origin_of(std::string_view url);

// Returns why a request cannot be sent. libcurl sends line breaks in headers as they are, so a key
// that contains one would add headers; and it assumes http where a URL has no scheme, so a key
// would be sent in the clear.
std::optional<std::string> obstacle_in(const HttpRequest& request);

// Builds the status and the headers of a reply from its lines.
class HeadReader {
 public:
  // Takes one line, including its end.
  void feed(std::string_view line);

  int status() const noexcept { return status_; }
  // Returns true where the head has ended and no other head follows it.
  bool is_final() const noexcept { return complete_ && status_ >= 200; }
  HttpHeaders& headers() noexcept { return headers_; }

 private:
  bool complete_ = true;  // the next line begins a head, unless it belongs to a trailer
  int status_ = 0;
  HttpHeaders headers_;
};

}  // namespace runtime::llm
