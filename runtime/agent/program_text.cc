#include "runtime/agent/program_text.h"

#include <algorithm>
#include <cctype>

namespace runtime::agent {
namespace {

// Takes the next line off `rest` and returns it without its end.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view without_indent(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == line.npos ? std::string_view() : line.substr(first);
}

bool is_python(std::string_view language) {
  std::string word;
  for (const char c : language.substr(0, language.find_first_of(" \t{"))) {
    word.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return word.empty() || word.starts_with("py");
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// Matches "x = 1", "rows[0] = 2", "print(": a name, followed by something that never follows a word
// in a sentence.
bool is_statement(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && is_name_character(line[end])) ++end;
  if (end == 0 || std::isdigit(static_cast<unsigned char>(line[0])) != 0) return false;
  if (end < line.size() && (line[end] == '(' || line[end] == '[')) return true;
  while (end < line.size() && line[end] == ' ') ++end;
  return end < line.size() && (line[end] == '=' || line.substr(end).starts_with("+="));
}

}  // namespace

std::optional<std::string> program_in_fence(std::string_view text) {
  std::optional<std::string> longest;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view opening = without_indent(take_line(rest));
    if (!opening.starts_with("```")) continue;
    const bool wanted = is_python(opening.substr(3));
    const std::string_view block = rest;
    std::size_t length = 0;
    for (bool open = true; open && !rest.empty();) {
      length = block.size() - rest.size();
      open = without_indent(take_line(rest)) != "```";
      if (open) length = block.size() - rest.size();
    }
    if (wanted && (!longest || length > longest->size())) longest = block.substr(0, length);
  }
  return longest;
}

bool looks_like_program(std::string_view text) {
  std::string_view rest = text;
  std::string_view line;
  while (!rest.empty() && line.empty()) line = without_indent(take_line(rest));
  constexpr std::string_view beginnings[] = {"import ", "def ", "class ", "async def ",
                                             "@",       "# ",   "#!",     "\"\"\""};
  const auto begins = [line](std::string_view word) { return line.starts_with(word); };
  if (std::any_of(std::begin(beginnings), std::end(beginnings), begins)) return true;
  if (line.starts_with("from ")) return line.find(" import ") != line.npos;
  return is_statement(line);
}

std::string head_and_tail(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t head = max_bytes / 3;
  std::size_t tail = text.size() - (max_bytes - head);
  for (int turn = 0; turn < 3 && head > 0 && continues_character(text[head]); ++turn) --head;
  for (int turn = 0; turn < 3 && tail < text.size() && continues_character(text[tail]); ++turn) {
    ++tail;
  }
  std::string cut(text.substr(0, head));
  cut += "\n[... " + std::to_string(tail - head) + " bytes left out ...]\n";
  cut += text.substr(tail);
  return cut;
}

std::size_t unfinished_bytes(std::string_view bytes) noexcept {
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace runtime::agent
