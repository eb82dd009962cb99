#include "runtime/config/environment.h"

#include <unistd.h>

#include <optional>

namespace runtime {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(blanks);
  if (start == text.npos) return {};
  return text.substr(start, text.find_last_not_of(blanks) - start + 1);
}

bool is_name(std::string_view name) {
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return !name.empty() && name.find_first_not_of(allowed) == name.npos &&
         (name[0] < '0' || name[0] > '9');
}

bool only_comment(std::string_view rest) {
  rest = trimmed(rest);
  return rest.empty() || rest[0] == '#';
}

// Returns the value after the =, without quotes and comment; std::nullopt where a quote is not
// closed or text follows it.
std::optional<std::string> value_of(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || (text[0] != '"' && text[0] != '\'')) {
    // A # belongs to the value unless a blank precedes it: keys and URLs contain it.
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool after_blank = i == 0 || blanks.find(text[i - 1]) != blanks.npos;
      if (text[i] == '#' && after_blank) return std::string(trimmed(text.substr(0, i)));
    }
    return std::string(text);
  }
  const char quote = text[0];
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) {
      if (!only_comment(text.substr(i + 1))) return std::nullopt;
      return value;
    }
    if (quote == '"' && text[i] == '\\' && i + 1 < text.size()) {
      const char escaped = text[++i];
      value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
    } else {
      value += text[i];
    }
  }
  return std::nullopt;
}

}  // namespace

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == text.npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));  // as getenv(): the first
                                                                           // wins
  }
  return environment;
}

namespace {

// Returns the number of the first line that is no NAME=value, or 0. With `is_lenient` there is
// none.
int parse_lines(std::string_view text, bool is_lenient, Environment& environment) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (only_comment(line)) continue;
    if (line.starts_with("export ")) line = trimmed(line.substr(7));
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string_view name = trimmed(line.substr(0, equals));
    std::optional<std::string> value;
    if (is_name(name) && equals < line.size()) value = value_of(line.substr(equals + 1));
    if (value) {
      environment.insert_or_assign(std::string(name), std::move(*value));
    } else if (!is_lenient) {
      return number;
    }
  }
  return 0;
}

}  // namespace

jail::Result<Environment> parse_dotenv(std::string_view text, std::string_view what) {
  Environment environment;
  const int wrong = parse_lines(text, false, environment);
  if (wrong == 0) return environment;
  // The error does not repeat the line, since it may hold a key.
  return jail::Error{jail::ErrorKind::invalid,
                     std::string(what) + " line " + std::to_string(wrong) +
                         ": expected NAME=value, with quotes closed",
                     0,
                     {}};
}

Environment parse_strangers_dotenv(std::string_view text) {
  Environment environment;
  parse_lines(text, true, environment);
  return environment;
}

}  // namespace runtime
