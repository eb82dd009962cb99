#include "runtime/config/edit_distance.h"

#include <algorithm>
#include <vector>

namespace runtime {
namespace {

constexpr std::size_t max_word_bytes = 64;

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // The table's rows hold the distances between prefixes of both words; only the last three rows
  // are needed.
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> two_above(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
    two_above.swap(above);
    above.swap(row);
  }
  return above.back();
}

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known) {
  if (word.empty() || word.size() > max_word_bytes) return std::nullopt;
  std::optional<std::string> nearest;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t mistakes = edit_distance(word, candidate);
    // A candidate of which no letter is left was not meant.
    if (mistakes >= fewest || mistakes >= candidate.size() - candidate.find_first_not_of('-'))
      continue;
    fewest = mistakes;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace runtime
