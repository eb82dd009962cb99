#include "runtime/lessons/lesson_table.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "runtime/json/writer.h"

namespace runtime::lessons {
namespace {

namespace fs = std::filesystem;
using agent::Lesson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Lesson lesson(std::string task, std::string advice = "take care", int second = 1) {
  Lesson result;
  result.task = std::move(task);
  result.advice = std::move(advice);
  result.learnt = std::chrono::system_clock::time_point(std::chrono::seconds(second));
  return result;
}

class LessonTableTest : public ::testing::Test {
 protected:
  static LessonTable open(LessonBounds bounds = {}) {
    auto table = LessonTable::open(":memory:", bounds);
    EXPECT_TRUE(table.has_value()) << table.error().message();
    return std::move(*table);
  }

  void learn(Lesson what, const std::string& owner = "me") {
    const auto done = table_.learn(owner, std::move(what));
    ASSERT_TRUE(done.has_value()) << done.error().message();
  }

  std::vector<std::string> recall(const std::string& task, const std::string& owner = "me",
                                  std::uint32_t limit = 10) {
    const auto found = table_.recall(owner, task, limit);
    EXPECT_TRUE(found.has_value()) << found.error().message();
    std::vector<std::string> tasks;
    for (const Lesson& each : *found) tasks.push_back(each.task);
    return tasks;
  }

  std::vector<Lesson> all(const std::string& owner = "me") {
    const auto page = table_.list(owner, 1000, std::nullopt);
    EXPECT_TRUE(page.has_value()) << page.error().message();
    return page->lessons;
  }

  LessonTable table_ = open();
};

TEST_F(LessonTableTest, TheBestMatchComesFirst) {
  learn(lesson("Merge two sorted linked lists"));
  learn(lesson("Parse a CSV file with quoted fields"));
  learn(lesson("Sort a list of intervals and merge those that overlap"));
  const auto found = recall("Merge overlapping intervals");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), "Sort a list of intervals and merge those that overlap");
  EXPECT_THAT(recall("read csv with quotes"), ElementsAre("Parse a CSV file with quoted fields"));
  EXPECT_THAT(recall("Merge overlapping intervals", "me", 1), SizeIs(1));
}

TEST_F(LessonTableTest, OtherFormsOfAWordAreFound) {
  learn(lesson("Calculate fibonacci(10)"));
  EXPECT_THAT(recall("calculating the Fibonacci numbers"), SizeIs(1));
  EXPECT_THAT(recall("FIBONACCIS"), SizeIs(1));
  EXPECT_THAT(recall("fibon"), SizeIs(1));
  EXPECT_THAT(recall("primes"), IsEmpty());
}

TEST_F(LessonTableTest, ChanceIsNoMatch) {
  learn(lesson("Reverse a string in place"));
  EXPECT_THAT(recall("Parse dates from a log, count errors by hour, sort by string length and "
                     "draw a histogram"),
              IsEmpty());
  EXPECT_THAT(recall("Write a function that returns a value"), IsEmpty());
  EXPECT_THAT(recall(""), IsEmpty());
}

TEST_F(LessonTableTest, NoTextBreaksTheQuery) {
  learn(lesson("quote the quotes"));
  for (const std::string task :
       {"\"", "a\"b", "NOT", "AND OR NOT", "quotes AND", "NEAR(", "task : x", "{task} : quotes",
        "^quotes", "quotes*", "-quotes", "quotes' OR 1=1 --", "\xff\xfe quotes",
        "\xe2\x80\xa6\xe2\x80\xa6 \xe2\x80\xa6", "(((", "a + b", "\\", "quotes\\\""}) {
    const auto found = table_.recall("me", task, 5);
    EXPECT_TRUE(found.has_value()) << task << ": " << found.error().message();
  }
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string task;
    for (auto length = random() % 30; length > 0; --length) {
      task += static_cast<char>(random() % 256);
    }
    const auto found = table_.recall("me", task, 5);
    ASSERT_TRUE(found.has_value()) << json::quoted(task) << ": " << found.error().message();
    ASSERT_TRUE(table_.learn("me", lesson(task, task)).has_value()) << json::quoted(task);
  }
}

TEST_F(LessonTableTest, NobodySeesThoseOfAnother) {
  learn(lesson("Count the vowels"), "me");
  learn(lesson("Count the vowels"), "you");
  EXPECT_THAT(recall("count vowels", "me"), SizeIs(1));
  EXPECT_THAT(recall("count vowels", "nobody"), IsEmpty());
  EXPECT_THAT(all("you"), SizeIs(1));
  EXPECT_EQ(*table_.erase("you", all("me")[0].id), 0u);
  EXPECT_EQ(*table_.erase("you", std::nullopt), 1u);
  EXPECT_THAT(all("me"), SizeIs(1));
}

TEST_F(LessonTableTest, TheSameIsCountedAndKeptOnce) {
  Lesson first = lesson("Count the vowels", "mind the case", 1);
  first.code = "old";
  Lesson again = lesson("count  the VOWELS ", "Mind the case", 9);
  again.code = "new";
  learn(first);
  learn(again);
  learn(lesson("Count the vowels", "mind y, too"));
  const auto kept = all();
  ASSERT_THAT(kept, SizeIs(2));
  EXPECT_EQ(kept[0].seen, 2u);
  EXPECT_EQ(kept[0].task, "Count the vowels");
  EXPECT_EQ(kept[0].code, "new");
  EXPECT_EQ(kept[0].learnt.time_since_epoch(), std::chrono::seconds(9));
  EXPECT_EQ(kept[1].seen, 1u);
}

TEST_F(LessonTableTest, LeastSeenAndOldestGoFirst) {
  table_ = open({.kept = 100, .of_an_owner = 3});
  learn(lesson("one", "a", 1));
  learn(lesson("one", "a", 1));
  learn(lesson("two", "a", 2));
  learn(lesson("three", "a", 3));
  learn(lesson("four", "a", 4));
  std::vector<std::string> kept;
  for (const Lesson& each : all()) kept.push_back(each.task);
  EXPECT_THAT(kept, ElementsAre("four", "three", "one"));
  EXPECT_THAT(recall("two"), IsEmpty());
}

TEST_F(LessonTableTest, ANewOneIsKeptWhereAllOthersWereSeenOften) {
  table_ = open({.kept = 2, .of_an_owner = 2});
  for (int i = 0; i < 3; ++i) {
    learn(lesson("one", "a", 1));
    learn(lesson("two", "a", 2));
  }
  learn(lesson("three", "a", 0));
  EXPECT_THAT(all(), SizeIs(2));
  EXPECT_THAT(recall("three"), SizeIs(1));
}

TEST_F(LessonTableTest, OwnersShareTheStoresBound) {
  table_ = open({.kept = 10, .of_an_owner = 5});
  for (int owner = 0; owner < 4; ++owner) {
    for (int i = 0; i < 20; ++i) {
      learn(lesson("task" + std::to_string(i), "a", i), std::to_string(owner));
    }
  }
  std::size_t kept = 0;
  for (int owner = 0; owner < 4; ++owner) {
    EXPECT_LE(all(std::to_string(owner)).size(), 5u);
    kept += all(std::to_string(owner)).size();
  }
  EXPECT_EQ(kept, 10u);
}

TEST_F(LessonTableTest, TextsAreCut) {
  Lesson big = lesson(std::string(5000, 't'), std::string(5000, 'a'));
  big.error = std::string(5000, 'e');
  big.code = std::string(8191, 'c') + "\u00e9";
  learn(big);
  const Lesson kept = all().at(0);
  EXPECT_EQ(kept.task.size(), 2048u);
  EXPECT_EQ(kept.error.size(), 1024u);
  EXPECT_EQ(kept.advice.size(), 2048u);
  EXPECT_EQ(kept.code, std::string(8191, 'c'));
}

TEST_F(LessonTableTest, PagesAreInOrderAndComplete) {
  for (int i = 0; i < 7; ++i) learn(lesson("task" + std::to_string(i), "a", 1 + i / 2));
  std::vector<std::string> seen;
  std::optional<std::string> cursor;
  for (int page = 0; page < 4; ++page) {
    const auto found = table_.list("me", 2, cursor);
    ASSERT_TRUE(found.has_value());
    for (const Lesson& each : found->lessons) seen.push_back(each.task);
    cursor = found->next_cursor;
    EXPECT_EQ(cursor.has_value(), page < 3);
  }
  EXPECT_THAT(seen, SizeIs(7));
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 7u);
  EXPECT_EQ(seen.front(), "task6");
  for (const char* wrong : {"", ".", "x.y", "1.", "1", "-"}) {
    const auto page = table_.list("me", 2, wrong);
    ASSERT_FALSE(page.has_value()) << wrong;
    EXPECT_THAT(page.error().message(), HasSubstr("cursor"));
  }
}

TEST(LessonFile, NothingOfTheErasedIsLeft) {
  std::string directory = (fs::temp_directory_path() / "lessons.XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/lessons.sqlite";
  const auto occurs = [&](const std::string& word) {
    for (const auto& entry : fs::directory_iterator(directory)) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      if (bytes.find(word) != bytes.npos) return true;
    }
    return false;
  };
  {
    auto table = LessonTable::open(path, {});
    ASSERT_TRUE(table.has_value()) << table.error().message();
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(table->learn("me", lesson("harmless" + std::to_string(i))).has_value());
    }
    Lesson secret = lesson("xyzzytask of mine", "xyzzyadvice");
    secret.error = "xyzzyerror";
    secret.code = "xyzzycode = 1\n" + std::string(8000, '#');
    ASSERT_TRUE(table->learn("me", secret).has_value());
    ASSERT_TRUE(table->learn("me", secret).has_value());
    EXPECT_TRUE(occurs("xyzzy"));
    const auto found = table->recall("me", "xyzzytask of mine", 1);
    ASSERT_THAT(*found, SizeIs(1));
    EXPECT_EQ(*table->erase("me", (*found)[0].id), 1u);
    EXPECT_FALSE(occurs("xyzzy"));
    EXPECT_THAT(*table->recall("me", "harmless7", 1), SizeIs(1));
  }
  EXPECT_FALSE(occurs("xyzzy"));
  fs::remove_all(directory);
}

TEST(LessonFile, TwoProcessesShareIt) {
  std::string directory = (fs::temp_directory_path() / "lessons.XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  {
    auto one = LessonTable::open(directory + "/l.sqlite", {});
    auto other = LessonTable::open(directory + "/l.sqlite", {});
    ASSERT_TRUE(one.has_value());
    ASSERT_TRUE(other.has_value()) << other.error().message();
    ASSERT_TRUE(one->learn("me", lesson("Count the vowels")).has_value());
    EXPECT_THAT(*other->recall("me", "count vowels", 3), SizeIs(1));
    EXPECT_EQ(*other->erase("me", std::nullopt), 1u);
    EXPECT_THAT(*one->recall("me", "count vowels", 3), IsEmpty());
  }
  fs::remove_all(directory);
}

}  // namespace
}  // namespace runtime::lessons
