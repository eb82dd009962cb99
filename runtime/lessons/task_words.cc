#include "runtime/lessons/task_words.h"

#include <algorithm>
#include <array>

#include "runtime/json/writer.h"

namespace runtime::lessons {
namespace {

// Every task has these words, so a match on one says nothing. The list is sorted as by std::sort.
constexpr std::array<std::string_view, 118> empty_words = {
    "a",       "about",  "above",   "after",  "all",     "also",     "an",        "and",
    "any",     "are",    "as",      "at",     "based",   "be",       "been",      "before",
    "between", "both",   "but",     "by",     "called",  "can",      "class",     "code",
    "compute", "could",  "create",  "def",    "define",  "do",       "does",      "each",
    "else",    "every",  "example", "for",    "from",    "function", "functions", "get",
    "given",   "gives",  "has",     "have",   "how",     "i",        "if",        "implement",
    "in",      "input",  "into",    "is",     "it",      "its",      "make",      "may",
    "method",  "more",   "must",    "name",   "named",   "new",      "no",        "not",
    "of",      "on",     "one",     "only",   "or",      "other",    "our",       "out",
    "output",  "please", "print",   "prints", "program", "python",   "return",    "returns",
    "same",    "script", "should",  "so",     "some",    "such",     "take",      "takes",
    "than",    "that",   "the",     "their",  "them",    "then",     "there",     "these",
    "they",    "this",   "to",      "two",    "up",      "use",      "used",      "uses",
    "using",   "value",  "was",     "we",     "what",    "when",     "where",     "which",
    "will",    "with",   "without", "would",  "write",   "you"};

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_telling(std::string_view word) {
  return !std::binary_search(empty_words.begin(), empty_words.end(), word);
}

}  // namespace

std::vector<std::string> telling_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i <= text.size() && words.size() < max_words; ++i) {
    if (i < text.size() && is_word_byte(text[i])) {
      word += lower(text[i]);
      continue;
    }
    if (!word.empty() && is_telling(word) &&
        std::find(words.begin(), words.end(), word) == words.end()) {
      words.push_back(word);
    }
    word.clear();
  }
  return words;
}

std::string normalised(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (!is_blank(c)) {
      result += lower(c);
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

std::string bounded_text(std::string_view text, std::size_t max_bytes) {
  std::string result = json::repair_utf8(text.substr(0, max_bytes + 4));
  // SQLite's text functions stop at a NUL.
  std::replace(result.begin(), result.end(), '\0', ' ');
  result.resize(json::utf8_prefix(result, max_bytes).size());
  return result;
}

}  // namespace runtime::lessons
