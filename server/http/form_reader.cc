#include "server/http/form_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "server/http/head_check.h"

namespace server {
namespace {

using boost::asio::awaitable;

constexpr std::size_t room_bytes = 16u << 10;
constexpr std::size_t max_boundary_bytes = 70;

// The bound on spaces that a gateway may have put behind a boundary (RFC 2046, section 5.1.1).
constexpr std::size_t max_padding = 64;

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view head_end = "\r\n\r\n";
constexpr std::string_view blanks = " \t";
constexpr std::string_view token_marks = "!#$%&'*+-.^_`|~";
constexpr std::string_view boundary_marks = "'()+_,-./:=? ";

bool is_alphanumeric_or(std::string_view marks, char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         marks.find(c) != marks.npos;
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
}

std::string_view take_token(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && is_alphanumeric_or(token_marks, text[size])) ++size;
  const std::string_view token = text.substr(0, size);
  text.remove_prefix(size);
  return token;
}

// Takes a quoted text; a backslash escapes a quote or a backslash, and is itself text before
// anything else, as in the path of a file.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    const bool escapes =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\');
    if (escapes) ++i;
    value += text[i];
  }
  return std::nullopt;
}

// A header's value: a word, followed by `; name=value` parameters.
struct Worded {
  std::string_view word;
  std::vector<Header> parameters;

  const std::string* find(std::string_view name) const {
    const auto is_it = [&](const Header& each) { return equal_ignoring_case(each.name, name); };
    const auto found = std::ranges::find_if(parameters, is_it);
    return found == parameters.end() ? nullptr : &found->value;
  }
};

// Parses such a value. Returns std::nullopt where the text is anything else, or has a parameter
// twice.
std::optional<Worded> read_words(std::string_view text) {
  Worded words;
  const std::size_t end = std::min(text.find(';'), text.size());
  words.word = text.substr(0, end);
  words.word = words.word.substr(0, words.word.find_last_not_of(blanks) + 1);
  text.remove_prefix(end);
  while (!text.empty()) {
    text.remove_prefix(1);  // the semicolon
    skip_blanks(text);
    if (text.empty()) break;
    const std::string_view name = take_token(text);
    if (name.empty() || !text.starts_with('=') || words.find(name) != nullptr) return std::nullopt;
    text.remove_prefix(1);
    const bool is_quoted = text.starts_with('"');
    auto value = is_quoted ? take_quoted(text) : std::string(take_token(text));
    if (!value || (value->empty() && !is_quoted)) return std::nullopt;
    words.parameters.push_back({std::string(name), std::move(*value)});
    skip_blanks(text);
    if (!text.empty() && text.front() != ';') return std::nullopt;
  }
  return words;
}

// The content of the lines of a part's head.
struct PartHead {
  std::optional<std::string_view> disposition, type, encoding;
};

// Returns std::nullopt where a line is not `Name: value`, or repeats a header.
std::optional<PartHead> read_head(std::string_view text) {
  PartHead head;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(line_end), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + line_end.size(), text.size()));
    const std::string_view name = take_token(line);
    if (name.empty() || !line.starts_with(':') || !is_printable(line)) return std::nullopt;
    line.remove_prefix(1);
    skip_blanks(line);
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    std::optional<std::string_view>* place = nullptr;
    if (equal_ignoring_case(name, "Content-Disposition")) place = &head.disposition;
    if (equal_ignoring_case(name, "Content-Type")) place = &head.type;
    if (equal_ignoring_case(name, "Content-Transfer-Encoding")) place = &head.encoding;
    if (place == nullptr) continue;
    if (*place) return std::nullopt;
    *place = line;
  }
  return head;
}

bool is_as_it_is(std::string_view encoding) {
  return equal_ignoring_case(encoding, "binary") || equal_ignoring_case(encoding, "8bit") ||
         equal_ignoring_case(encoding, "7bit");
}

}  // namespace

std::optional<std::string> form_boundary(std::string_view content_type) {
  const auto words = read_words(content_type);
  if (!words || !equal_ignoring_case(words->word, "multipart/form-data")) return std::nullopt;
  const std::string* boundary = words->find("boundary");
  const auto is_allowed = [](char c) { return is_alphanumeric_or(boundary_marks, c); };
  const bool fits = boundary != nullptr && !boundary->empty() &&
                    boundary->size() <= max_boundary_bytes && boundary->back() != ' ' &&
                    std::ranges::all_of(*boundary, is_allowed);
  if (!fits) return std::nullopt;
  return *boundary;
}

// The first delimiter may be at the beginning of the body, without the line end that belongs to the
// others. The text before it is skipped like a part that nobody reads.
FormReader::FormReader(RequestBody& body, std::string_view boundary)
    : body_(body), delimiter_(std::string("\r\n--").append(boundary)), held_(line_end) {}

awaitable<std::optional<FormReader::Part>> FormReader::next() {
  while (state_ == State::content && co_await find_content()) at_ = content_end_;
  if (state_ != State::behind_delimiter) co_return std::nullopt;
  const auto head = co_await read_part_head();
  if (!head) co_return std::nullopt;
  co_return take_part(*head);
}

awaitable<std::size_t> FormReader::read(std::span<char> room) {
  if (state_ != State::content || !co_await find_content()) co_return 0;
  const std::size_t count = std::min(room.size(), content_end_ - at_);
  std::memcpy(room.data(), held_.data() + at_, count);
  at_ += count;
  co_return count;
}

// Returns whether there are bytes of this part before content_end_. Otherwise the delimiter has
// been read, or the form is refused.
awaitable<bool> FormReader::find_content() {
  while (at_ == content_end_) {
    const std::string_view text = unread();
    const std::size_t delimiter = text.find(delimiter_);
    if (delimiter == 0) {
      at_ += delimiter_.size();
      state_ = State::behind_delimiter;
      co_return false;
    }
    // The delimiter may begin in the last bytes that are held.
    const std::size_t safe = text.size() - std::min(text.size(), delimiter_.size() - 1);
    const std::size_t known = std::min(delimiter, safe);
    if (is_in_line_end_ && known > 0) {
      is_in_line_end_ = false;
      at_ += line_end.size();
      content_end_ = at_;
      continue;
    }
    content_end_ = at_ + known;
    if (at_ != content_end_) break;
    if (!co_await hold_more()) {
      refuse("the form ends in the middle of a part");
      co_return false;
    }
  }
  co_return true;
}

// Returns the text between a delimiter and the part's bytes, without the first line end and the
// empty line. Returns std::nullopt behind the last part, and where the form is refused.
awaitable<std::optional<std::string>> FormReader::read_part_head() {
  for (;;) {
    std::string_view text = unread();
    const std::size_t padding = std::min(text.find_first_not_of(blanks), text.size());
    const std::string_view behind = text.substr(padding);
    if (text.starts_with("--")) {
      state_ = State::over;
      co_return std::nullopt;
    }
    const bool has_line_end = behind.starts_with(line_end);
    const bool may_be_one = line_end.starts_with(behind.substr(0, line_end.size())) ||
                            std::string_view("--").starts_with(text.substr(0, 2));
    if (padding > max_padding || !may_be_one) {
      refuse("more than its boundary stands on a line of the form");
      co_return std::nullopt;
    }
    const std::size_t end = has_line_end ? behind.find(head_end) : behind.npos;
    if (std::min(end, behind.size()) > max_part_head_bytes) {
      refuse("the head of a part of the form is larger than " +
             std::to_string(max_part_head_bytes) + " bytes");
      co_return std::nullopt;
    }
    if (end != behind.npos) {
      std::string head(end == 0 ? "" : behind.substr(line_end.size(), end - line_end.size()));
      // In an empty part, the line end in front of its bytes belongs to the delimiter.
      at_ += padding + end + head_end.size() - line_end.size();
      content_end_ = at_;
      is_in_line_end_ = true;
      state_ = State::content;
      co_return head;
    }
    if (!co_await hold_more()) {
      refuse("the form ends before its last boundary");
      co_return std::nullopt;
    }
  }
}

std::optional<FormReader::Part> FormReader::take_part(std::string_view text) {
  if (++parts_ > max_parts) {
    return refuse("the form has more than " + std::to_string(max_parts) + " parts");
  }
  const auto head = read_head(text);
  if (!head) return refuse("the head of a part of the form is not one of MIME");
  const auto words = read_words(head->disposition.value_or(""));
  const std::string* name = words ? words->find("name") : nullptr;
  if (name == nullptr || !equal_ignoring_case(words->word, "form-data")) {
    return refuse(
        "each part of a form needs the line Content-Disposition: form-data; name=\"...\"");
  }
  if (!is_as_it_is(head->encoding.value_or("binary"))) {
    return refuse("Content-Transfer-Encoding: a part of a form is sent as it is (binary)");
  }
  const std::string* filename = words->find("filename");
  return Part{.name = *name,
              .filename = filename == nullptr ? std::nullopt : std::optional(*filename),
              .content_type = std::string(head->type.value_or(""))};
}

// Returns false where the body is complete or has failed.
awaitable<bool> FormReader::hold_more() {
  if (is_whole_ || refusal_) co_return false;
  held_.erase(0, at_);
  content_end_ -= at_;
  at_ = 0;
  const std::size_t size = held_.size();
  held_.resize(size + room_bytes);
  const RequestBody::Piece piece = co_await body_.read(std::span(held_.data() + size, room_bytes));
  held_.resize(size + piece.size);
  using PieceState = RequestBody::Piece::State;
  is_whole_ = piece.state == PieceState::whole;
  if (piece.state == PieceState::failed) {
    refusal_ = body_.refusal();
    state_ = State::over;
    co_return false;
  }
  co_return piece.size > 0 || !is_whole_;
}

std::nullopt_t FormReader::refuse(std::string_view why) {
  if (!refusal_) refusal_ = problem(RefusalCode::bad_http, std::string(why));
  state_ = State::over;
  return std::nullopt;
}

}  // namespace server
