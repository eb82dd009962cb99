#include "tests/unit/agent/loop_fixture.h"

namespace runtime::agent {
namespace {

using testing::HasSubstr;

// Records the calls of a LessonStore, and finds what the test put in.
class FakeLessons final : public LessonStore {
 public:
  boost::asio::awaitable<jail::Result<std::vector<Lesson>>> recall(std::string owner, std::string,
                                                                   std::uint32_t,
                                                                   Cancel cancel) override {
    owners.push_back(std::move(owner));
    on_recall();
    was_cancelled.push_back(cancel.requested());
    if (fails) co_return jail::Error{jail::ErrorKind::kernel, "read lessons", 5, {}};
    co_return found;
  }
  boost::asio::awaitable<jail::Result<void>> learn(std::string owner, Lesson lesson,
                                                   Cancel cancel) override {
    owners.push_back(std::move(owner));
    learnt.push_back(std::move(lesson));
    was_cancelled.push_back(cancel.requested());
    if (fails) co_return jail::Error{jail::ErrorKind::kernel, "write lessons", 5, {}};
    co_return jail::Result<void>();
  }
  boost::asio::awaitable<jail::Result<LessonPage>> list(std::string, std::uint32_t,
                                                        std::optional<std::string>) override {
    co_return LessonPage();
  }
  boost::asio::awaitable<jail::Result<std::uint64_t>> erase(std::string,
                                                            std::optional<std::string>) override {
    co_return std::uint64_t{0};
  }

  std::vector<Lesson> found;
  std::vector<Lesson> learnt;
  std::vector<std::string> owners;
  std::vector<bool> was_cancelled;  // for each call
  std::function<void()> on_recall = [] {};
  bool fails = false;
};

class LessonsTest : public LoopTest {
 protected:
  LessonsTest() {
    model_.play(Role::coder, coded("bad()"));
    model_.play(Role::coder, coded("print(42)"));
    model_.play(Role::critic, criticism("off by one"));
    fail_first(1, "Traceback\nValueError: boom\n");
    Lesson lesson;
    lesson.task = "Print 41.";
    lesson.advice = "remember the newline";
    lessons_.found = {lesson};
  }
  FakeLessons lessons_;
};

TEST_F(LessonsTest, AreRecalledAndLearnt) {
  EXPECT_TRUE(run(task("Print 42."), &lessons_).success());
  EXPECT_THAT(model_.asked.at(0).user(), HasSubstr("remember the newline"));
  ASSERT_EQ(lessons_.learnt.size(), 1u);
  EXPECT_EQ(lessons_.learnt[0].task, "Print 42.");
  EXPECT_EQ(lessons_.learnt[0].error,
            "the program ended with exit status 1 (failed): ValueError: boom");
  EXPECT_EQ(lessons_.learnt[0].advice, "fix: off by one");
  EXPECT_EQ(lessons_.learnt[0].code, "print(42)");
  EXPECT_THAT(lessons_.owners, testing::ElementsAre("somebody", "somebody"));
}

TEST_F(LessonsTest, NothingIsLearntWhereNothingWasSolved) {
  fail_first(99);
  TaskRequest request = task();
  request.max_attempts = 2;
  EXPECT_FALSE(run(std::move(request), &lessons_).success());
  EXPECT_TRUE(lessons_.learnt.empty());
}

TEST_F(LessonsTest, CanBeOff) {
  TaskRequest request = task();
  request.lessons = Lessons::off;
  EXPECT_TRUE(run(std::move(request), &lessons_).success());
  EXPECT_TRUE(lessons_.owners.empty());
}

TEST_F(LessonsTest, ACancelOfTheTaskReachesTheStore) {
  lessons_.on_recall = [this] { cancel_.request(); };
  EXPECT_EQ(run(task(), &lessons_).status, TaskStatus::cancelled);
  EXPECT_THAT(lessons_.was_cancelled, testing::ElementsAre(true));
  EXPECT_TRUE(model_.asked.empty());
}

TEST_F(LessonsTest, AStoreThatFailsStopsNothing) {
  lessons_.fails = true;
  EXPECT_TRUE(run(task(), &lessons_).success());
}

}  // namespace
}  // namespace runtime::agent
