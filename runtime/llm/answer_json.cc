#include "runtime/llm/answer_json.h"

#include <string>
#include <utility>

namespace runtime::llm {
namespace {

constexpr std::size_t max_bytes = 4u << 20;
constexpr int max_candidates = 64;
constexpr int max_nesting = json::max_depth + 1;  // one more, so that the reader reports the error

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Repairs one value of JSON as models write it, so that readers accept it.
class Mender {
 public:
  explicit Mender(std::string_view text) : text_(text) {}

  enum class End : std::uint8_t {
    complete,
    closed,  // complete, except perhaps for closing brackets
    cut,     // cut in the middle of a value
    none,    // not JSON
  };

  End object() {
    const End end = read_object(1);
    return end == End::complete && closed_ ? End::closed : end;
  }
  std::size_t taken() const { return at_; }
  // Braces occur in prose, too; text with a name and a colon in it is meant to be an object.
  bool has_members() const { return has_members_; }
  std::string take() && { return std::move(out_); }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  // A fence ends its content, whether or not that is complete.
  bool at_end() {
    skip_blanks();
    return at_ >= text_.size() || text_.substr(at_).starts_with("```");
  }

  void drop_comma() {
    if (out_.ends_with(',')) out_.pop_back();
  }

  // Comes between two members: at the end of the text everything that is open is closed.
  End close(char bracket) {
    drop_comma();
    out_ += bracket;
    if (at_end()) {
      closed_ = true;
    } else {
      ++at_;
    }
    return End::complete;
  }

  End read_object(int depth) {
    if (depth > max_nesting) return End::none;
    out_ += text_[at_++];
    for (;;) {
      if (at_end() || text_[at_] == '}') return close('}');
      if (text_[at_] != '"') return End::none;
      if (const End key = read_string(); key != End::complete) return key;
      if (at_end()) return End::cut;
      if (text_[at_] != ':') return End::none;
      has_members_ = true;
      out_ += text_[at_++];
      if (const End value = read_value(depth); value != End::complete) return value;
      if (const End comma = read_comma('}'); comma != End::complete) return comma;
    }
  }

  End read_array(int depth) {
    if (depth > max_nesting) return End::none;
    out_ += text_[at_++];
    for (;;) {
      if (at_end() || text_[at_] == ']') return close(']');
      if (const End value = read_value(depth); value != End::complete) return value;
      if (const End comma = read_comma(']'); comma != End::complete) return comma;
    }
  }

  End read_comma(char bracket) {
    if (at_end() || text_[at_] == bracket) return End::complete;
    if (text_[at_] != ',') return End::none;
    out_ += text_[at_++];
    return End::complete;
  }

  End read_value(int depth) {
    if (at_end()) return End::cut;
    switch (text_[at_]) {
      case '{':
        return read_object(depth + 1);
      case '[':
        return read_array(depth + 1);
      case '"':
        return read_string();
      default:
        return read_word();
    }
  }

  // Reads a number, or one of the three names, also in Python's spelling. The reader checks the
  // number.
  End read_word() {
    const std::size_t begin = at_;
    constexpr std::string_view ends = ",]}`:\"[{";
    while (at_ < text_.size() && !is_blank(text_[at_]) && ends.find(text_[at_]) == ends.npos) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    constexpr std::pair<std::string_view, std::string_view> names[] = {
        {"true", "true"}, {"false", "false"}, {"null", "null"},
        {"True", "true"}, {"False", "false"}, {"None", "null"}};
    for (const auto& [written, meant] : names) {
      if (word == written) {
        out_ += meant;
        return End::complete;
      }
    }
    if (at_ == text_.size()) return End::cut;
    if (word.empty() || word.find_first_not_of("0123456789+-.eE") != word.npos) return End::none;
    out_ += word;
    return End::complete;
  }

  End read_string() {
    out_ += text_[at_++];
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        if (!read_escape()) return End::cut;
        continue;
      }
      ++at_;
      if (static_cast<unsigned char>(c) < 0x20) {
        write_control(c);
        continue;
      }
      out_ += c;
      if (c == '"') return End::complete;
    }
    return End::cut;
  }

  // An escape that JSON does not have belongs to the text: a pattern's \d, or a quote that needs
  // none.
  bool read_escape() {
    if (at_ + 1 >= text_.size()) return false;
    const char c = text_[at_ + 1];
    constexpr std::string_view known = "\"\\/bfnrtu";
    if (c == '\'') {
      out_ += c;
    } else if (known.find(c) != known.npos) {
      out_ += '\\';
      out_ += c;
    } else {
      out_ += "\\\\";
      --at_;  // the letter itself is then read like any other
    }
    at_ += 2;
    return true;
  }

  void write_control(char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    if (c == '\n') {
      out_ += "\\n";
    } else if (c == '\t') {
      out_ += "\\t";
    } else if (c == '\r') {
      out_ += "\\r";
    } else {
      out_ += "\\u00";
      out_ += digits[static_cast<unsigned char>(c) >> 4];
      out_ += digits[static_cast<unsigned char>(c) & 15];
    }
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  bool closed_ = false;
  bool has_members_ = false;
};

// Removes the model's thoughts: they are not part of its answer, and may hold drafts of it.
std::string_view without_thoughts(std::string_view text) {
  constexpr std::string_view end = "</think>";
  const std::size_t at = text.rfind(end);
  return at == text.npos ? text : text.substr(at + end.size());
}

// Searches for the best object among those that begin anywhere in the text.
class Search {
 public:
  void look_in(std::string_view text) {
    std::size_t at = text.find('{');
    for (int tried = 0; at != text.npos && tried < max_candidates; ++tried) {
      Mender mender(text.substr(at));
      const Mender::End end = mender.object();
      const std::size_t size = mender.taken();
      const bool readable = end == Mender::End::complete || end == Mender::End::closed;
      if (readable) {
        take(std::move(mender).take(), size);
      } else if (mender.has_members()) {
        lose(size, end == Mender::End::cut ? cut_error : broken_error);
      }
      at = text.find('{', readable ? at + size : at + 1);
    }
  }

  jail::Result<json::Value> result() {
    if (size_ > 0 && size_ >= lost_) return json::parse(best_, "answer");
    if (!error_.empty()) return jail::invalid(error_);
    return jail::invalid("there is no JSON object in the answer; write one, and nothing else");
  }

 private:
  static constexpr std::string_view cut_error =
      "the answer's JSON object stops before its end; write it whole, and shorter";
  static constexpr std::string_view broken_error =
      "the answer's JSON object is not valid JSON; mind quotes, commas and escapes";

  // Notes an object that cannot be read: objects inside of it, and shorter ones, are not the
  // answer.
  void lose(std::size_t size, std::string_view error) {
    if (size <= lost_) return;
    lost_ = size;
    error_ = error;
  }

  void take(std::string object, std::size_t size) {
    const auto value = json::parse(object, "answer");
    if (!value) return lose(size, value.error().doing);
    if (size < size_) return;
    best_ = std::move(object);
    size_ = size;
  }

  std::string best_;
  std::size_t size_ = 0;  // of the best object, as written; 0: there is none
  std::size_t lost_ = 0;
  std::string error_;
};

}  // namespace

jail::Result<json::Value> answer_json(std::string_view text) {
  if (text.size() > max_bytes) return jail::invalid("the answer is longer than 4 MiB");
  auto strict = json::parse(text, "answer");
  if (strict && strict->as_object() != nullptr) return strict;
  Search search;
  search.look_in(without_thoughts(text));
  return search.result();
}

}  // namespace runtime::llm
