// Python for a terminal: which part of a line is what. No parser; what it takes for wrong is
// merely not coloured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace server {

enum class TokenKind { plain, keyword, builtin, name, string, number, comment, decorator };

struct Token {
  TokenKind kind = TokenKind::plain;
  std::string_view text;  // of the code that was given
};

// All of `code`, in its order: the texts together are the code again.
std::vector<Token> python_tokens(std::string_view code);

// With the escape sequences of a terminal. `code` has no control characters of its own: see
// plain_text().
std::string coloured_python(std::string_view code);

}  // namespace server
