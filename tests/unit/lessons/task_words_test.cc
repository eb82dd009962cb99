#include "runtime/lessons/task_words.h"

#include <gmock/gmock.h>

#include "runtime/json/writer.h"

namespace runtime::lessons {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(TaskWords, ThoseThatTellSomething) {
  EXPECT_THAT(telling_words("Write a Python function two_sum(nums) that returns the two indices"),
              ElementsAre("sum", "nums", "indices"));
  EXPECT_THAT(telling_words("sum SUM Sum"), ElementsAre("sum"));
  EXPECT_THAT(telling_words("Write the function"), IsEmpty());
  EXPECT_THAT(telling_words(""), IsEmpty());
  EXPECT_THAT(telling_words("\" OR * NEAR(x) -- ' ; ( ) ^ :"), ElementsAre("near", "x"));
  EXPECT_THAT(telling_words("déjà vu"), ElementsAre("déjà", "vu"));
}

TEST(TaskWords, AreBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "w" + std::to_string(i) + " ";
  EXPECT_THAT(telling_words(text), SizeIs(max_words));
}

TEST(NormalisedText, SeesNoBlanksAndNoCase) {
  EXPECT_EQ(normalised("  Sort\n\tthe   LIST "), "sort the list");
  EXPECT_NE(normalised("x + y"), normalised("x - y"));
}

TEST(BoundedText, IsWellFormedAndShort) {
  EXPECT_EQ(bounded_text("abc", 3), "abc");
  EXPECT_EQ(bounded_text("abcd", 3), "abc");
  EXPECT_EQ(bounded_text("ab\u00e9", 3), "ab");
  EXPECT_EQ(bounded_text("ab\u00e9", 4), "ab\u00e9");
  EXPECT_EQ(bounded_text(std::string("a\0b", 3), 9), "a b");
  for (std::size_t cut = 0; cut < 40; ++cut) {
    const std::string text = bounded_text("\U0001F600x\xff\xfe\u00e9\xe2\x82 end \U0001F600", cut);
    EXPECT_LE(text.size(), cut);
    EXPECT_TRUE(json::is_utf8(text)) << cut;
  }
}

}  // namespace
}  // namespace runtime::lessons
