#include "runtime/agent/line_diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace runtime::agent {
namespace {

std::string shown(const std::vector<DiffLine>& diff) {
  std::string text;
  for (const DiffLine& line : diff) {
    text += line.is == LineIs::kept ? ' ' : line.is == LineIs::added ? '+' : '-';
    text += std::string(line.text) + "|";
  }
  return text;
}

TEST(LineDiff, KnownOnes) {
  EXPECT_EQ(shown(line_diff("", "")), "");
  EXPECT_EQ(shown(line_diff("a\nb\n", "a\nb\n")), " a| b|");
  EXPECT_EQ(shown(line_diff("a\nb\nc", "a\nx\nc\n")), " a|-b|+x| c|");
  EXPECT_EQ(shown(line_diff("", "a\n\nb")), "+a|+|+b|");
  EXPECT_EQ(shown(line_diff("a\nb", "")), "-a|-b|");
  EXPECT_EQ(shown(line_diff("a\nb\n", "c\nd\n")), "-a|-b|+c|+d|");
  EXPECT_EQ(shown(line_diff("a\na", "a")), " a|-a|");
}

std::size_t longest_common(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      table[i + 1][j + 1] =
          a[i] == b[j] ? table[i][j] + 1 : std::max(table[i][j + 1], table[i + 1][j]);
    }
  }
  return table[a.size()][b.size()];
}

TEST(LineDiff, LeadsFromOneToTheOtherWithTheFewestLines) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string letters[2];
    std::string texts[2];
    for (int side = 0; side < 2; ++side) {
      for (auto length = random() % 9; length > 0; --length) {
        const char letter = static_cast<char>('a' + random() % 3);
        letters[side] += letter;
        texts[side] += std::string(1, letter) + "\n";
      }
    }
    std::string before;
    std::string after;
    std::size_t kept = 0;
    for (const DiffLine& line : line_diff(texts[0], texts[1])) {
      if (line.is != LineIs::added) before += line.text;
      if (line.is != LineIs::dropped) after += line.text;
      if (line.is == LineIs::kept) ++kept;
    }
    ASSERT_EQ(before, letters[0]);
    ASSERT_EQ(after, letters[1]);
    ASSERT_EQ(kept, longest_common(letters[0], letters[1]));
  }
}

TEST(LineDiff, LongTextsThatDifferAreReplacedWhole) {
  std::string one = "same\n";
  std::string other = "same\n";
  for (int i = 0; i < 3000; ++i) {
    one += "a" + std::to_string(i) + "\n";
    other += "b" + std::to_string(i) + "\n";
  }
  const auto diff = line_diff(one, other);
  EXPECT_EQ(diff.size(), 6001u);
  EXPECT_EQ(diff[0].is, LineIs::kept);
  EXPECT_EQ(diff[1].is, LineIs::dropped);
  EXPECT_EQ(diff.back().is, LineIs::added);
}

}  // namespace
}  // namespace runtime::agent
