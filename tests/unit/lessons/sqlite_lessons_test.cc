#include "runtime/lessons/sqlite_lessons.h"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <optional>

namespace runtime::lessons {
namespace {

namespace asio = boost::asio;
using agent::Lesson;
using ::testing::SizeIs;

class SqliteLessonsTest : public ::testing::Test {
 protected:
  template <class Value>
  static asio::awaitable<void> store(asio::awaitable<Value> awaitable,
                                     std::optional<Value>& value) {
    value.emplace(co_await std::move(awaitable));
  }

  template <class Value>
  Value get(asio::awaitable<Value> awaitable) {
    std::optional<Value> value;
    asio::co_spawn(pool_, store(std::move(awaitable), value), asio::use_future).get();
    return std::move(*value);
  }

  // The executors outlive the lessons, as these ask of them.
  asio::thread_pool pool_{2};
  asio::io_context context_;
  SqliteLessons lessons_{*LessonTable::open(":memory:", {})};
};

Lesson about(const std::string& task) {
  Lesson lesson;
  lesson.task = task;
  lesson.advice = "mind the case";
  return lesson;
}

TEST_F(SqliteLessonsTest, FromLearningToErasing) {
  ASSERT_TRUE(get(lessons_.learn("me", about("Count the vowels"), {})).has_value());
  const auto found = get(lessons_.recall("me", "count vowels", 3, {}));
  ASSERT_TRUE(found.has_value());
  ASSERT_THAT(*found, SizeIs(1));
  EXPECT_GT((*found)[0].learnt, std::chrono::system_clock::now() - std::chrono::minutes(1));
  EXPECT_EQ(get(lessons_.list("me", 10, std::nullopt))->lessons.size(), 1u);
  EXPECT_FALSE(get(lessons_.list("me", 10, "no cursor")).has_value());
  EXPECT_EQ(*get(lessons_.erase("me", (*found)[0].id)), 1u);
  EXPECT_EQ(*get(lessons_.erase("me", std::nullopt)), 0u);
}

TEST_F(SqliteLessonsTest, ManyAtOnce) {
  std::vector<std::future<void>> all;
  std::vector<std::optional<jail::Result<void>>> outcomes(200);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto work = lessons_.learn("me", about("topic" + std::to_string(i)), {});
    all.push_back(asio::co_spawn(pool_, store(std::move(work), outcomes[i]), asio::use_future));
  }
  for (auto& each : all) each.get();
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome->has_value());
  EXPECT_EQ(get(lessons_.list("me", 1000, std::nullopt))->lessons.size(), 200u);
}

TEST_F(SqliteLessonsTest, TheAnswerComesOnTheExecutorOfWhoAsked) {
  bool same = false;
  const auto ask = [&]() -> asio::awaitable<void> {
    const auto found = co_await lessons_.recall("me", "count vowels", 3, Cancel());
    same = found.has_value() && context_.get_executor().running_in_this_thread();
  };
  auto done = asio::co_spawn(context_, ask(), asio::use_future);
  context_.run();
  done.get();
  EXPECT_TRUE(same);
}

}  // namespace
}  // namespace runtime::lessons
