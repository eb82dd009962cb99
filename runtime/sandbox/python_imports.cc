#include "runtime/sandbox/python_imports.h"

#include <algorithm>
#include <utility>

namespace runtime {
namespace {

bool is_between_words(char c) { return c == ' ' || c == '\t' || c == '\f' || c == '\r'; }

bool is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class ImportScanner {
 public:
  explicit ImportScanner(std::string_view text) : text_(text) {}

  std::vector<std::string_view> find() {
    while (at_ < text_.size() && found_.size() < max_imports_found) {
      skip_blanks();
      if (at_ == text_.size()) break;
      if (is_in_name(text_[at_])) {
        on_word();
      } else {
        on_sign();
      }
    }
    return std::move(found_);
  }

 private:
  void on_word() {
    const std::string_view word = take_word();
    const bool begins_statement = begins_statement_ && depth_ == 0;
    begins_statement_ = false;
    if (!begins_statement) return;
    if (word == "import") take_modules();
    if (word == "from") add(take_module());
  }

  void on_sign() {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    if (c == '"' || c == '\'') {
      skip_string();
      begins_statement_ = false;
      return;
    }
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    begins_statement_ = c == '\n' || c == ';' || c == ':';
    ++at_;
  }

  // A backslash at the end of a line joins it with the next one.
  void skip_blanks() {
    while (at_ < text_.size()) {
      if (is_between_words(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_).starts_with("\\\n")) {
        at_ += 2;
      } else if (text_.substr(at_).starts_with("\\\r\n")) {
        at_ += 3;
      } else {
        return;
      }
    }
  }

  // Raw strings, too, do not end at a quote behind a backslash.
  void skip_string() {
    const std::string_view quote = text_.substr(at_, 1);
    const std::string_view three = text_.substr(at_, 3);
    const bool is_long = three.size() == 3 && three[1] == three[0] && three[2] == three[0];
    const std::string_view end = is_long ? three : quote;
    at_ += end.size();
    while (at_ < text_.size() && !text_.substr(at_).starts_with(end)) {
      if (!is_long && text_[at_] == '\n') return;  // the string is not closed
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    at_ = std::min(at_ + end.size(), text_.size());
  }

  std::string_view take_word() {
    const std::size_t first = at_;
    while (at_ < text_.size() && is_in_name(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }

  // Takes `a.b.c` and returns its first name; empty for a relative one.
  std::string_view take_module() {
    skip_blanks();
    const std::string_view name = take_word();
    for (skip_blanks(); at_ < text_.size() && text_[at_] == '.'; skip_blanks()) {
      ++at_;
      skip_blanks();
      take_word();
    }
    return name;
  }

  // Takes the text after `import`: `a.b as c, d`.
  void take_modules() {
    for (;;) {
      add(take_module());
      const std::size_t behind = at_;
      if (take_word() == "as") {
        skip_blanks();
        take_word();
        skip_blanks();
      } else {
        at_ = behind;
      }
      if (at_ == text_.size() || text_[at_] != ',') return;
      ++at_;
    }
  }

  void add(std::string_view name) {
    if (name.empty() || std::find(found_.begin(), found_.end(), name) != found_.end()) return;
    if (found_.size() < max_imports_found) found_.push_back(name);
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;  // of brackets
  bool begins_statement_ = true;
  std::vector<std::string_view> found_;
};

}  // namespace

std::vector<std::string_view> python_imports(std::string_view program) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (program.starts_with(byte_order_mark)) program.remove_prefix(byte_order_mark.size());
  return ImportScanner(program.substr(0, max_bytes_searched_for_imports)).find();
}

}  // namespace runtime
