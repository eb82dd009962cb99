// What a request and a reply look like as text, where libcurl leaves it to us.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/llm/http_client.h"

namespace runtime::llm {

// Without the blanks and line ends on both sides.
std::string_view trimmed(std::string_view text);

// "https://host:port" of a URL: without user, path and question, which may hold secrets.
std::string origin_of(std::string_view url);

// Why a request cannot be sent. libcurl takes line breaks in headers as they are, so that a key
// with one in it would add headers; and it guesses http where a URL has no scheme, so that a key
// would go in the clear.
std::optional<std::string> obstacle_in(const HttpRequest& request);

// Puts the status and the headers of a reply together from its lines.
class HeadReader {
 public:
  // One line with its end.
  void feed(std::string_view line);

  int status() const noexcept { return status_; }
  // The head has ended, and it is not one that another head follows.
  bool is_final() const noexcept { return complete_ && status_ >= 200; }
  HttpHeaders& headers() noexcept { return headers_; }

 private:
  bool complete_ = true;  // the next line begins a head, unless it is one of a trailer
  int status_ = 0;
  HttpHeaders headers_;
};

}  // namespace runtime::llm
