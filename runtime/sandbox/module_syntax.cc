#include "runtime/sandbox/module_syntax.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace runtime {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

enum class Bracket : char {
  plain,
  control,      // the ( of if, for and the like: a { after it begins a block
  function,     // the { of a function's body
  in_template,  // the { of a ${ in a template, which continues after its }
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool finds_module_syntax() {
    if (text_.starts_with("#!")) skip_line();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '/' && peek(1) == '/') {
        skip_line();
      } else if (c == '/' && peek(1) == '*') {
        skip_past("*/", at_ + 2);
      } else if (is_blank(c)) {
        if (c == '\n' && depth_ == arrow_ && !may_start_expression()) arrow_ = no_arrow;
        ++at_;
      } else if (is_word(c)) {
        if (on_word()) return true;
      } else {
        on_sign(c);
      }
    }
    return false;
  }

 private:
  char peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  void skip_past(std::string_view end, std::size_t from) {
    const std::size_t found = text_.find(end, from);
    at_ = found == text_.npos ? text_.size() : found + end.size();
  }

  // Skips to behind the sign that ends the quoted text; a backslash also skips the next sign.
  void skip_quoted(char end) {
    bool in_class = false;  // inside of a regular expression's [ ], where a / may occur
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\') {
        ++at_;
      } else if (c == end && !in_class) {
        ++at_;
        return;
      } else if (c == '\n') {
        return;  // unfinished: node will report it
      } else if (end == '/') {
        in_class = c == '[' || (in_class && c != ']');
      }
    }
  }

  // Skips from ` or the } of a ${ } to behind the next ${ or the closing `.
  void skip_template() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '`') {
        ++at_;
        value_ended();
        return;
      } else if (text_[at_] == '$' && peek(1) == '{') {
        at_ += 2;
        open(Bracket::in_template);
        return;
      }
    }
  }

  bool on_word() {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    const bool member = last_ == '.';
    last_ = 'w';
    last_word_ = member ? std::string_view() : word;
    if (member) return false;
    std::size_t next = at_;
    while (next < text_.size() && is_blank(text_[next])) ++next;
    const char following = next < text_.size() ? text_[next] : '\0';
    const bool names = is_word(following) || following == '{';
    const bool text = following == '"' || following == '\'';
    if (word == "await") {
      // Excludes `await` as a name, as in old programs: `await = 1`, `await;`, `await()`.
      return functions_ == 0 && arrow_ == no_arrow &&
             (names || text || following == '[' || following == '`' ||
              (following == '(' && next > at_));
    }
    // import(...) is an expression that is allowed everywhere; import.meta is one of modules.
    if (word == "import" && following == '.') return true;
    if (depth_ != 0) return false;
    return (word == "import" && (names || text || following == '*')) ||
           (word == "export" && (names || following == '*'));
  }

  void on_sign(char c) {
    if (c == '"' || c == '\'' || (c == '/' && may_start_expression())) {
      skip_quoted(c);
      value_ended();
      return;
    }
    if (c == '`') {
      skip_template();
      return;
    }
    if (c == '(' || c == '[' || c == '{') open(kind_of(c));
    if ((c == ')' || c == ']' || c == '}') && close() == Bracket::in_template) {
      skip_template();
      return;
    }
    if ((c == ';' || c == ',') && depth_ == arrow_) arrow_ = no_arrow;
    if (c == '>' && last_ == '=' && text_[at_ - 1] == '=') {
      std::size_t next = at_ + 1;
      while (next < text_.size() && is_blank(text_[next])) ++next;
      if (next < text_.size() && text_[next] != '{' && depth_ < arrow_) arrow_ = depth_;
      last_ = '>';
    } else {
      last_ = c;
    }
    ++at_;
  }

  // await in a function's body says nothing; in a block, in brackets or in braces of an object it
  // does.
  Bracket kind_of(char c) const {
    if (c == '(') {
      constexpr std::array<std::string_view, 7> control = {"if",    "for",  "while", "switch",
                                                           "catch", "with", "await"};
      const bool is_control =
          last_ == 'w' && std::find(control.begin(), control.end(), last_word_) != control.end();
      return is_control ? Bracket::control : Bracket::plain;
    }
    const bool body = c == '{' && (last_ == '>' || (last_ == ')' && closed_ != Bracket::control));
    return body ? Bracket::function : Bracket::plain;
  }

  void value_ended() {
    last_ = 'w';
    last_word_ = {};
  }

  // Where this is true a slash starts a regular expression; elsewhere it divides.
  bool may_start_expression() const {
    if (last_ == 'w') {
      constexpr std::array<std::string_view, 10> before = {
          "return", "typeof", "case", "in", "of", "delete", "void", "throw", "do", "else"};
      return std::find(before.begin(), before.end(), last_word_) != before.end();
    }
    return last_ != ')' && last_ != ']' && last_ != '}';
  }

  void open(Bracket kind) {
    if (depth_ < kinds_.size()) kinds_[depth_] = kind;
    if (kind == Bracket::function) ++functions_;
    ++depth_;
    last_ = '(';
  }

  Bracket close() {
    closed_ = Bracket::plain;
    if (depth_ == 0) return closed_;
    --depth_;
    if (depth_ < kinds_.size()) closed_ = kinds_[depth_];
    if (closed_ == Bracket::function) --functions_;
    if (arrow_ != no_arrow && depth_ < arrow_) arrow_ = no_arrow;
    return closed_;
  }

  static constexpr std::size_t no_arrow = ~std::size_t{0};

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::array<Bracket, 512> kinds_{};  // deeper brackets are taken for plain ones
  Bracket closed_ = Bracket::plain;   // the bracket that was closed last
  std::size_t functions_ = 0;         // number of open function bodies
  std::size_t arrow_ = no_arrow;      // depth of an arrow function whose body is an expression
  char last_ = '\0';                  // the last sign; 'w' for words and other values
  std::string_view last_word_;
};

}  // namespace

bool uses_module_syntax(std::string_view javascript) noexcept {
  return Scanner(javascript).finds_module_syntax();
}

}  // namespace runtime
