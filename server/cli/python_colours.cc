#include "server/cli/python_colours.h"

#include <algorithm>
#include <array>
#include <utility>

namespace server {
namespace {

constexpr std::array<std::string_view, 37> keywords = {
    "False",  "None",     "True",   "and", "as",    "assert", "async",  "await",    "break", "case",
    "class",  "continue", "def",    "del", "elif",  "else",   "except", "finally",  "for",   "from",
    "global", "if",       "import", "in",  "is",    "lambda", "match",  "nonlocal", "not",   "or",
    "pass",   "raise",    "return", "try", "while", "with",   "yield"};

constexpr std::array<std::string_view, 32> builtins = {
    "abs",   "all",    "any",        "bool",  "bytes", "dict",     "enumerate", "filter",
    "float", "int",    "isinstance", "len",   "list",  "map",      "max",       "min",
    "next",  "open",   "print",      "range", "repr",  "reversed", "round",     "self",
    "set",   "sorted", "str",        "sum",   "super", "tuple",    "type",      "zip"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Bytes beyond ASCII belong to names: which of them do does not matter for a colour.
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_in_name(char c) { return begins_name(c) || is_digit(c); }

template <class List>
bool is_one_of(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

class Lexer {
 public:
  explicit Lexer(std::string_view code) : rest_(code) {}

  std::vector<Token> all() {
    while (!rest_.empty()) next();
    return std::move(tokens_);
  }

 private:
  void take(std::size_t bytes, TokenKind kind) {
    tokens_.push_back({kind, rest_.substr(0, bytes)});
    rest_.remove_prefix(bytes);
  }

  std::size_t length_while(bool (*belongs)(char), std::size_t from) const {
    std::size_t end = from;
    while (end < rest_.size() && belongs(rest_[end])) ++end;
    return end;
  }

  void next() {
    const char c = rest_[0];
    const bool line_begins = tokens_.empty() || at_line_start_;
    at_line_start_ = c == '\n' || (line_begins && (c == ' ' || c == '\t'));
    const std::size_t prefix = string_prefix();
    if (prefix < rest_.size() && is_quote(rest_[prefix])) return take_string(prefix);
    if (c == '#') return take(std::min(rest_.find('\n'), rest_.size()), TokenKind::comment);
    if (c == '@' && line_begins) {
      return take(length_while([](char d) { return is_in_name(d) || d == '.'; }, 1),
                  TokenKind::decorator);
    }
    if (is_digit(c)) {
      return take(length_while([](char d) { return is_in_name(d) || d == '.'; }, 1),
                  TokenKind::number);
    }
    if (begins_name(c)) return take_word();
    take(1, TokenKind::plain);
  }

  static bool is_quote(char c) { return c == '"' || c == '\''; }

  // How many letters may belong to a string that follows: r, b, u, f, and two of them.
  std::size_t string_prefix() const {
    std::size_t count = 0;
    while (count < 2 && count < rest_.size() &&
           std::string_view("rRbBuUfF").find(rest_[count]) != std::string_view::npos) {
      ++count;
    }
    return count;
  }

  void take_string(std::size_t prefix) {
    const char quote = rest_[prefix];
    const std::string three(3, quote);
    const bool is_long = rest_.substr(prefix, 3) == three;
    std::size_t at = prefix + (is_long ? 3 : 1);
    while (at < rest_.size()) {
      if (rest_[at] == '\\') {
        at = std::min(at + 2, rest_.size());
      } else if (is_long ? rest_.substr(at, 3) == three : rest_[at] == quote) {
        return take(at + (is_long ? 3 : 1), TokenKind::string);
      } else if (!is_long && rest_[at] == '\n') {
        return take(at, TokenKind::string);  // not closed on its line
      } else {
        ++at;
      }
    }
    take(rest_.size(), TokenKind::string);
  }

  void take_word() {
    const std::size_t length = length_while(is_in_name, 0);
    const std::string_view word = rest_.substr(0, length);
    const bool named = std::exchange(defines_, word == "def" || word == "class");
    TokenKind kind = TokenKind::plain;
    if (named) {
      kind = TokenKind::name;
    } else if (is_one_of(keywords, word)) {
      kind = TokenKind::keyword;
    } else if (is_one_of(builtins, word)) {
      kind = TokenKind::builtin;
    }
    take(length, kind);
  }

  std::string_view rest_;
  std::vector<Token> tokens_;
  bool at_line_start_ = true;
  bool defines_ = false;  // the next word is the name of something
};

std::string_view colour_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::keyword:
      return "\x1b[35m";
    case TokenKind::builtin:
      return "\x1b[36m";
    case TokenKind::name:
      return "\x1b[1;34m";
    case TokenKind::string:
      return "\x1b[32m";
    case TokenKind::number:
      return "\x1b[33m";
    case TokenKind::comment:
      return "\x1b[2m";
    case TokenKind::decorator:
      return "\x1b[33m";
    case TokenKind::plain:
      break;
  }
  return {};
}

}  // namespace

std::vector<Token> python_tokens(std::string_view code) { return Lexer(code).all(); }

std::string coloured_python(std::string_view code) {
  std::string text;
  for (const Token& token : python_tokens(code)) {
    const std::string_view colour = colour_of(token.kind);
    text += colour;
    text += token.text;
    if (!colour.empty()) text += "\x1b[0m";
  }
  return text;
}

}  // namespace server
