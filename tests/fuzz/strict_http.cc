#include "tests/fuzz/strict_http.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace fuzz {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view token_signs = "!#$%&'*+-.^_`|~";
constexpr std::size_t max_digits = 18;

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           token_signs.find(c) != token_signs.npos;
  });
}

bool is_text(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string_view> values_of(const Headers& headers, std::string_view name) {
  std::vector<std::string_view> values;
  for (const auto& [one, value] : headers) {
    if (lower(one) == name) values.push_back(value);
  }
  return values;
}

// Takes the text up to the mark, and removes the mark. Returns std::nullopt without a mark.
std::optional<std::string_view> taken(std::string_view& text, std::string_view mark) {
  const std::size_t end = text.find(mark);
  if (end == text.npos) return std::nullopt;
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end + mark.size());
  return part;
}

// Parses lines that all end in CRLF. Returns std::nullopt where one is not a header.
std::optional<Headers> headers_in(std::string_view lines) {
  Headers headers;
  while (!lines.empty()) {
    const auto line = taken(lines, "\r\n");
    if (!line || !is_text(*line)) return std::nullopt;
    const std::size_t colon = line->find(':');
    if (colon == line->npos || !is_token(line->substr(0, colon))) return std::nullopt;
    headers.emplace_back(line->substr(0, colon), without_blanks(line->substr(colon + 1)));
  }
  return headers;
}

bool is_request_line(std::string_view line, StrictRequest& request) {
  const auto method = taken(line, " ");
  if (!method || !is_token(*method)) return false;
  const auto target = taken(line, " ");
  if (!target || target->empty() || !is_text(*target) || target->find('\t') != target->npos) {
    return false;
  }
  request.method = *method;
  request.target = *target;
  request.http_1_0 = line == "HTTP/1.0";
  return request.http_1_0 || line == "HTTP/1.1";
}

// The length of a body. framing_of() returns std::nullopt where the headers contradict each other
// or are malformed.
struct Framing {
  bool chunked = false;
  std::uint64_t length = 0;
};

std::optional<Framing> framing_of(const StrictRequest& request) {
  const auto lengths = values_of(request.headers, "content-length");
  const auto codings = values_of(request.headers, "transfer-encoding");
  const std::size_t hosts = values_of(request.headers, "host").size();
  if (hosts > 1 || (hosts == 0 && !request.http_1_0)) return std::nullopt;
  if (lengths.size() + codings.size() > 1) return std::nullopt;
  Framing framing;
  if (!codings.empty()) {
    if (lower(codings.front()) != "chunked" || request.http_1_0) return std::nullopt;
    framing.chunked = true;
  }
  if (!lengths.empty()) {
    const std::string_view digits = lengths.front();
    const char* end = digits.data() + digits.size();
    if (digits.empty() || digits.size() > max_digits) return std::nullopt;
    const auto [stopped, fault] = std::from_chars(digits.data(), end, framing.length);
    if (fault != std::errc() || stopped != end) return std::nullopt;
  }
  return framing;
}

bool quotes_end(std::string_view extensions) {
  bool open = false;
  bool escaped = false;
  for (const char c : extensions) {
    if (escaped) {
      escaped = false;
    } else if (open && c == '\\') {
      escaped = true;
    } else if (c == '"') {
      open = !open;
    }
  }
  return !open;
}

// Parses a chunk's line: a size, then nothing or extensions.
std::optional<std::uint64_t> chunk_size(std::string_view line) {
  std::uint64_t size = 0;
  const char* end = line.data() + line.size();
  const auto [stopped, fault] = std::from_chars(line.data(), end, size, 16);
  if (fault != std::errc() || !is_text(line)) return std::nullopt;
  const std::string_view rest = line.substr(static_cast<std::size_t>(stopped - line.data()));
  if (!rest.empty() && !without_blanks(rest).starts_with(';')) return std::nullopt;
  if (!quotes_end(rest)) return std::nullopt;
  return size;
}

// Returns false where the body is malformed or incomplete.
bool read_chunks(std::string_view& bytes, std::string& body) {
  for (;;) {
    const auto line = taken(bytes, "\r\n");
    if (!line) return false;
    const auto size = chunk_size(*line);
    if (!size) return false;
    if (*size == 0) break;
    if (bytes.size() < 2 || *size > bytes.size() - 2) return false;
    body += bytes.substr(0, *size);
    if (bytes.substr(*size, 2) != "\r\n") return false;
    bytes.remove_prefix(*size + 2);
  }
  for (;;) {
    const auto trailer = taken(bytes, "\r\n");
    if (!trailer) return false;
    if (trailer->empty()) return true;
    if (!is_text(*trailer)) return false;
  }
}

bool read_body(const Framing& framing, std::string_view& bytes, std::string& body) {
  if (framing.chunked) return read_chunks(bytes, body);
  if (framing.length > bytes.size()) return false;
  body = bytes.substr(0, framing.length);
  bytes.remove_prefix(framing.length);
  return true;
}

// Returns std::nullopt where the bytes end before the head does, and a request without a method
// where it is invalid.
std::optional<StrictRequest> read_head(std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == bytes.npos) return std::nullopt;
  std::string_view head = bytes.substr(0, end + 2);
  bytes.remove_prefix(end + 4);
  StrictRequest request;
  const auto line = taken(head, "\r\n");
  auto headers = headers_in(head);
  if (!line || !headers || !is_request_line(*line, request)) return StrictRequest();
  request.headers = std::move(*headers);
  return request;
}

constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

std::optional<StrictAnswer> read_answer(std::string_view& bytes, bool has_no_body) {
  StrictAnswer answer;
  if (bytes.starts_with(go_on)) {
    answer.continued = true;
    bytes.remove_prefix(go_on.size());
  }
  const auto head = taken(bytes, "\r\n\r\n");
  if (!head) return std::nullopt;
  const std::string lines = std::string(*head) + "\r\n";
  std::string_view rest = lines;
  const auto line = taken(rest, "\r\n");
  const auto headers = headers_in(rest);
  if (!line || !headers || !line->starts_with("HTTP/1.1 ") || line->size() < 13) {
    return std::nullopt;
  }
  const auto [end, fault] = std::from_chars(line->data() + 9, line->data() + 12, answer.status);
  if (fault != std::errc() || end != line->data() + 12 || (*line)[12] != ' ') return std::nullopt;
  const auto lengths = values_of(*headers, "content-length");
  const auto connections = values_of(*headers, "connection");
  if (lengths.size() != 1 || connections.size() != 1) return std::nullopt;
  answer.closes = connections.front() == "close";
  const std::size_t length = std::stoul(std::string(lengths.front()));
  if (has_no_body) return answer;
  if (length > bytes.size()) return std::nullopt;
  bytes.remove_prefix(length);
  return answer;
}

}  // namespace

bool StrictRequest::has_header(std::string_view name) const {
  return !values_of(headers, name).empty();
}

StrictReading read_strictly(std::string_view bytes) {
  StrictReading reading;
  for (;;) {
    // Empty lines before a request are skipped, as RFC 9112 recommends.
    while (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
    reading.is_all = bytes.empty();
    if (bytes.empty()) return reading;
    auto request = read_head(bytes);
    if (!request) return reading;
    const auto framing = framing_of(*request);
    if (request->method.empty() || !framing) return reading;
    std::string body;
    const bool whole = read_body(*framing, bytes, body);
    if (whole) request->body = std::move(body);
    reading.requests.push_back(std::move(*request));
    if (!whole) return reading;
  }
}

std::optional<std::vector<StrictAnswer>> read_answers(std::string_view bytes,
                                                      const std::vector<bool>& to_head) {
  std::vector<StrictAnswer> answers;
  // No request follows where the client leaves instead of going on.
  while (!bytes.empty() && bytes != go_on) {
    if (!answers.empty() && answers.back().closes) return std::nullopt;
    const bool has_no_body = answers.size() < to_head.size() && to_head[answers.size()];
    const auto answer = read_answer(bytes, has_no_body);
    if (!answer) return std::nullopt;
    answers.push_back(*answer);
  }
  return answers;
}

}  // namespace fuzz
