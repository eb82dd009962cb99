#include "runtime/llm/http_text.h"

#include <algorithm>
#include <charconv>

namespace runtime::llm {
namespace {

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& letter : lowered) letter = lower(letter);
  return lowered;
}

std::size_t scheme_length(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (lower(url.substr(0, scheme.size())) == scheme) return scheme.size();
  }
  return 0;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    const char small = lower(letter);
    return (small >= 'a' && small <= 'z') || (letter >= '0' && letter <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(letter) != std::string_view::npos;
  });
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string origin_of(std::string_view url) {
  const std::size_t scheme = scheme_length(url);
  if (scheme == 0) return "a URL";
  std::string_view authority = url.substr(scheme);
  authority = authority.substr(0, authority.find_first_of("/?#\\"));
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    authority.remove_prefix(at + 1);
  }
  return lower(url.substr(0, scheme)).append(authority);
}

std::optional<std::string> obstacle_in(const HttpRequest& request) {
  if (scheme_length(request.url) == 0) return "the URL must begin with http:// or https://";
  if (!is_token(request.method)) return "the method is not one of HTTP";
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name)) return "the name of a header has letters that it must not have";
    const bool unfit = std::any_of(value.begin(), value.end(), [](char letter) {
      return static_cast<unsigned char>(letter) < 0x20 ? letter != '\t' : letter == 0x7f;
    });
    if (unfit) return "the header " + name + " holds a line break or another control character";
  }
  return std::nullopt;
}

// A head with a status of 1xx is followed by another one; the lines after a body are trailers,
// which are ignored.
void HeadReader::feed(std::string_view line) {
  if (complete_) {
    if (line.substr(0, 5) != "HTTP/" || status_ >= 200) return;
    complete_ = false;
    status_ = 0;
    headers_.clear();
    const std::string_view code = line.substr(std::min(line.find(' '), line.size() - 1) + 1);
    std::from_chars(code.data(), code.data() + std::min<std::size_t>(code.size(), 3), status_);
    return;
  }
  if (trimmed(line).empty()) {
    complete_ = true;
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  headers_.emplace_back(lower(trimmed(line.substr(0, colon))), trimmed(line.substr(colon + 1)));
}

}  // namespace runtime::llm
